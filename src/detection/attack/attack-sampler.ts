/**
 * Looks at the packets of each attack: takes the flow sample of its detection, and judges what kind of attack it is, at
 * once and again about every second while it lasts. Knows the attacks in progress, and keeps some packets of each.
 */
import { SAMPLED_PACKETS_MAX } from "../../limits.ts";
import { HeaderRecords, type HeaderSamples } from "../../traffic/header-record.ts";
import { decodeHeader } from "../../traffic/packet-header.ts";
import type { AttackChange, AttackFindings } from "../judge/detector.ts";
import type { Attack, Now } from "./attack.ts";
import { type Groups, placeOf } from "./attack-place.ts";
import { attackTraffic } from "./attack-traffic.ts";
import { type Classification, classify } from "./classifier.ts";
import { PacketReservoir } from "./packet-reservoir.ts";
import { type Sample, type SampleBounds, type SampledPacket, sampleOf } from "./sample.ts";
import type { OriginOf } from "./sample-origins.ts";
import { isNewKind, NO_VERDICT, nextVerdict, type Verdict } from "./verdict.ts";

/** With so many packets a sample is complete: a sender of a tenth of them is all but certain to be in it. */
export const ENOUGH_PACKETS = 64;
/** A sample is of the detection: after so long it stays as it is, and few packets must do for a judgement, ms. */
export const COMPLETION_MS = 1000;
/** With fewer packets an attack is not judged before that: half of them may be chance. */
export const LEAST_PACKETS = 16;
/** With so many times the packets a kind is told again. */
const FIRMER_FACTOR = 4;
/** Between two judgements of an attack that lasts, ms: the packet counter's memory goes back about as far. */
export const JUDGE_AGAIN_MS = 1000;
/** Packets kept of one attack, unless `samples.per_attack_flows` asks for more: more tell no more. */
export const PACKETS_KEPT = 256;
/** And the least, when there are many attacks. */
const PACKETS_KEPT_LEAST = 32;
/** Headers in one reading. They are drawn from, so that the newest are not all that is known. */
const HEADERS_READ = 8192;

export interface SamplingPolicy extends SampleBounds, Groups {
  /** Packets from before the window that tripped have no part in the attack. */
  readonly windowMs: number;
  /** null: nobody knows where sources are. */
  readonly originOf: OriginOf | null;
}

/** What one look at an attack's packets shows. */
export interface Reading {
  /** Of the attack. */
  readonly id: string;
  /** The attacked host, the prefix of an attack that is spread, or `hostgroup NAME`. */
  readonly target: string;
  /** null: that of the detection is complete already. */
  readonly sample: Sample | null;
  /** The sample is complete with this reading. */
  readonly isComplete: boolean;
  /** null: too few packets so far. */
  readonly classification: Classification | null;
  /** It is the attack's first, or another one than before. */
  readonly isNewKind: boolean;
  /** It was told from few packets, and now there are many: enough to see what they have in common. */
  readonly isFirmer: boolean;
  /** It is of its kind by its newest packets too: it is not about to become another. */
  readonly isSteady: boolean;
  /** Those of the attack, as far as they can be told from others. */
  readonly packets: readonly SampledPacket[];
}

/** What of it belongs to the attack's record. */
export function findingsOf({ sample, classification }: Reading): AttackFindings {
  return sample === null ? { classification } : { classification, sample };
}

/** What the reading is to those who act on attacks: a kind that is told anew, newer packets of the same, or nothing. */
export function noticeOf({ isNewKind, isFirmer, isSteady }: Reading): "told" | "newer" | null {
  if (isNewKind || isFirmer) return "told";
  return isSteady ? "newer" : null;
}

interface Watched {
  readonly packets: PacketReservoir;
  /** Monotonic ms. */
  readonly detectedMs: number;
  /** As of the last tick. */
  attack: Attack;
  verdict: Verdict;
  /** Packets that it was told from. */
  toldFrom: number;
  isSampled: boolean;
  lastReadMs: number;
  dueMs: number;
  /** The lower, the longer ago it was read. */
  turn: number;
}

export class AttackSampler {
  readonly #headers: HeaderSamples;
  readonly #random: () => number;
  #policy: SamplingPolicy | null;
  /** By attack. */
  readonly #watched = new Map<string, Watched>();
  #turns = 0;
  readonly #records = new HeaderRecords(HEADERS_READ);

  /** @param policy null: sampling is off. @param random like Math.random. */
  constructor(headers: HeaderSamples, policy: SamplingPolicy | null, random: () => number = Math.random) {
    this.#headers = headers;
    this.#random = random;
    this.#policy = policy;
  }

  /** Attacks that have a sample keep it. */
  reconfigure(policy: SamplingPolicy | null): void {
    this.#policy = policy;
    if (policy === null) this.#watched.clear();
  }

  /** Attacks are here to be looked at, now or later. */
  get isWatching(): boolean {
    return this.#watched.size > 0;
  }

  attacksChanged(changes: readonly AttackChange[], now: Now): void {
    for (const { kind, attack } of changes) {
      const watched = this.#watched.get(attack.id);
      if (kind === "started") this.begin(attack, now);
      else if (kind === "ended") this.#watched.delete(attack.id);
      else if (watched !== undefined) watched.attack = attack;
    }
  }

  /** Also for an attack that an earlier process looked at. */
  begin(attack: Attack, now: Now): void {
    const { id, sample, classification } = attack;
    if (this.#policy === null) return;
    this.#watched.set(id, {
      packets: new PacketReservoir(PACKETS_KEPT, this.#random),
      detectedMs: now.monotonicMs,
      attack,
      verdict: { ...NO_VERDICT, held: classification },
      toldFrom: PACKETS_KEPT,
      isSampled: sample !== null,
      lastReadMs: now.monotonicMs,
      dueMs: now.monotonicMs + (sample === null ? 0 : JUDGE_AGAIN_MS),
      turn: 0,
    });
  }

  /** Something is to be read by now. */
  isDue(now: Now): boolean {
    for (const watched of this.#watched.values()) if (isDue(watched, now)) return true;
    return false;
  }

  /**
   * One reading for each attack that is due, those that nobody has judged yet first, then the longest without one. A
   * reading takes a millisecond or more: a caller with other work leaves off, and the rest have their turn the next time.
   */
  *readings(now: Now): Generator<Reading> {
    const due = [...this.#watched].filter(([, watched]) => isDue(watched, now));
    due.sort(([, a], [, b]) => Number(a.verdict.held !== null) - Number(b.verdict.held !== null) || a.turn - b.turn);
    for (const [id, watched] of due) {
      if (this.#policy === null) return;
      // First: one that cannot be read must not be the next one too.
      watched.turn = ++this.#turns;
      const target = this.#collect(watched, this.#policy, now);
      yield { id, target, ...this.#judge(watched, this.#policy, now) };
    }
  }

  /** Packets of an attack in progress, as far as they can be told from others. */
  packetsOf({ id }: Pick<Attack, "id">): readonly SampledPacket[] {
    const watched = this.#watched.get(id);
    if (watched === undefined) return [];
    const { isPartOf } = attackTraffic(watched.attack);
    return watched.packets.packets().filter(({ header }) => isPartOf(header));
  }

  #judge(watched: Watched, policy: SamplingPolicy, now: Now): Omit<Reading, "id" | "target"> {
    const { attack, verdict } = watched;
    const elapsedMs = now.monotonicMs - watched.detectedMs;
    const all = watched.packets.packets();
    const isComplete = !watched.isSampled && (all.length >= ENOUGH_PACKETS || elapsedMs >= COMPLETION_MS);
    const sample = watched.isSampled ? null : sampleOf(all, policy, policy.originOf);
    watched.isSampled ||= isComplete;
    watched.lastReadMs = now.monotonicMs;
    watched.dueMs = watched.isSampled ? now.monotonicMs + JUDGE_AGAIN_MS : now.monotonicMs;

    const { isPartOf, unit, timesThreshold } = attackTraffic(attack);
    const packets = all.filter(({ header }) => isPartOf(header));
    if (packets.length >= LEAST_PACKETS || elapsedMs >= COMPLETION_MS) {
      const gate = attack.reason.dominantShareGate;
      watched.verdict = nextVerdict(verdict, classify(packets, { gate, unit, timesThreshold, held: verdict.held }));
    }
    const { held, candidate } = watched.verdict;
    const isNew = isNewKind(verdict, watched.verdict);
    const isFirmer = held !== null && !isNew && packets.length >= FIRMER_FACTOR * watched.toldFrom;
    if (isNew || isFirmer) watched.toldFrom = packets.length;
    return {
      sample,
      isComplete,
      classification: held,
      isNewKind: isNew,
      isFirmer,
      isSteady: held !== null && candidate === null,
      packets,
    };
  }

  /**
   * Until the sample is complete all over again, since it is of the detection; then what came since. Returns where it
   * looked.
   */
  #collect(watched: Watched, policy: SamplingPolicy, now: Now): string {
    const { attack, packets, isSampled, detectedMs, lastReadMs } = watched;
    const place = placeOf(attack, policy);
    packets.resize(Math.max(this.#packetsEach(), isSampled ? 0 : policy.flows));
    // Half is forgotten in the time that the rates take to forget: when a flood stops, its packets still are the most.
    if (isSampled) packets.fade(0.5 ** (JUDGE_AGAIN_MS / Math.max(JUDGE_AGAIN_MS, policy.windowMs)));
    else packets.clear();
    const end = attack.direction === "incoming" ? "destination" : "source";
    const records = this.#records;
    const count = this.#headers.readSamples(place.address, records.bytes, place.bits);
    // While a flood begins most of the window is from before it: the last moments tell more, if they have enough.
    const enoughMs = count > PACKETS_KEPT ? records.ageMs(count - PACKETS_KEPT) : Number.POSITIVE_INFINITY;
    const windowMs = policy.windowMs + now.monotonicMs - detectedMs;
    // Ages are in whole ticks: one of a whole interval may have been read the last time.
    const ageMaxMs = isSampled ? now.monotonicMs - lastReadMs - 1 : Math.min(windowMs, enoughMs);
    for (let i = 0; i < count; i++) {
      if (records.ageMs(i) > ageMaxMs) continue;
      packets.offer(records.standsFor(i), () => {
        const header = decodeHeader(records.frame(i));
        const isOurs = header !== null && place.holds(header[end]);
        return isOurs ? { header, wireBytes: records.wireBytes(i) } : null;
      });
    }
    return place.name;
  }

  #packetsEach(): number {
    const share = Math.floor(SAMPLED_PACKETS_MAX / this.#watched.size);
    return Math.max(PACKETS_KEPT_LEAST, Math.min(PACKETS_KEPT, share));
  }
}

/** In a calm there is nothing of the attack to be seen: what it was stays held. */
function isDue({ attack, isSampled, dueMs }: Watched, now: Now): boolean {
  return dueMs <= now.monotonicMs && (!isSampled || attack.calmSinceMs === null);
}
