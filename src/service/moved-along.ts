/** The hosts whose traffic moves with a ban's where a wider prefix is announced for it. */
import type { Ban } from "../mitigation/ban.ts";
import type { MovedAlong } from "../mitigation/enclosing.ts";
import { enclosingIn } from "../mitigation/measure.ts";
import { addressFamily, addressToBytes, type IpAddress } from "../net/address.ts";
import { clearHostBits, mappedLength, type Prefix, prefixMatcher } from "../net/prefix.ts";
import type { Floodwall } from "./floodwall.ts";

type Running = Pick<Floodwall, "config"> & {
  readonly now: () => { readonly monotonicMs: number };
  readonly packetPath: Pick<NonNullable<Floodwall["packetPath"]>, "minute"> | null;
};

/** Number of the hosts that are named. */
const MOVED_NAMED_MAX = 8;
/** How long one reading of the headers is used, ms: the sample grows once a second. */
const READING_MS = 1000;

interface BusyHost {
  readonly target: IpAddress;
  readonly mbps: number;
}

/** The traffic of hosts in the last minute, by the sampled headers. */
interface Minute {
  readonly readMs: number;
  /** The busiest first. */
  readonly hosts: readonly BusyHost[];
  /** By family and length of a wider prefix, and by its bytes: the hosts in it, in the same order. */
  readonly within: Map<string, ReadonlyMap<string, readonly BusyHost[]>>;
}

export class MovingTraffic {
  readonly #running: Running;
  #minute: Minute | null = null;

  constructor(running: Running) {
    this.#running = running;
  }

  /** null: the ban's own prefix is announced, or nothing is. */
  of({ measure, prefix }: Pick<Ban, "measure" | "prefix">): MovedAlong | null {
    const wider = enclosingIn(measure, prefix);
    if (wider === null) return null;
    const { hostgroups, lookup } = this.#running.config;
    const names = lookup.groupsIn(wider).map((group) => hostgroups[group]?.name ?? "global");
    return { prefix: wider, hostgroups: names.sort(), hosts: this.#hostsIn(wider, prefix) };
  }

  #hostsIn(wider: Prefix, own: Prefix): MovedAlong["hosts"] {
    const minute = this.#read();
    if (minute === null) return null;
    const length = mappedLength(wider);
    const view = `${wider.family} ${length}`;
    const byPrefix = minute.within.get(view) ?? byPrefixOf(minute.hosts, wider.family, length);
    minute.within.set(view, byPrefix);
    const isOwn = prefixMatcher(own);
    const others = (byPrefix.get(keyOf(wider.address, length)) ?? []).filter(({ target }) => !isOwn(target));
    return { count: others.length, busiest: others.slice(0, MOVED_NAMED_MAX) };
  }

  /** One reading is for all bans that are shown within a second. null: no headers are kept. */
  #read(): Minute | null {
    const { config, packetPath, now } = this.#running;
    if (packetPath === null || !config.samples.enabled) return null;
    const nowMs = now().monotonicMs;
    if (this.#minute === null || nowMs - this.#minute.readMs >= READING_MS) {
      this.#minute = { readMs: nowMs, hosts: busiestOf(packetPath.minute()), within: new Map() };
    }
    return this.#minute;
  }
}

function busiestOf({ headers, seconds }: ReturnType<NonNullable<Running["packetPath"]>["minute"]>): BusyHost[] {
  const bytes = new Map<IpAddress, number>();
  for (const { header, wireBytes, packets } of headers) {
    bytes.set(header.destination, (bytes.get(header.destination) ?? 0) + wireBytes * packets);
  }
  return [...bytes]
    .map(([target, sum]) => ({ target, mbps: seconds === 0 ? 0 : (sum * 8) / seconds / 1e6 }))
    .sort((a, b) => b.mbps - a.mbps);
}

function byPrefixOf(hosts: readonly BusyHost[], family: 4 | 6, length: number): Map<string, BusyHost[]> {
  return Map.groupBy(
    hosts.filter(({ target }) => addressFamily(target) === family),
    ({ target }) => keyOf(target, length),
  );
}

/** The bytes of the prefix around the address. @param length in the 128-bit form. */
function keyOf(address: IpAddress, length: number): string {
  const bytes = addressToBytes(address);
  clearHostBits(bytes, length);
  return String.fromCharCode(...bytes);
}
