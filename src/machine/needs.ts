/** The needs of a configuration on the machine: interfaces and their uses, kernel programs, other programs. */
import type { Encapsulation } from "../traffic/encapsulation.ts";
import type { InterfaceFindings, ProgramVariant } from "./machine.ts";

/** `mirror` and `inline` use XDP, `pcap` does not; `filter`: packets are dropped there. */
export type InterfaceUse = "mirror" | "inline" | "pcap" | "filter";

export interface InterfaceNeed {
  readonly name: string;
  readonly uses: readonly InterfaceUse[];
  /** Mode of the interface's one XDP program; null: it gets none. */
  readonly xdpMode: "auto" | "native" | "generic" | null;
  /** Queues captured as a mirror port; null: all of them. */
  readonly queues: readonly number[] | null;
  readonly zeroCopy: "auto" | "on" | "off";
  /** Encapsulations that the inline counter takes apart; absent: none. */
  readonly decapsulate?: readonly Encapsulation[];
  /** The configuration keys that name it, for the remedy if it does not exist. */
  readonly keys: readonly string[];
}

/** An interface of `capture`, as far as the machine must fulfil it. */
export interface CapturedInterface {
  readonly name: string;
  readonly mode: "mirror" | "inline";
  readonly backend: "af_xdp" | "pcap";
  readonly xdpMode: "auto" | "native" | "generic";
  /** null: all of them. */
  readonly queues: readonly number[] | null;
  readonly zeroCopy: "auto" | "on" | "off";
  /** Encapsulations that packets are taken out of. */
  readonly decapsulate: readonly Encapsulation[];
}

/** The part of the section `dataplane` that concerns the machine. */
interface FilteredInterfaces {
  readonly enabled: boolean;
  readonly interfaces: readonly string[];
  readonly xdpMode: "auto" | "native" | "generic";
  readonly pinPath: string;
}

/** The configuration as far as the machine must fulfil it; null: a section is not there. */
interface MachineSections {
  readonly capture: {
    readonly interfaces: readonly CapturedInterface[];
    readonly countOutgoing: boolean;
    readonly maxHosts: number;
  } | null;
  readonly telemetry: object | null;
  readonly dataplane: FilteredInterfaces | null;
  readonly bgp: { readonly speaker: "managed" | "external" } | null;
}

export interface MachineNeeds {
  readonly interfaces: readonly InterfaceNeed[];
  /** Whether the inline counter counts outgoing packets. */
  readonly countsOutgoing: boolean;
  readonly maxHosts: number;
  /** null: nothing is pinned. */
  readonly pinPath: string | null;
  /** Whether the service starts gobgpd. */
  readonly gobgpd: boolean;
  /** Whether flow records are received, whose buffer only CAP_NET_ADMIN makes larger than net.core.rmem_max. */
  readonly receivesFlows: boolean;
}

/** Frames above this MTU come in several buffers; the addon uses the same number. */
const SINGLE_BUFFER_MTU = 1500;

export function needsOf({ capture, telemetry, dataplane, bgp }: MachineSections): MachineNeeds {
  return {
    interfaces: interfaceNeeds(capture?.interfaces ?? [], dataplane),
    countsOutgoing: capture?.countOutgoing ?? false,
    maxHosts: capture?.maxHosts ?? 1,
    pinPath: dataplane?.enabled === true ? dataplane.pinPath : null,
    gobgpd: bgp?.speaker === "managed",
    receivesFlows: telemetry !== null,
  };
}

export function needsOfNode({ dataplane }: { readonly dataplane: FilteredInterfaces }): MachineNeeds {
  const interfaces = interfaceNeeds([], dataplane);
  const { pinPath } = dataplane;
  return { interfaces, countsOutgoing: false, maxHosts: 1, pinPath, gobgpd: false, receivesFlows: false };
}

/** Whether the addon must read any part of it. */
export function needsKernel({ interfaces, pinPath }: MachineNeeds): boolean {
  return interfaces.length > 0 || pinPath !== null;
}

export function usesXdp({ uses }: InterfaceNeed): boolean {
  return uses.some((use) => use !== "pcap");
}

/**
 * The programs that interfaces would get, without duplicates, including that of dry run, which counts without
 * filtering.
 */
export function programsFor(
  needs: MachineNeeds,
  found: ReadonlyMap<string, InterfaceFindings | null>,
): ProgramVariant[] {
  const variants = needs.interfaces.flatMap((need) => {
    const hasFragments = (found.get(need.name)?.mtu ?? 0) > SINGLE_BUFFER_MTU;
    return [...variantsOn(need, needs, hasFragments)];
  });
  return [...new Map(variants.map((variant) => [JSON.stringify(variant), variant])).values()];
}

function* variantsOn(
  { uses, decapsulate }: InterfaceNeed,
  { countsOutgoing, maxHosts }: MachineNeeds,
  hasFragments: boolean,
): Generator<ProgramVariant> {
  const filters = uses.includes("filter");
  if (uses.includes("mirror")) yield { program: "mirror" };
  if (filters) yield { program: "filter", hasFragments };
  if (!uses.includes("inline")) return;
  const opened = decapsulate === undefined ? {} : { decapsulate };
  const inline = { program: "inline", hasFragments, countsOutgoing, maxHosts, ...opened } as const;
  yield { ...inline, filters: false };
  if (filters) yield { ...inline, filters: true };
}

function interfaceNeeds(captured: readonly CapturedInterface[], dataplane: FilteredInterfaces | null): InterfaceNeed[] {
  const filtered = dataplane?.enabled === true ? dataplane.interfaces : [];
  const names = new Set([...captured.map(({ name }) => name), ...filtered]);
  return [...names].map((name) => {
    const capture = captured.find((one) => one.name === name) ?? null;
    const isFiltered = filtered.includes(name);
    const modes = [
      ...(capture === null || capture.backend === "pcap" ? [] : [capture.xdpMode]),
      ...(isFiltered && dataplane !== null ? [dataplane.xdpMode] : []),
    ];
    return {
      name,
      uses: [...(capture === null ? [] : [useOf(capture)]), ...(isFiltered ? (["filter"] as const) : [])],
      // Both uses share one program, and their modes are equal unless one is auto.
      xdpMode: modes.find((mode) => mode !== "auto") ?? modes[0] ?? null,
      queues: capture?.queues ?? null,
      zeroCopy: capture?.zeroCopy ?? "off",
      ...(capture !== null && capture.decapsulate.length > 0 && { decapsulate: capture.decapsulate }),
      keys: [...(capture === null ? [] : ["capture.interfaces"]), ...(isFiltered ? ["dataplane.interfaces"] : [])],
    };
  });
}

function useOf({ backend, mode }: CapturedInterface): InterfaceUse {
  return backend === "pcap" ? "pcap" : mode;
}
