/**
 * Runs a command on another kernel: QEMU boots it over this machine's own files or those of another system, which the
 * guest sees and cannot change, and prints what the command prints. Emulated, so about ten times slower; two CPUs.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  /** Files that the command finds in `/exchange`, by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Ended then, as failed. */
  readonly timeoutSeconds: number;
  readonly memoryMb?: number;
  /** Gives it three virtio-net devices on this wire; absent: it has none. */
  readonly wire?: GuestWire;
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
  const exchange = mkdtempSync(join(tmpdir(), "floodwall-guest-"));
  const startedMs = performance.now();
  try {
    const files = { ...options.files, init: initOf(options), start: START, command: commandFile(options) };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(exchange, name), content);
    if (options.system !== undefined) putUnit(options.system);
    const command = qemu(options, exchange);
    const { wire } = options;
    const placed = wire === undefined ? command : wire.namespace.command(command);
    const child = Bun.spawn([...placed], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutSeconds * 1000);
    const output = await lines(child.stdout, options.onLine ?? (() => {}));
    await child.exited;
    clearTimeout(timer);
    return { exitCode: readExit(join(exchange, "exit")), output, seconds: (performance.now() - startedMs) / 1000 };
  } finally {
    rmSync(exchange, { recursive: true, force: true });
  }
}

function qemu({ kernel, memoryMb = 6144, system = "/", wire }: GuestOptions, exchange: string): readonly string[] {
  const share = (tag: string, path: string, isReadonly: boolean) => [
    "-virtfs",
    `local,path=${path},mount_tag=${tag},security_model=none,multidevs=remap${isReadonly ? ",readonly=on" : ""}`,
  ];
  return [
    // It ends with this process, however that ends.
    ...["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"],
    // Hardware virtualization may be there and hang: emulation works everywhere.
    ...["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", `${memoryMb}M`],
    ...[
      "-nodefaults",
      "-nographic",
      "-no-reboot",
      "-serial",
      "stdio",
      "-object",
      "rng-random,id=rng,filename=/dev/urandom",
    ],
    ...["-device", "virtio-rng-pci,rng=rng", "-kernel", kernel.vmlinuz, "-initrd", kernel.initramfs],
    ...["-append", "console=ttyS0 quiet loglevel=3 panic=-1"],
    ...share("system", system, true),
    ...share("modules", kernel.modules, true),
    ...share("exchange", exchange, false),
    ...(wire?.devices ?? []),
  ];
}

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

/** What becomes process 1. */
function initOf({ system }: GuestOptions): string {
  return system === undefined ? "/bin/sh /exchange/start" : "/lib/systemd/systemd --unit=multi-user.target";
}

function commandFile({ system, environment = {}, command }: GuestOptions): string {
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  return `cd '${system === undefined ? ROOT : "/"}'\n${exports.join("")}${command}\n`;
}

async function lines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<string> {
  const decoder = new TextDecoder();
  let output = "";
  let rest = "";
  let isCommand = false;
  for await (const chunk of stream) {
    // A serial console ends its lines with both.
    rest += decoder.decode(chunk, { stream: true }).replaceAll("\r", "");
    const complete = rest.split("\n");
    rest = complete.pop() ?? "";
    for (const line of complete) {
      if (line.endsWith(GUEST_STARTED) || line === GUEST_ENDED) {
        isCommand = line !== GUEST_ENDED;
        continue;
      }
      if (!isCommand && !line.startsWith("initramfs: ")) continue;
      output += `${line}\n`;
      onLine(line);
    }
  }
  return output;
}

function readExit(path: string): number | null {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}
