/**
 * Samples the packets of each attack: takes the flow sample at detection, and classifies the attack at once and then
 * about every second. Tracks the attacks in progress, and keeps some packets of each.
 */
import { SAMPLED_PACKETS_MAX } from "../../limits.ts";
import type { Now } from "../../system/now.ts";
import { HeaderRecords, type HeaderSamples } from "../../traffic/header-record.ts";
import { type IngressOf, numberedIngress } from "../../traffic/ingress.ts";
import { decodeHeader } from "../../traffic/packet-header.ts";
import { outcomeOf, type PacketOutcome } from "../../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../../traffic/pcap-file.ts";
import type { AttackChange, AttackFindings } from "../judge/detector.ts";
import type { Attack } from "./attack.ts";
import { type AttackPlace, type Groups, placeOf } from "./attack-place.ts";
import { sizeOfRates } from "./attack-size.ts";
import { type AttackSources, sourcesOf } from "./attack-sources.ts";
import { attackTraffic } from "./attack-traffic.ts";
import { type Classification, classify } from "./classifier.ts";
import { classShares, unusualClasses } from "./ordinary-traffic.ts";
import type { KeptPacket, PacketCounts } from "./outcome-rings.ts";
import { PacketReservoir } from "./packet-reservoir.ts";
import { RecentPackets, sampledPackets } from "./recent-packets.ts";
import { type Sample, type SampleBounds, type SampledPacket, sampleOf } from "./sample.ts";
import type { OriginOf } from "./sample-origins.ts";
import { partOf, type TrafficProfile, type TrafficProfiles } from "./traffic-profile.ts";
import { isNewKind, NO_VERDICT, nextVerdict, type Verdict } from "./verdict.ts";

/** A sample with this many packets is complete: it almost certainly contains every sender of a tenth of the traffic. */
export const COMPLETE_PACKETS = 64;
/** A sample shows the time of detection: after this time it is complete, and few packets suffice to classify, ms. */
export const COMPLETION_MS = 1000;
/** With fewer packets an attack is not classified before COMPLETION_MS: the result could be chance. */
export const PACKETS_MIN = 16;
/** When the number of packets has grown by this factor, the same kind is reported again. */
const FIRMER_FACTOR = 4;
/** Time between two classifications of an attack, ms: about as long as the packet counter keeps headers. */
export const JUDGE_AGAIN_MS = 1000;
/** Packets kept for one attack, unless `samples.per_attack_flows` is larger: fifteen of a hundredth of the attack. */
export const PACKETS_KEPT = 1536;
/** The minimum when there are many attacks. */
const PACKETS_KEPT_MIN = 32;
/** Fewer packets do not show the shares of the classes of packets. */
const ORDINARY_PACKETS_MIN = 256;
/** Headers in one reading. The reservoir draws from them, so that it does not keep only the newest. */
const HEADERS_READ = 8192;
/** Of these the newest of each outcome that are looked at and kept byte for byte: a bound on the time that it takes. */
const RECENT_LOOKED_AT = 512;
const RECENT_TAKEN = 256;

export interface SamplingPolicy extends SampleBounds, Groups {
  /** Packets from before the window in which the limit was exceeded do not belong to the attack. */
  readonly windowMs: number;
  /** null: no lookup of origins is configured. */
  readonly originOf: OriginOf | null;
  /** Names of exporters and interfaces. */
  readonly ingressOf: IngressOf;
}

/** The result of one reading of an attack's packets. */
export interface Reading {
  /** Id of the attack. */
  readonly id: string;
  /** The attacked host, the prefix of a carpet attack, or `hostgroup NAME`. */
  readonly target: string;
  /** null: the sample was complete before. */
  readonly sample: Sample | null;
  /** This reading completes the sample. */
  readonly isComplete: boolean;
  /** null: too few packets so far. */
  readonly classification: Classification | null;
  /** The first classification, or another kind than before. */
  readonly isNewKind: boolean;
  /** The same kind, now from many more packets: enough to find common fields. */
  readonly isFirmer: boolean;
  /** Packets that are probably part of the attack. */
  readonly packets: readonly SampledPacket[];
}

/** The parts of a reading that are stored in the attack's record. */
export function findingsOf({ sample, classification }: Reading): AttackFindings {
  return sample === null ? { classification } : { classification, sample };
}

/** How mitigation must react: a new or firmer classification, newer packets, or nothing while there is no kind (null). */
export function noticeOf({ isNewKind, isFirmer, classification }: Reading): "reclassified" | "newer" | null {
  if (isNewKind || isFirmer) return "reclassified";
  return classification === null ? null : "newer";
}

interface Watched {
  readonly packets: PacketReservoir;
  /** The host's traffic before the attack, or while it showed nothing but what users send; null: not known. */
  profile: TrafficProfile | null;
  /** Monotonic ms. */
  readonly detectedMs: number;
  /** The attack as of the last tick. */
  attack: Attack;
  verdict: Verdict;
  /** Number of packets that the reported classification was made from. */
  classifiedFrom: number;
  isSampled: boolean;
  lastReadMs: number;
  dueMs: number;
  /** Sequence number of the last reading: lower means longer ago. */
  turn: number;
}

export class AttackSampler {
  readonly #headers: HeaderSamples;
  readonly #profiles: Pick<TrafficProfiles, "of"> | null;
  readonly #random: () => number;
  #policy: SamplingPolicy | null;
  /** By attack id. */
  readonly #watched = new Map<string, Watched>();
  #turns = 0;
  readonly #records = new HeaderRecords(HEADERS_READ);
  readonly #recent = new RecentPackets();

  /** @param policy null: sampling is off. @param random like Math.random. @param profiles null: none are kept. */
  constructor(
    headers: HeaderSamples,
    policy: SamplingPolicy | null,
    random: () => number = Math.random,
    profiles: Pick<TrafficProfiles, "of"> | null = null,
  ) {
    this.#headers = headers;
    this.#profiles = profiles;
    this.#random = random;
    this.#policy = policy;
  }

  /** Attacks keep the samples they have. */
  reconfigure(policy: SamplingPolicy | null): void {
    this.#policy = policy;
    if (policy === null) this.#watched.clear();
  }

  /** Whether any attack is sampled, now or later. */
  get isWatching(): boolean {
    return this.#watched.size > 0;
  }

  attacksChanged(changes: readonly AttackChange[], now: Now): void {
    for (const { kind, attack } of changes) {
      const watched = this.#watched.get(attack.id);
      if (kind === "started") this.begin(attack, now);
      else if (kind === "ended") {
        this.#watched.delete(attack.id);
        this.#recent.end(attack.id);
      } else if (watched !== undefined) watched.attack = attack;
    }
  }

  /** Starts sampling an attack, also one restored from an earlier process. */
  begin(attack: Attack, now: Now): void {
    const { id, target, direction, sample, classification } = attack;
    if (this.#policy === null) return;
    const profile = target === null || direction === "outgoing" ? null : (this.#profiles?.of(target) ?? null);
    this.#watched.set(id, {
      packets: new PacketReservoir(PACKETS_KEPT, this.#random),
      profile,
      detectedMs: now.monotonicMs,
      attack,
      verdict: { ...NO_VERDICT, held: classification },
      classifiedFrom: PACKETS_KEPT,
      isSampled: sample !== null,
      lastReadMs: now.monotonicMs,
      dueMs: now.monotonicMs + (sample === null ? 0 : JUDGE_AGAIN_MS),
      turn: 0,
    });
  }

  /** Whether a reading is due. */
  isDue(now: Now): boolean {
    for (const watched of this.#watched.values()) if (isDue(watched, now)) return true;
    return false;
  }

  /**
   * One reading for each attack that is due: those never read come first, the largest of them before small ones, then
   * unclassified ones, then by the time since the last reading. A reading takes a millisecond or more: a caller may
   * stop early, and the rest follow next time.
   */
  *readings(now: Now): Generator<Reading> {
    const due = [...this.#watched].filter(([, watched]) => isDue(watched, now));
    due.sort(([, a], [, b]) => readFirst(a, b));
    for (const [id, watched] of due) {
      if (this.#policy === null) return;
      // Set before reading: an attack whose reading fails must not be first again.
      watched.turn = ++this.#turns;
      const target = this.#collect(watched, this.#policy, now);
      yield { id, target, ...this.#judge(watched, this.#policy, now) };
    }
  }

  /** Packets that are probably part of an attack in progress. */
  packetsOf({ id }: Pick<Attack, "id">): readonly SampledPacket[] {
    const watched = this.#watched.get(id);
    if (watched === undefined) return [];
    const { isPartOf } = attackTraffic(watched.attack);
    return watched.packets.packets().filter(({ header }) => isPartOf(header));
  }

  /** What the host received before the attack, of the packets that the attack's metrics count; null: not known. */
  profileOf({ id }: Pick<Attack, "id">): TrafficProfile | null {
    const watched = this.#watched.get(id);
    if (watched === undefined || watched.profile === null) return null;
    return partOf(watched.profile, attackTraffic(watched.attack).isPartOf);
  }

  /**
   * The newest headers of an attack's target, also of users, oldest first; of the last ended attacks too.
   * @param outcome null: all packets.
   */
  recentPacketsOf({ id }: Pick<Attack, "id">, outcome: PacketOutcome | null = null): readonly CapturedPacket[] {
    return this.#recent.of(id, outcome);
  }

  recentCountsOf({ id }: Pick<Attack, "id">): PacketCounts {
    return this.#recent.countsOf(id);
  }

  /** Of the kept packets while the attack lasts, then of its newest headers. */
  sourcesOf({ id }: Pick<Attack, "id">): AttackSources {
    const { top = 0, originOf = null, ingressOf = numberedIngress } = this.#policy ?? {};
    const packets = this.#watched.get(id)?.packets.packets() ?? sampledPackets(this.#recent.of(id));
    return sourcesOf(packets, { top, originOf, ingressOf });
  }

  #judge(watched: Watched, policy: SamplingPolicy, now: Now): Omit<Reading, "id" | "target"> {
    const { attack, verdict } = watched;
    const elapsedMs = now.monotonicMs - watched.detectedMs;
    const all = watched.packets.packets();
    const isComplete = !watched.isSampled && (all.length >= COMPLETE_PACKETS || elapsedMs >= COMPLETION_MS);
    const sample = watched.isSampled ? null : sampleOf(all, policy, policy.originOf, policy.ingressOf);
    watched.isSampled ||= isComplete;
    watched.lastReadMs = now.monotonicMs;
    watched.dueMs = watched.isSampled ? now.monotonicMs + JUDGE_AGAIN_MS : now.monotonicMs;

    const { isPartOf, unit, timesThreshold } = attackTraffic(attack);
    const packets = all.filter(({ header }) => isPartOf(header));
    watched.profile ??= ordinaryProfile(attack, all);
    if (packets.length >= PACKETS_MIN || elapsedMs >= COMPLETION_MS) {
      const gate = attack.reason.dominantShareGate;
      watched.verdict = nextVerdict(verdict, classify(packets, { gate, unit, timesThreshold, held: verdict.held }));
    }
    const { held } = watched.verdict;
    const isNew = isNewKind(verdict, watched.verdict);
    const isFirmer = held !== null && !isNew && packets.length >= FIRMER_FACTOR * watched.classifiedFrom;
    if (isNew || isFirmer) watched.classifiedFrom = packets.length;
    return {
      sample,
      isComplete,
      classification: held,
      isNewKind: isNew,
      isFirmer,
      packets,
    };
  }

  /**
   * Before the sample is complete, reads all packets again, since it shows the time of detection; afterwards only the
   * newer ones. Returns the name of the place.
   */
  #collect(watched: Watched, policy: SamplingPolicy, now: Now): string {
    const { attack, packets, isSampled, detectedMs, lastReadMs } = watched;
    const place = placeOf(attack, policy);
    packets.resize(Math.max(this.#packetsEach(), isSampled ? 0 : policy.flows));
    // Old packets lose weight as fast as the rates: otherwise the packets of a flood dominate after it stopped.
    if (isSampled) packets.fade(0.5 ** (JUDGE_AGAIN_MS / Math.max(JUDGE_AGAIN_MS, policy.windowMs)));
    else packets.clear();
    const end = attack.direction === "incoming" ? "destination" : "source";
    const records = this.#records;
    const count = this.#headers.readSamples(place.address, records.bytes, place.bits);
    // While a flood begins, most of the window precedes it: the latest packets alone are used if they are enough.
    const enoughMs = count > PACKETS_KEPT ? records.ageMs(count - PACKETS_KEPT) : Number.POSITIVE_INFINITY;
    const windowMs = policy.windowMs + now.monotonicMs - detectedMs;
    // Ages are whole ticks: a packet as old as the interval may have been read last time.
    const ageMaxMs = isSampled ? now.monotonicMs - lastReadMs - 1 : Math.min(windowMs, enoughMs);
    for (let i = 0; i < count; i++) {
      if (records.ageMs(i) > ageMaxMs) continue;
      packets.offer(records.standsFor(i), () => {
        const header = decodeHeader(records.frame(i));
        const isOurs = header !== null && place.holds(header[end]);
        return isOurs ? { header, wireBytes: records.wireBytes(i), ...records.told(i) } : null;
      });
    }
    if (!isSampled) this.#recent.clear(attack.id);
    // Of a rare outcome there may be none among the latest.
    const keptMaxMs = isSampled ? ageMaxMs : windowMs;
    this.#recent.add(attack.id, this.#newest(count, { ageMaxMs: keptMaxMs, end, place, now }));
    return place.name;
  }

  /** Of the last reading, as views of it. */
  #newest(count: number, { ageMaxMs, end, place, now }: NewestOf): KeptPacket[] {
    const records = this.#records;
    const newest: KeptPacket[] = [];
    const eachMax = Math.min(RECENT_TAKEN, this.#recent.each);
    const lookedAt = new Map<PacketOutcome | null, { seen: number; taken: number }>();
    for (let i = count - 1; i >= 0 && records.ageMs(i) <= ageMaxMs; i--) {
      const verdict = records.verdict(i);
      const outcome = verdict === null ? null : outcomeOf(verdict);
      const own = lookedAt.get(outcome) ?? { seen: 0, taken: 0 };
      if (own.seen === 0) lookedAt.set(outcome, own);
      if (own.seen++ >= RECENT_LOOKED_AT || own.taken >= eachMax) continue;
      const frame = records.frame(i);
      const header = decodeHeader(frame);
      if (header === null || !place.holds(header[end])) continue;
      own.taken++;
      newest.push({ atMs: now.wallMs - records.ageMs(i), wireBytes: records.wireBytes(i), frame, outcome });
    }
    return newest.reverse();
  }

  #packetsEach(): number {
    const share = Math.floor(SAMPLED_PACKETS_MAX / this.#watched.size);
    return Math.max(PACKETS_KEPT_MIN, Math.min(PACKETS_KEPT, share));
  }
}

interface NewestOf {
  readonly ageMaxMs: number;
  readonly end: "source" | "destination";
  readonly place: AttackPlace;
  readonly now: Now;
}

/** Very many small attacks must not delay the rules of a large one. */
function readFirst(a: Watched, b: Watched): number {
  if (a.turn === 0 && b.turn === 0) return sizeOfRates(b.attack.rates) - sizeOfRates(a.attack.rates);
  if (a.turn === 0 || b.turn === 0) return a.turn === 0 ? -1 : 1;
  return Number(a.verdict.held !== null) - Number(b.verdict.held !== null) || a.turn - b.turn;
}

/**
 * An attack that shows nothing but what users send, in their shares, is users who exceed the threshold, or nothing
 * distinguishes it from them: what comes later is compared with it. null: there is more, or the packets are too few.
 */
function ordinaryProfile(attack: Attack, all: readonly SampledPacket[]): TrafficProfile | null {
  const { target, direction } = attack;
  if (target === null || direction !== "incoming" || all.length < ORDINARY_PACKETS_MIN) return null;
  const { timesThreshold } = attackTraffic(attack);
  if (unusualClasses(classShares(all), timesThreshold).size > 0) return null;
  return { packets: all, packetsPerSecond: null };
}

/** During a calm phase there are no packets of the attack: the classification stays. */
function isDue({ attack, isSampled, dueMs }: Watched, now: Now): boolean {
  return dueMs <= now.monotonicMs && (!isSampled || attack.calmSinceMs === null);
}
