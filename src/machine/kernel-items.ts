/** Whether the kernel, and this process in it, can do what a configuration asks of them. */
import { LEAST_KERNEL, LOCKED_BYTES_PER_QUEUE } from "../native/constants.ts";
import { error, type Item, ok, warning } from "./item.ts";
import type { KernelFindings, MachineFindings } from "./machine.ts";
import { type InterfaceUse, type MachineNeeds, usesXdp } from "./needs.ts";

const BPF_MOUNT = "/sys/fs/bpf";
const MIB = 1024 * 1024;

/** A capability, and the uses that need it. CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON. */
const CAPABILITIES: readonly { readonly name: string; readonly uses: readonly InterfaceUse[] }[] = [
  { name: "CAP_NET_ADMIN", uses: ["mirror", "inline", "filter"] },
  { name: "CAP_BPF", uses: ["mirror", "inline", "filter"] },
  { name: "CAP_PERFMON", uses: ["inline", "filter"] },
  { name: "CAP_NET_RAW", uses: ["mirror", "pcap"] },
];

export function kernelItems(needs: MachineNeeds, found: MachineFindings): Item[] {
  const { kernel } = found;
  if (kernel === null) return [];
  const items = needs.interfaces.some(usesXdp) ? [...xdpItems(kernel, found)] : [];
  return [
    ...items,
    ...capabilityItems(needs, kernel, found.seenBy),
    ...lockedMemoryItems(needs, kernel, found),
    ...pinPathItems(needs, kernel, found.seenBy),
  ];
}

function* xdpItems(kernel: KernelFindings, { programs }: MachineFindings): Generator<Item> {
  const { release, possibleCpus, hasBtf, lockdown } = kernel;
  const about = "kernel";
  if (isTooOld(release)) {
    const { major, minor } = LEAST_KERNEL;
    const found = `Linux ${release} is too old for the XDP programs, which need ${major}.${minor}`;
    yield error(about, found, "boot a newer kernel, or capture mirror ports with backend pcap");
  } else {
    const cpus = `${possibleCpus} possible ${possibleCpus === 1 ? "CPU" : "CPUs"}`;
    const details = [`Linux ${release}`, cpus, `BTF ${hasBtf ? "there" : "absent"}`];
    if (lockdown !== null && lockdown !== "none") details.push(`lockdown ${lockdown}`);
    yield ok(about, details.join(", "));
  }
  const isJitted = kernel.isJitOn ?? programs.some(({ probe }) => probe.jitedBytes > 0);
  const isKnown = kernel.isJitOn !== null || programs.some(({ probe }) => probe.error === null);
  if (!isKnown) return;
  if (isJitted) yield ok("BPF JIT", "on");
  else yield warning("BPF JIT", "off: programs run several times slower", "`sysctl -w net.core.bpf_jit_enable=1`");
}

function* capabilityItems(
  { interfaces }: MachineNeeds,
  { capabilities }: KernelFindings,
  seenBy: MachineFindings["seenBy"],
): Generator<Item> {
  const uses = new Set(interfaces.flatMap((need) => need.uses));
  const needed = CAPABILITIES.filter((one) => one.uses.some((use) => uses.has(use))).map(({ name }) => name);
  const isPresent = (name: string) =>
    capabilities.includes(name) ||
    (["CAP_BPF", "CAP_PERFMON"].includes(name) && capabilities.includes("CAP_SYS_ADMIN"));
  const missing = needed.filter((name) => !isPresent(name));
  if (needed.length === 0) return;
  const about = "capabilities";
  if (missing.length === 0) yield ok(about, needed.join(", "));
  else if (seenBy === "check") {
    const found = `this command has no ${missing.join(", ")}, so that not all was tried`;
    yield warning(about, found, `run it as root; the service needs ${needed.join(", ")}`);
  } else {
    // Those that the configuration of the start did not need were given up then.
    const first = seenBy === "running" ? "restart the service; if that is not enough, " : "";
    yield error(
      about,
      `${missing.join(", ")} missing`,
      `${first}run as root, or give the service ${needed.join(", ")}`,
    );
  }
}

/** AF_XDP keeps packets in locked memory. */
function lockedMemoryItems(
  { interfaces }: MachineNeeds,
  { lockedBytesMost, capabilities }: KernelFindings,
  { interfaces: found, seenBy }: MachineFindings,
): Item[] {
  const mirrors = interfaces.filter(({ uses }) => uses.includes("mirror"));
  if (mirrors.length === 0) return [];
  const about = "locked memory";
  if (lockedBytesMost === null || capabilities.includes("CAP_IPC_LOCK")) return [ok(about, "not limited")];
  const queues = mirrors.map(({ name, queues }) => queues?.length ?? found.get(name)?.rxQueues ?? 1);
  const needed = LOCKED_BYTES_PER_QUEUE * queues.reduce((sum, count) => sum + count, 0);
  const text = `${mib(lockedBytesMost)} at most, and packet buffers take ${mib(needed)}`;
  if (lockedBytesMost >= needed) return [ok(about, text)];
  const say = seenBy === "check" ? warning : error;
  return [say(about, text, "`LimitMEMLOCK=infinity` in the unit, or `ulimit -l unlimited`")];
}

function pinPathItems({ pinPath }: MachineNeeds, kernel: KernelFindings, seenBy: MachineFindings["seenBy"]): Item[] {
  if (pinPath === null || kernel.pinPath === null) return [];
  const about = "dataplane.pin_path";
  if (kernel.pinPath.isOnBpfFileSystem) return [ok(about, `${pinPath} lies on a BPF file system`)];
  const remedy = `\`mount -t bpf bpf ${BPF_MOUNT}\``;
  if (!pinPath.startsWith(`${BPF_MOUNT}/`)) {
    const found = `${pinPath} is not on a BPF file system: ${kernel.pinPath.existing} is of another kind`;
    return [error(about, found, `${remedy}, and name a folder there`)];
  }
  // A process with the right to mount does it itself.
  const mayMount = seenBy === "check" || kernel.capabilities.includes("CAP_SYS_ADMIN");
  return [(mayMount ? warning : error)(about, `no BPF file system is mounted at ${BPF_MOUNT}`, remedy)];
}

/** An unreadable release is not regarded as too old. */
function isTooOld(release: string): boolean {
  const [version] = /^\d+\.\d+/.exec(release) ?? [];
  const { major, minor } = LEAST_KERNEL;
  return version !== undefined && !Bun.semver.satisfies(`${version}.0`, `>=${major}.${minor}`);
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
