/** Checks whether an interface can be used as configured. */
import { error, type Item, ok, warning } from "./item.ts";
import type { InterfaceFindings, MachineFindings } from "./machine.ts";
import { type InterfaceNeed, usesXdp } from "./needs.ts";

/** Names of this project's programs in the kernel. */
const OUR_PROGRAMS = ["xdp_mirror", "xdp_filter", "xdp_inline"];

/** No items for an interface that was not read. */
export function interfaceItems(need: InterfaceNeed, { interfaces, pinned, seenBy }: MachineFindings): Item[] {
  const found = interfaces.get(need.name);
  if (found === undefined) return [];
  const about = `interface ${need.name}`;
  if (found === null) {
    return [error(about, "does not exist", `create it, or correct its name in ${need.keys.join(" and ")}`)];
  }
  return [
    ok(about, description(found, need)),
    ...linkItems(about, found),
    ...holderItems({ about, need, found, pinned: pinned.get(need.name) ?? 0, seenBy }),
    ...queueItems(about, need, found),
    ...modeItems(about, need, found),
    ...zeroCopyItems(about, need, found),
    ...mergingItems(about, need, found),
    ...vlanItems(about, need, found),
  ];
}

function description(found: InterfaceFindings, need: InterfaceNeed): string {
  const { driver, driverVersion, bus, mtu, nativeMtuMost, rxQueues, rxQueuesMost, rxRing, xdpFeatures } = found;
  const name = [driver ?? "driver unknown", driverVersion, bus === null ? null : `(${bus})`];
  const most = nativeMtuMost === null ? "" : ` (native XDP in one buffer up to ${nativeMtuMost})`;
  const features = xdpFeatures === null ? "not reported by this kernel" : xdpFeatures.join(" ") || "none";
  return [
    name.filter((part) => part !== null).join(" "),
    `MTU ${mtu}${usesXdp(need) ? most : ""}`,
    `RX queues ${rxQueues}${rxQueuesMost === null ? "" : ` of ${rxQueuesMost}`}`,
    ...(rxRing === null ? [] : [`RX ring ${rxRing.now} of ${rxRing.most}`]),
    ...(usesXdp(need) ? [`XDP of the driver: ${features}`] : []),
    ...(driver === "veth" && !usesXdp(need)
      ? ["a veth: what XDP programs redirect to its far end arrives only with GRO, or with a program at this end"]
      : []),
  ].join(", ");
}

function* linkItems(about: string, { name, isUp, hasCarrier }: InterfaceFindings): Generator<Item> {
  if (!isUp) yield error(about, "is down", `\`ip link set ${name} up\``);
  else if (!hasCarrier) yield warning(about, "has no carrier", "check the cable and the far end");
}

interface Holding {
  readonly about: string;
  readonly need: InterfaceNeed;
  readonly found: InterfaceFindings;
  /** Id of the data plane's program on the interface; 0: none. */
  readonly pinned: number;
  readonly seenBy: MachineFindings["seenBy"];
}

/** An attached program is never replaced, unless it is the data plane's own. */
function* holderItems({ about, need, found, pinned, seenBy }: Holding): Generator<Item> {
  const { attached, name: device } = found;
  // A running service uses the interfaces itself, and logs failures.
  if (attached === null || seenBy === "running") return;
  const { id, name, isGeneric } = attached;
  const what = `XDP program ${id} (${name ?? "name unreadable"})`;
  if (id === pinned || (name !== null && OUR_PROGRAMS.includes(name))) {
    yield ok(about, `${what} of Floodwall is attached`);
    return;
  }
  const remedy = `stop its owner, or \`ip link set ${device} ${isGeneric ? "xdpgeneric" : "xdp"} off\``;
  if (usesXdp(need)) yield error(about, `${what} is attached and is not replaced`, remedy);
  else yield warning(about, `${what} is attached: frames that it takes are not captured`, remedy);
}

function* queueItems(about: string, { queues }: InterfaceNeed, found: InterfaceFindings): Generator<Item> {
  const { name, rxQueues, rxQueuesMost } = found;
  const last = Math.max(-1, ...(queues ?? []));
  if (last < rxQueues) return;
  const text = `has no RX queue ${last}, it has ${rxQueues}`;
  const mayRaise = rxQueuesMost !== null && last < rxQueuesMost;
  yield error(about, text, mayRaise ? `\`ethtool -L ${name} combined ${last + 1}\`` : "correct its queues");
}

function* modeItems(about: string, need: InterfaceNeed, { nativeObstacles }: InterfaceFindings): Generator<Item> {
  if (need.xdpMode === null || need.xdpMode === "generic") return;
  for (const { found, remedy } of nativeObstacles) {
    if (need.xdpMode === "native") yield error(about, found, remedy ?? "set xdp_mode to auto or generic");
    else yield warning(about, `${found}, so that XDP is generic, several times slower`, remedy);
  }
}

function* zeroCopyItems(about: string, need: InterfaceNeed, found: InterfaceFindings): Generator<Item> {
  if (!need.uses.includes("mirror") || need.zeroCopy !== "on") return;
  const remedy = "set zero_copy to auto";
  if (need.xdpMode === "generic") yield error(about, "zero copy needs native XDP", remedy);
  else if (found.xdpFeatures === null)
    yield warning(about, "this kernel does not report whether zero copy works", remedy);
  else if (!found.xdpFeatures.includes("zero_copy")) yield error(about, "the driver has no zero copy", remedy);
}

/** For modes that count packets after the network stack has merged them. */
function* mergingItems(about: string, need: InterfaceNeed, found: InterfaceFindings): Generator<Item> {
  if (usesXdp(need) && need.xdpMode !== "generic") return;
  const merging = [
    ...(found.gro === true ? ["gro"] : []),
    ...(found.lro === true ? ["lro"] : []),
    ...(found.groHw === true ? ["rx-gro-hw"] : []),
  ];
  if (merging.length === 0) return;
  const off = merging.map((name) => `${name} off`).join(" ");
  yield warning(
    about,
    "segments of one flow are merged before they are counted",
    `\`ethtool -K ${found.name} ${off}\``,
  );
}

/** Answers of the filter, and packets of the fast path, go out without the tag that it never saw. */
function* vlanItems(about: string, { uses }: InterfaceNeed, { name, rxVlan, vlanDevices }: InterfaceFindings) {
  if (!uses.includes("filter") || rxVlan !== true || vlanDevices === 0) return;
  const text = "VLAN tags are taken off before XDP sees them: answers to unknown sources leave without";
  yield warning(about, text, `\`ethtool -K ${name} rxvlan off\``);
}
