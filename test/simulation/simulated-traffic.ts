/** What really goes to and from the hosts of the simulation: background traffic, floods, and how long either has lasted. */

import { addressToBytes, type IpAddress } from "../../src/net/address.ts";
import { type Direction, METRICS, type RatesWire } from "../../src/traffic/rates.ts";
import { address, thresholds } from "../fixtures/host-rows.ts";
import type { Chance } from "../fixtures/seeded-random.ts";

/** Background stays under the floor of all baselines, so that below it nothing may be an attack. */
export const FLOOR = { pps: 100, mbps: 10, flows_per_sec: 100 } as const;
export const BACKGROUND_PPS_MAX = 60;
/** Each host's own; a group may have lower ones. */
export const THRESHOLDS = { pps: 1000, mbps: 100, flows_per_sec: 1000 } as const;

const ADDRESSES = [
  ...range("192.0.2.", 1, 8),
  "192.0.2.53",
  // Of one /28, for floods that are spread.
  ...range("192.0.2.", 128, 16),
  ...range("198.51.100.", 1, 4),
  ...range("198.51.100.", 129, 4),
  ...range("203.0.113.", 1, 4),
  ...range("2001:db8:1::", 1, 4),
].map(address);

export const WHITELISTED = address("192.0.2.53");
export const SPREAD = ADDRESSES.filter((ip) => /^192\.0\.2\.1[2-4]\d$/.test(ip));

export const VECTORS = ["syn", "udp", "dns"] as const;
export type Vector = (typeof VECTORS)[number];

export interface Host {
  readonly ip: IpAddress;
  readonly bytes: Uint8Array;
  /** 13 incoming, then 13 outgoing. */
  readonly rates: Float64Array;
  backgroundPps: number;
}

export interface Flood {
  readonly hosts: readonly Host[];
  readonly direction: Direction;
  readonly vector: Vector;
  /** Each sampled packet has a source of its own, drawn at random; absent: a few sources send all. */
  readonly isSpoofed?: boolean;
  readonly ppsEach: number;
  readonly endsAtMs: number;
}

/** How long a host has been over its thresholds, or under the floor, without a break; null: it is not. */
interface Standing {
  floodedSinceMs: number | null;
  calmSinceMs: number | null;
}

const BYTES: Readonly<Record<Vector, number>> = { syn: 60, udp: 200, dns: 1200 };

export class SimulatedTraffic {
  readonly hosts: readonly Host[];
  floods: Flood[] = [];
  /** Moves on with each change. */
  version = 0;
  readonly #chance: Chance;
  readonly #standings = new Map<string, Standing>();

  constructor(chance: Chance) {
    this.#chance = chance;
    this.hosts = ADDRESSES.map((ip) => ({
      ip,
      bytes: addressToBytes(ip),
      rates: new Float64Array(2 * METRICS.length),
      backgroundPps: chance.below(BACKGROUND_PPS_MAX),
    }));
    this.#recount(this.hosts, 0);
  }

  /** Once a second or so. */
  pass(nowMs: number): void {
    const ended = this.floods.filter(({ endsAtMs }) => endsAtMs <= nowMs);
    if (ended.length > 0) this.floods = this.floods.filter((flood) => !ended.includes(flood));
    const changed = new Set(ended.flatMap(({ hosts }) => hosts));
    if (this.#chance.oneIn(5)) {
      const host = this.#chance.oneOf(this.hosts);
      // One in three is silent for a while.
      host.backgroundPps = Math.max(0, this.#chance.below(1.5 * BACKGROUND_PPS_MAX) - BACKGROUND_PPS_MAX / 2);
      changed.add(host);
    }
    if (changed.size > 0) this.#recount(changed, nowMs);
  }

  flood(flood: Flood, nowMs: number): void {
    this.floods.push(flood);
    this.#recount(flood.hosts, nowMs);
  }

  standing(host: Host, direction: Direction): Readonly<Standing> {
    return this.#standings.get(`${direction} ${host.ip}`) ?? { floodedSinceMs: null, calmSinceMs: null };
  }

  of(ip: IpAddress): Host | undefined {
    return this.hosts.find((host) => host.ip === ip);
  }

  #recount(changed: Iterable<Host>, nowMs: number): void {
    this.version++;
    for (const host of changed) {
      host.rates.fill(0);
      for (const side of [0, 1]) addTo(host.rates, side, "udp", host.backgroundPps);
      for (const { hosts, direction, vector, ppsEach } of this.floods) {
        if (hosts.includes(host)) addTo(host.rates, direction === "incoming" ? 0 : 1, vector, ppsEach);
      }
      for (const direction of ["incoming", "outgoing"] as const) this.#stand(host, direction, nowMs);
    }
  }

  #stand(host: Host, direction: Direction, nowMs: number): void {
    const key = `${direction} ${host.ip}`;
    const before = this.#standings.get(key);
    const trio = host.rates.subarray(direction === "incoming" ? 0 : METRICS.length).subarray(0, 3);
    const isFlooded = trio.some((rate, i) => rate > (OVER[i] as number));
    const isCalm = trio.every((rate, i) => rate <= (UNDER[i] as number));
    this.#standings.set(key, {
      floodedSinceMs: isFlooded ? (before?.floodedSinceMs ?? nowMs) : null,
      calmSinceMs: isCalm ? (before?.calmSinceMs ?? nowMs) : null,
    });
  }
}

const OVER = thresholds(THRESHOLDS);
const UNDER = thresholds(FLOOR);

function addTo(rates: Float64Array, side: number, vector: Vector, pps: number): void {
  const mbps = (pps * BYTES[vector] * 8) / 1e6;
  const classes = vector === "syn" ? (["tcp", "tcp_syn"] as const) : (["udp"] as const);
  const values: Partial<RatesWire> = { pps, mbps, flows_per_sec: vector === "syn" ? pps : pps / 10 };
  for (const name of classes) Object.assign(values, { [`${name}_pps`]: pps, [`${name}_mbps`]: mbps });
  for (const [i, value] of thresholds(values).entries()) {
    const at = side * METRICS.length + i;
    rates[at] = (rates[at] as number) + value;
  }
}

function range(start: string, from: number, count: number): string[] {
  const isIpv6 = start.includes(":");
  return Array.from({ length: count }, (_, i) => `${start}${(from + i).toString(isIpv6 ? 16 : 10)}`);
}
