/**
 * Traffic of a host in the part of the window before its attack began: its profile, where it has no other. The attack
 * begins where the rate of its packets changes most, by the ratio of likelihoods of two Poisson processes and one
 * (Raftery, Akman, "Bayesian analysis of a Poisson process with a change-point", 1986). Pure.
 */
import type { RecordRange } from "../../traffic/header-record.ts";
import { decodeHeader, type PacketHeader } from "../../traffic/packet-header.ts";
import type { SampledPacket } from "./sample.ts";
import type { TrafficProfile } from "./traffic-profile.ts";

/** Packets before and after the start that show a change, and not chance. */
const PACKETS_MIN = 48;
/** An attack that grows slowly is in what comes before: only a step is taken for a start. */
const STEP_MIN = 3;
/** Before the step, the newer half has at most this multiple of the older one's packets. */
const STEADY_MAX = 1.3;
/** Packets that are decoded. */
const PACKETS_MAX = 512;
/** The tick in which the attack began has packets of both, and the oldest tick is not whole. */
const TICKS_LEFT_OUT = 1;

/** The packets that were counted in one tick. */
interface Tick {
  readonly ageMs: number;
  /** Packets that the attack's metrics count. */
  readonly count: number;
}

/**
 * @param range newest last.
 * @param ageMaxMs older packets are not in the window.
 * @param isPartOf whether the attack's metrics count a packet.
 * @returns null: there is no step, or too few packets are older.
 */
export function profileBeforeOnset(
  range: RecordRange,
  ageMaxMs: number,
  isPartOf: (header: PacketHeader) => boolean,
): TrafficProfile | null {
  const ticks = ticksOf(range, ageMaxMs, isPartOf);
  const before = ticks.slice(TICKS_LEFT_OUT, Math.max(0, onsetIn(ticks) - TICKS_LEFT_OUT));
  const [oldest, newest] = [before[0], before.at(-1)];
  if (oldest === undefined || newest === undefined || sum(before) < PACKETS_MIN || !isSteady(before)) return null;
  const packets = packetsBetween(range, newest.ageMs, oldest.ageMs);
  const seconds = (oldest.ageMs - newest.ageMs + tickMsOf(ticks)) / 1000;
  const total = packets.reduce((all, { standsFor }) => all + standsFor, 0);
  return { packets, packetsPerSecond: total / seconds };
}

/** Oldest first, also those without packets. */
function ticksOf(
  { records, from, end }: RecordRange,
  ageMaxMs: number,
  isPartOf: (header: PacketHeader) => boolean,
): readonly Tick[] {
  const counts = new Map<number, number>();
  for (let i = from; i < end; i++) {
    const ageMs = records.ageMs(i);
    if (ageMs <= ageMaxMs) counts.set(ageMs, (counts.get(ageMs) ?? 0) + (isPartOf(records.header(i)) ? 1 : 0));
  }
  return [...counts].map(([ageMs, count]) => ({ ageMs, count })).sort((a, b) => b.ageMs - a.ageMs);
}

function tickMsOf(ticks: readonly Tick[]): number {
  const gaps = ticks.slice(1).map(({ ageMs }, i) => (ticks[i] as Tick).ageMs - ageMs);
  return Math.min(...gaps);
}

/** The index of the first tick of the attack; 0: there is no step. */
function onsetIn(ticks: readonly Tick[]): number {
  const newest = ticks.at(-1);
  if (newest === undefined) return 0;
  const tickMs = tickMsOf(ticks);
  let best = { index: 0, likelihood: 0 };
  for (const [index, { ageMs }] of ticks.entries()) {
    const [older, newer] = [ticks.slice(0, index), ticks.slice(index)];
    const [first] = older;
    if (first === undefined) continue;
    const [a, b] = [sum(older), sum(newer)];
    const [msA, msB] = [first.ageMs - ageMs, ageMs - newest.ageMs + tickMs];
    const likelihood = a * Math.log((a || 1) / msA) + b * Math.log((b || 1) / msB);
    const isStep = b >= PACKETS_MIN && b / msB >= (STEP_MIN * a) / msA;
    if (isStep && (best.index === 0 || likelihood > best.likelihood)) best = { index, likelihood };
  }
  return best.index;
}

function isSteady(before: readonly Tick[]): boolean {
  const middle = Math.floor(before.length / 2);
  const [older, newer] = [sum(before.slice(0, middle)), sum(before.slice(middle))];
  const expected = (STEADY_MAX * older * (before.length - middle)) / (middle || 1);
  return middle > 0 && newer <= expected + Math.sqrt(older);
}

function packetsBetween({ records, from, end }: RecordRange, newestMs: number, oldestMs: number): SampledPacket[] {
  const indices: number[] = [];
  for (let i = from; i < end; i++) {
    if (records.ageMs(i) >= newestMs && records.ageMs(i) <= oldestMs) indices.push(i);
  }
  const step = Math.max(1, indices.length / PACKETS_MAX);
  const packets: SampledPacket[] = [];
  for (let at = 0; at < indices.length; at += step) {
    const i = indices[Math.floor(at)] as number;
    const header = decodeHeader(records.frame(i));
    if (header === null) continue;
    packets.push({ header, wireBytes: records.wireBytes(i), standsFor: step * records.standsFor(i) });
  }
  return packets;
}

function sum(ticks: readonly Tick[]): number {
  return ticks.reduce((total, { count }) => total + count, 0);
}
