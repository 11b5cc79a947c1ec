/**
 * Runs a command on another kernel: QEMU boots it over this machine's own files, which the guest sees and cannot change,
 * and prints what the command prints. Emulated, so about ten times slower, and with two CPUs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../source-tree.ts";
import { GUEST_ENDED, GUEST_STARTED, type KernelImage } from "./kernel-image.ts";

export interface GuestOptions {
  readonly kernel: KernelImage;
  /** For a shell, in the folder of the tree, as root. */
  readonly command: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Ended then, as failed. */
  readonly timeoutSeconds: number;
  readonly memoryMb?: number;
  /** More arguments of QEMU: network devices. */
  readonly devices?: readonly string[];
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
    writeFileSync(join(exchange, "machine"), `MODULES='${options.kernel.modules}'\n`);
    writeFileSync(join(exchange, "start"), START);
    writeFileSync(join(exchange, "command"), commandFile(options));
    const child = Bun.spawn([...qemu(options, exchange)], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutSeconds * 1000);
    const output = await lines(child.stdout, options.onLine ?? (() => {}));
    await child.exited;
    clearTimeout(timer);
    return { exitCode: readExit(join(exchange, "exit")), output, seconds: (performance.now() - startedMs) / 1000 };
  } finally {
    rmSync(exchange, { recursive: true, force: true });
  }
}

function qemu({ kernel, memoryMb = 6144, devices = [] }: GuestOptions, exchange: string): readonly string[] {
  const share = (tag: string, path: string, isReadonly: boolean) => [
    "-virtfs",
    `local,path=${path},mount_tag=${tag},security_model=none,multidevs=remap${isReadonly ? ",readonly=on" : ""}`,
  ];
  return [
    "qemu-system-x86_64",
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
    ...share("host", "/", true),
    ...share("exchange", exchange, false),
    ...devices,
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

function commandFile({ environment = {}, command }: GuestOptions): string {
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  return `cd '${ROOT}'\n${exports.join("")}${command}\n`;
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
