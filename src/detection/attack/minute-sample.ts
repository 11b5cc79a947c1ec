/**
 * A bounded sample of the packet headers of the last minute, of all protected hosts: what the reading of the busiest hosts
 * decodes anyway (busy-profiles.ts). Each header has the number of packets that it stands for, so that sums over the sample
 * estimate those over all traffic. Knows nothing of rules.
 */
import { MINUTE_MS } from "../../system/now.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import type { PacketVerdict } from "../../traffic/packet-outcome.ts";

/** About 2.5 MB. */
export const MINUTE_HEADERS_MAX = 8192;
/** Readings in a minute. */
const PASSES_MAX = 60;
/** For one reading of all hosts. */
export const PASS_HEADERS_MAX = Math.floor(MINUTE_HEADERS_MAX / PASSES_MAX);

export interface MinuteHeader {
  readonly header: PacketHeader;
  /** Length of the frame on the wire. */
  readonly wireBytes: number;
  /** The number of packets that it stands for. */
  readonly packets: number;
  /** Whether its destination was under attack then. */
  readonly isAttacked: boolean;
  /** The verdict of this machine's filter; null: nothing judged it. */
  readonly verdict: PacketVerdict | null;
}

export interface MinuteReading {
  readonly headers: readonly MinuteHeader[];
  /** The time that they are of; 0: there are none. */
  readonly seconds: number;
}

interface Pass {
  readonly atMs: number;
  readonly seconds: number;
  readonly headers: readonly MinuteHeader[];
}

export class MinuteSample {
  readonly #draw: () => number;
  /** Oldest first. */
  #passes: Pass[] = [];

  /** @param draw a number from 0 to 1, like Math.random. */
  constructor(draw: () => number) {
    this.#draw = draw;
  }

  /** @param atMs monotonic. @param seconds the time that the headers are of. */
  add(atMs: number, seconds: number, headers: readonly MinuteHeader[]): void {
    this.#passes.push({ atMs, seconds, headers: chosen(headers, PASS_HEADERS_MAX, this.#draw) });
    this.#passes = this.#passes.slice(-PASSES_MAX);
  }

  /** An attack is found after it began: what came since `sinceMs` to hosts that are attacked now was of it. */
  attacked(isAttacked: (host: MinuteHeader["header"]["destination"]) => boolean, sinceMs: number): void {
    const mark = (one: MinuteHeader) =>
      one.isAttacked || !isAttacked(one.header.destination) ? one : { ...one, isAttacked: true };
    this.#passes = this.#passes.map((pass) =>
      pass.atMs < sinceMs ? pass : { ...pass, headers: pass.headers.map(mark) },
    );
  }

  read(nowMs: number): MinuteReading {
    const recent = this.#passes.filter(({ atMs }) => nowMs - atMs < MINUTE_MS);
    return {
      headers: recent.flatMap(({ headers }) => headers),
      seconds: recent.reduce((sum, { seconds }) => sum + seconds, 0),
    };
  }
}

/**
 * At most `room` of them. Each host has an equal share, and what it does not need is for the others; where hosts are more
 * than places, a host is kept with a probability that grows with its packets. What is kept stands for what is not.
 */
function chosen(headers: readonly MinuteHeader[], room: number, draw: () => number): readonly MinuteHeader[] {
  if (headers.length <= room) return headers;
  const byHost = [...Map.groupBy(headers, ({ header }) => header.destination).values()];
  const each = shareOf(
    byHost.map(({ length }) => length),
    room,
  );
  const shared = byHost.flatMap((own) => evenly(own, each, draw));
  return shared.length <= room ? shared : byWeight(shared, room, draw);
}

/** The most that each may have so that all together have no more than `room`; at least 1. */
function shareOf(counts: readonly number[], room: number): number {
  let left = room;
  for (const [i, count] of counts.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (counts.length - i));
    if (count > share) return Math.max(1, share);
    left -= count;
  }
  return room;
}

/** Systematic sampling: each is kept with the same probability. */
function evenly(own: readonly MinuteHeader[], count: number, draw: () => number): readonly MinuteHeader[] {
  if (own.length <= count) return own;
  const step = own.length / count;
  const start = draw() * step;
  return Array.from({ length: count }, (_, i) => own[Math.floor(start + i * step)] as MinuteHeader).map((one) => ({
    ...one,
    packets: one.packets * step,
  }));
}

/** Systematic sampling with a probability in proportion to the packets; those that stand for very many are kept for sure. */
function byWeight(headers: readonly MinuteHeader[], room: number, draw: () => number): readonly MinuteHeader[] {
  const sorted = headers.toSorted((a, b) => b.packets - a.packets);
  let rest = sorted.reduce((sum, { packets }) => sum + packets, 0);
  let sure = 0;
  for (const { packets } of sorted) {
    if (sure >= room || packets * (room - sure) < rest) break;
    rest -= packets;
    sure++;
  }
  const kept = sorted.slice(0, sure);
  const step = rest / (room - sure);
  let next = draw() * step;
  let sum = 0;
  for (const one of sorted.slice(sure)) {
    sum += one.packets;
    if (sum <= next || kept.length >= room) continue;
    kept.push({ ...one, packets: step });
    next += step;
  }
  return kept;
}
