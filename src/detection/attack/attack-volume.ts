/**
 * The volume of an attack: total, peak and duration, from the counts of every tick. It covers the time from the first
 * tick above the thresholds to the last one, each with the tick beside it, in which the flood may have begun or ended.
 */
import { errorOfHighest } from "../certainty/sampling.ts";

/** Packets and bits of a span of time. */
export interface Amount {
  readonly packets: number;
  readonly bits: number;
}

/** The cause that kept a packet from the target: `answered` was sent back so that its source proves its address. */
export const DROP_CAUSES = ["rules", "filter_rules", "source_blocks", "limits", "unproved", "answered"] as const;
export type DropCause = (typeof DROP_CAUSES)[number];

/**
 * Traffic kept from the target: dropped, or sent back to its source. Sources that had to prove their address: absent
 * where none had to.
 */
export interface DroppedAmount extends Amount {
  /** The same by cause. Absent: only the drops of the ban's rules are known. */
  readonly by?: Readonly<Record<DropCause, Amount>>;
  /** The part of these that was answered so that the sources prove their address. */
  readonly challenged?: number;
  /** How often a source did. */
  readonly validated?: number;
}

/** The traffic of the attacked target in one tick. */
export interface CountedSpan extends Amount {
  /** Wall clock, ms. */
  readonly endMs: number;
  readonly spanMs: number;
  /** It is a window, of which a process that began a moment ago has watched the end alone. Absent: it is a tick. */
  readonly isWindow?: true;
}

export interface AttackVolume extends Amount {
  /** Wall clock, ms: when the first counted tick began, which is before the detection. */
  readonly beganAt: number;
  /** The ticks at both ends count by the part that the flood would fill at its peak rate. */
  readonly durationMs: number;
  /** Packets and bits per second of the tick with the most of each, or of several ticks if one alone gives no rate. */
  readonly peakPps: number;
  readonly peakBps: number;
  /** The time over which the peak of packets was measured, ms. */
  readonly peakOverMs: number;
  /** Half the width of the 95 % interval of the less exact peak, as a fraction of it. Absent: both are exact. */
  readonly peakError?: number;
  /** The known drops of it; null: none is known. */
  readonly dropped: DroppedAmount | null;
  /** Wall clock, ms: the end of the last tick that was watched. Absent: an earlier build recorded it. */
  readonly watchedUntil?: number;
  /** Times in which the service did not run, in order: what came then is in no number. Absent: none. */
  readonly notCounted?: readonly Uncounted[];
}

/** Wall clock, ms. */
interface Uncounted {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Beyond this number the two oldest become one, with the time between them. */
export const UNCOUNTED_MAX = 16;

/** The span from which a rate is computed: the tick, or more. */
export interface RateSpan extends CountedSpan {
  /** False: it is estimated from too few samples for a peak. Absent: true. */
  readonly isBounded?: boolean;
  /** The standard deviation of its rates, as a fraction of them. Absent: 0. */
  readonly deviation?: number;
}

interface Peak {
  readonly pps: number;
  readonly bps: number;
  readonly overMs: number;
  readonly deviation: number;
}

interface Tick extends CountedSpan {
  readonly over: RateSpan;
}

export const NOTHING: Amount = { packets: 0, bits: 0 };
/** The counters of a ban's rules, where nothing else is known, are as old as this at most, ms. */
const RULES_READ_MS = 2000;
export const NO_DROPS = Object.fromEntries(DROP_CAUSES.map((cause) => [cause, NOTHING])) as Record<DropCause, Amount>;

export class VolumeMeter {
  /** The volume from an earlier process. */
  #earlier: AttackVolume | null;
  #packets = 0;
  #bits = 0;
  #spanMs = 0;
  #beganAt = 0;
  #peakPps = 0;
  #peakBps = 0;
  #peakOverMs = 0;
  #ppsDeviation = 0;
  #bpsDeviation = 0;
  /** The peak is estimated from enough samples. */
  #isPeakBounded = false;
  /** The last tick before the first one above the thresholds. */
  #before: Tick | null = null;
  /** The first two and the last two counted ticks. */
  readonly #head: Tick[] = [];
  #tail: Tick[] = [];
  /** Until something is counted. */
  #volume: AttackVolume | null = null;
  /** Ticks after the one that followed the last one above the thresholds; counted when another one is above. */
  #calm: CountedSpan | null = null;
  #calmDropped: DroppedAmount | null = null;
  #isCalm = false;
  #dropped: DroppedAmount | null = null;
  /** null: this process has added nothing yet. */
  #watchedUntil: number | null = null;

  constructor(earlier: AttackVolume | null) {
    this.#earlier = earlier;
  }

  /** @param over the span from which the rate of the tick is computed. */
  add(span: CountedSpan, isAbove: boolean, over: RateSpan = span): void {
    const { endMs, spanMs, packets, bits } = span;
    const tick = { endMs, spanMs, packets, bits, over };
    if (this.#watchedUntil === null && this.#earlier !== null) this.#earlier = resumed(this.#earlier, span);
    this.#watchedUntil = endMs;
    this.#volume = null;
    if (isAbove) {
      if (this.#head.length === 0) this.#begin(tick);
      this.#endCalm();
      this.#count(tick);
    } else if (this.#head.length === 0) this.#before = tick;
    else if (this.#isCalm) this.#calm = this.#calm === null ? tick : joined(this.#calm, tick);
    else {
      this.#isCalm = true;
      this.#count(tick);
    }
  }

  /** By cause it is of the tick that was added last; otherwise of up to RULES_READ_MS, and may be of the flood. */
  drop(dropped: DroppedAmount): void {
    if (this.#calm !== null && (dropped.by !== undefined || this.#calm.spanMs > RULES_READ_MS)) {
      this.#calmDropped = plusDropped(this.#calmDropped ?? NOTHING, dropped);
      return;
    }
    this.#volume = null;
    this.#dropped = plusDropped(this.#dropped ?? NOTHING, dropped);
  }

  /** null: no tick was above the thresholds yet. */
  get volume(): AttackVolume | null {
    this.#volume ??= this.#compute();
    return this.#volume;
  }

  #compute(): AttackVolume | null {
    const earlier = this.#earlier;
    if (this.#watchedUntil === null) return earlier;
    if (this.#head.length === 0) return earlier && { ...earlier, watchedUntil: this.#watchedUntil };
    const isHigher = earlier === null || this.#peakPps >= earlier.peakPps;
    const isMore = earlier === null || this.#peakBps >= earlier.peakBps;
    const ofEarlier = earlier?.peakError ?? 0;
    const ofHighest = (deviation: number) => errorOfHighest({ rate: 1, deviation, seconds: this.#spanMs / 1000 }) ?? 0;
    const peakError = Math.max(
      isHigher ? ofHighest(this.#ppsDeviation) : ofEarlier,
      isMore ? ofHighest(this.#bpsDeviation) : ofEarlier,
    );
    const all = plus({ packets: this.#packets, bits: this.#bits }, earlier ?? NOTHING);
    const droppedInAll = earlier === null ? this.#dropped : droppedInBoth(earlier.dropped, this.#dropped);
    return {
      ...all,
      beganAt: earlier?.beganAt ?? this.#beganAt,
      durationMs: this.#durationMs() + (earlier?.durationMs ?? 0),
      peakPps: isHigher ? this.#peakPps : earlier.peakPps,
      peakBps: Math.max(this.#peakBps, earlier?.peakBps ?? 0),
      peakOverMs: isHigher ? this.#peakOverMs : earlier.peakOverMs,
      ...(peakError > 0 && { peakError }),
      dropped: droppedInAll === null ? null : atMost(droppedInAll, all),
      watchedUntil: this.#watchedUntil,
      ...(earlier?.notCounted !== undefined && { notCounted: earlier.notCounted }),
    };
  }

  #begin(tick: Tick): void {
    const first = this.#before ?? tick;
    this.#beganAt = first.endMs - first.spanMs;
    if (this.#before !== null) this.#count(this.#before);
  }

  /** The traffic between two floods of one attack belongs to it. */
  #endCalm(): void {
    if (!this.#isCalm) return;
    this.#isCalm = false;
    this.#tail = [];
    if (this.#calm !== null) {
      this.#sum(this.#calm);
    }
    this.#calm = null;
    if (this.#calmDropped !== null) this.drop(this.#calmDropped);
    this.#calmDropped = null;
  }

  #count(tick: Tick): void {
    const { over } = tick;
    this.#sum(tick);
    const [pps, bps] = [perSecond(over.packets, over.spanMs), perSecond(over.bits, over.spanMs)];
    // While there are too few samples the rate over all of them stands, the best that is known.
    const isBounded = over.isBounded !== false;
    const isFirst = isBounded !== this.#isPeakBounded;
    if (isBounded || !this.#isPeakBounded) {
      this.#peak({ pps, bps, overMs: over.spanMs, deviation: over.deviation ?? 0 }, isFirst || !isBounded);
    }
    this.#isPeakBounded = this.#isPeakBounded || isBounded;
    if (this.#head.length < 2) this.#head.push(tick);
    if (this.#tail.length === 2) this.#tail.shift();
    this.#tail.push(tick);
  }

  #peak({ pps, bps, overMs, deviation }: Peak, replaces: boolean): void {
    if (replaces || pps > this.#peakPps)
      [this.#peakPps, this.#peakOverMs, this.#ppsDeviation] = [pps, overMs, deviation];
    if (replaces || bps > this.#peakBps) [this.#peakBps, this.#bpsDeviation] = [bps, deviation];
  }

  #sum({ packets, bits, spanMs }: CountedSpan): void {
    this.#packets += packets;
    this.#bits += bits;
    this.#spanMs += spanMs;
  }

  #durationMs(): number {
    let unfilledMs = 0;
    for (const tick of this.#head) unfilledMs += this.#unfilledMs(tick);
    for (const tick of this.#tail) if (!this.#head.includes(tick)) unfilledMs += this.#unfilledMs(tick);
    return this.#spanMs - unfilledMs;
  }

  #unfilledMs({ packets, bits, spanMs }: CountedSpan): number {
    const ofPackets = perSecond(packets, spanMs) / Math.max(this.#peakPps, 1);
    const ofBits = perSecond(bits, spanMs) / Math.max(this.#peakBps, 1);
    return spanMs * (1 - Math.min(1, Math.max(ofPackets, ofBits)));
  }
}

/** Nothing was counted between the last tick of the earlier process and the first one of this. */
function resumed(earlier: AttackVolume, { endMs, spanMs, isWindow }: CountedSpan): AttackVolume {
  const { watchedUntil, notCounted = [] } = earlier;
  if (watchedUntil === undefined) return earlier;
  const beganMs = isWindow ? endMs : endMs - spanMs;
  const isSetBack = endMs < watchedUntil;
  if (beganMs <= watchedUntil && !isSetBack) return earlier;
  const gap = isSetBack ? { fromMs: beganMs, toMs: watchedUntil } : { fromMs: watchedUntil, toMs: beganMs };
  return { ...earlier, notCounted: withGap(notCounted, gap) };
}

/** In order and apart, also where the clock was set back between them. */
function withGap(gaps: readonly Uncounted[], gap: Uncounted): readonly Uncounted[] {
  const apart: Uncounted[] = [];
  for (const next of [...gaps, gap].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = apart.at(-1);
    if (last === undefined || next.fromMs > last.toMs) apart.push(next);
    else apart[apart.length - 1] = { ...last, toMs: Math.max(last.toMs, next.toMs) };
  }
  const [first, second] = apart;
  const isOver = apart.length > UNCOUNTED_MAX && first !== undefined && second !== undefined;
  return isOver ? [{ ...first, toMs: second.toMs }, ...apart.slice(2)] : apart;
}

export function plus(a: Amount, b: Amount): Amount {
  return { packets: a.packets + b.packets, bits: a.bits + b.bits };
}

function plusDropped(a: DroppedAmount, b: DroppedAmount): DroppedAmount {
  return combined(a, b, (x, y) => x + y);
}

/**
 * The first and the last packets that were dropped may be of ticks that are no part of a flood: no more were dropped of it
 * than it has. Of the causes the last ones are shortened.
 */
function atMost(dropped: DroppedAmount, all: Amount): DroppedAmount {
  const [packets, bits] = [Math.min(dropped.packets, all.packets), Math.min(dropped.bits, all.bits)];
  if (packets === dropped.packets && bits === dropped.bits) return dropped;
  if (dropped.by === undefined) return { ...dropped, packets, bits };
  const left = { packets, bits };
  const by = { ...NO_DROPS };
  for (const cause of DROP_CAUSES) {
    const of = dropped.by[cause];
    by[cause] = { packets: Math.min(left.packets, of.packets), bits: Math.min(left.bits, of.bits) };
    left.packets -= by[cause].packets;
    left.bits -= by[cause].bits;
  }
  return { ...dropped, packets, bits, by };
}

/** The sum of two processes. Where one of them does not know the causes, its number is a bound, and so is the sum. */
function droppedInBoth(earlier: DroppedAmount | null, since: DroppedAmount | null): DroppedAmount | null {
  if (earlier === null && since === null) return null;
  const { by, ...sum } = plusDropped(earlier ?? NOTHING, since ?? NOTHING);
  const isWhole = by !== undefined && earlier?.by !== undefined && since?.by !== undefined;
  return isWhole ? { ...sum, by } : sum;
}

/** The drops since `before`; never negative. */
export function droppedSince(before: DroppedAmount, now: DroppedAmount): DroppedAmount {
  return combined(now, before, (x, y) => Math.max(0, x - y));
}

function combined(a: DroppedAmount, b: DroppedAmount, by: (x: number, y: number) => number): DroppedAmount {
  const sum = { packets: by(a.packets, b.packets), bits: by(a.bits, b.bits) };
  const amount = a.by === undefined && b.by === undefined ? sum : { ...sum, by: combinedCauses(a, b, by) };
  if (a.challenged === undefined && b.challenged === undefined) return amount;
  const challenged = by(a.challenged ?? 0, b.challenged ?? 0);
  return { ...amount, challenged, validated: by(a.validated ?? 0, b.validated ?? 0) };
}

function combinedCauses(a: DroppedAmount, b: DroppedAmount, by: (x: number, y: number) => number) {
  const of = (cause: DropCause): Amount => {
    const [x, y] = [causeOf(a, cause), causeOf(b, cause)];
    return { packets: by(x.packets, y.packets), bits: by(x.bits, y.bits) };
  };
  return Object.fromEntries(DROP_CAUSES.map((cause) => [cause, of(cause)])) as Record<DropCause, Amount>;
}

/** Without causes the drops are those of rules. */
function causeOf({ by, packets, bits }: DroppedAmount, cause: DropCause): Amount {
  return by?.[cause] ?? (cause === "rules" ? { packets, bits } : NOTHING);
}

export function perSecond(count: number, spanMs: number): number {
  return (count * 1000) / spanMs;
}

function joined(a: CountedSpan, b: CountedSpan): CountedSpan {
  return { ...plus(a, b), endMs: b.endMs, spanMs: a.spanMs + b.spanMs };
}
