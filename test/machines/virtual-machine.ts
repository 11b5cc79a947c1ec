/**
 * Runs a command on another kernel: QEMU boots it over this machine's own files or those of another system, which the
 * guest sees and cannot change, and prints what the command prints. Emulated, so about ten times slower; two CPUs.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linesOf } from "../fixtures/lines.ts";
import { ROOT } from "../source-tree.ts";
import type { GuestWire } from "./guest-wire.ts";
import { GUEST_ENDED, GUEST_STARTED, type KernelImage } from "./kernel-image.ts";

export interface GuestOptions {
  readonly kernel: KernelImage;
  /** For a shell, in the folder of the tree, as root. */
  readonly command: string;
  /**
   * The root folder of a system that has systemd: it boots there, and runs the command once its default target is
   * reached. Absent: this machine's files, and the command alone.
   */
  readonly system?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Ended then, as failed. */
  readonly timeoutSeconds: number;
  /** Gives it three virtio-net devices on this wire; absent: it has none. */
  readonly wire?: GuestWire | undefined;
  /** More devices, as arguments of QEMU. */
  readonly devices?: readonly string[];
  /** Cuts its power. */
  readonly signal?: AbortSignal;
  /** Each line as it comes; absent: nothing is shown. */
  readonly onLine?: (line: string) => void;
}

export interface GuestResult {
  /** That of the command; null when the machine ended before it. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly seconds: number;
}

export async function runInGuest(options: GuestOptions): Promise<GuestResult> {
  const { system, wire, onLine = () => {}, timeoutSeconds, signal } = options;
  const exchange = mkdtempSync(join(tmpdir(), "floodwall-guest-"));
  const startedMs = performance.now();
  try {
    const files = { init: system === undefined ? INIT : SYSTEMD, start: START, command: commandFile(options) };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(exchange, name), content);
    if (system !== undefined) putUnit(system);
    const command = qemu(options, exchange);
    const placed = wire === undefined ? [...command] : wire.namespace.command(command);
    const end = { timeout: timeoutSeconds * 1000, killSignal: "SIGKILL", ...(signal && { signal }) } as const;
    const child = Bun.spawn(placed, { stdin: "ignore", stdout: "pipe", stderr: "inherit", ...end });
    const output = await linesOfCommand(child.stdout, onLine);
    await child.exited;
    const exit = join(exchange, "exit");
    const exitCode = existsSync(exit) ? Number(readFileSync(exit, "utf8")) : null;
    return { exitCode, output, seconds: (performance.now() - startedMs) / 1000 };
  } finally {
    rmSync(exchange, { recursive: true, force: true });
  }
}

function qemu({ kernel, system = "/", wire, devices = [] }: GuestOptions, exchange: string): readonly string[] {
  const share = (tag: string, path: string, mode = "") => [
    "-virtfs",
    `local,path=${path},mount_tag=${tag},security_model=none,multidevs=remap${mode}`,
  ];
  return [
    // It ends with this process, however that ends.
    ...["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"],
    // Hardware virtualization may be there and hang: emulation works everywhere.
    ...["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "6144M"],
    ...["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"],
    ...["-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng"],
    ...["-kernel", kernel.vmlinuz, "-initrd", kernel.initramfs],
    ...["-append", "console=ttyS0 quiet loglevel=3 panic=-1"],
    ...share("system", system, ",readonly=on"),
    ...share("modules", kernel.modules, ",readonly=on"),
    ...share("exchange", exchange),
    ...(wire?.devices ?? []),
    ...devices,
  ];
}

/** What becomes process 1. */
const INIT = "/bin/sh /exchange/start";
const SYSTEMD = "/lib/systemd/systemd --unit=multi-user.target";

/** The first process. Modules that the kernel asks for by itself are looked up in its root folder. */
const START = `
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /run
mount -t bpf bpf /sys/fs/bpf; mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs tracefs /sys/kernel/tracing; mount -t securityfs securityfs /sys/kernel/security
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
ip link set lo up
echo "${GUEST_STARTED}"
sh /exchange/command < /dev/null
echo $? > /exchange/exit
echo "${GUEST_ENDED}"
busybox poweroff -f
`;

/** Reached at the end of a boot, with the console for its output. */
const UNIT = `[Unit]
Description=What this machine was booted for
After=basic.target network.target
[Service]
ExecStart=/bin/sh -c 'echo "${GUEST_STARTED}"; sh /exchange/command; echo $? > /exchange/exit; echo "${GUEST_ENDED}"; systemctl poweroff -ff'
StandardOutput=tty
StandardError=inherit
TTYPath=/dev/ttyS0
`;

function putUnit(system: string): void {
  const units = join(system, "etc/systemd/system");
  mkdirSync(join(units, "multi-user.target.wants"), { recursive: true });
  writeFileSync(join(units, "guest-command.service"), UNIT);
  const link = join(units, "multi-user.target.wants/guest-command.service");
  rmSync(link, { force: true });
  symlinkSync("../guest-command.service", link);
}

function commandFile({ system, environment = {}, command }: GuestOptions): string {
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  return `cd '${system === undefined ? ROOT : "/"}'\n${exports.join("")}${command}\n`;
}

/** Resolves with what the command prints; firmware and kernel print around it. */
async function linesOfCommand(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<string> {
  let output = "";
  let isCommand = false;
  for await (const printed of linesOf(stream)) {
    // A serial console ends its lines with both.
    const line = printed.replaceAll("\r", "");
    const isMark = line.endsWith(GUEST_STARTED) || line === GUEST_ENDED;
    if (isMark) isCommand = line !== GUEST_ENDED;
    if (isMark || (!isCommand && !line.startsWith("initramfs: "))) continue;
    output += `${line}\n`;
    onLine(line);
  }
  return output;
}
