/**
 * The findings of one reading of an attack's packets: the flow sample at detection, and the kind of the attack. Works
 * on flat records, so that the readings of a thousand attacks take the event loop some milliseconds. Does not know
 * where the records come from, nor when an attack is read.
 */
import { PROFILE_ROW } from "../../native/constants.ts";
import type { Now } from "../../system/now.ts";
import type { RecordRange } from "../../traffic/header-record.ts";
import type { IngressOf } from "../../traffic/ingress.ts";
import type { AttackFindings } from "../judge/detector.ts";
import type { Attack } from "./attack.ts";
import { type Groups, placeName } from "./attack-place.ts";
import { attackTraffic } from "./attack-traffic.ts";
import { type Classification, classify } from "./classifier.ts";
import { profileBeforeOnset } from "./onset-profile.ts";
import { classShares, unusualClasses } from "./ordinary-traffic.ts";
import type { PacketColumns } from "./packet-columns.ts";
import type { PacketReservoir } from "./packet-reservoir.ts";
import { type Sample, type SampleBounds, type SampledPacket, sampleOf } from "./sample.ts";
import type { OriginOf } from "./sample-origins.ts";
import { SampledProfile, type TrafficProfile } from "./traffic-profile.ts";
import { isNewKind, nextVerdict, type Verdict } from "./verdict.ts";

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
/** Fewer packets do not show the shares of the classes of packets. */
const ORDINARY_PACKETS_MIN = 256;

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
  /** null: the sample was complete before, or is taken by the next reading. */
  readonly sample: Sample | null;
  /** This reading completes the sample. */
  readonly isComplete: boolean;
  /** null: too few packets so far. */
  readonly classification: Classification | null;
  /** The first classification, or another kind than before. */
  readonly isNewKind: boolean;
  /** The same kind, now from many more packets: enough to find common fields. */
  readonly isFirmer: boolean;
  /** All kept packets of the place, until the next reading: those of the attack, and others that its host gets. */
  readonly columns: PacketColumns;
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

/** An attack in progress, as its readings leave it. */
export interface Watched {
  readonly reservoir: PacketReservoir;
  /** The packets that the last reading kept. */
  columns: PacketColumns;
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

/**
 * Before the sample is complete, takes all packets again, since it shows the time of detection; afterwards only the
 * newer ones. Returns the greatest age of a packet of this reading, ms.
 */
export function collect(watched: Watched, { records, from, end }: RecordRange, windowMs: number, now: Now): number {
  const { reservoir, isSampled, detectedMs, lastReadMs } = watched;
  // Old packets lose weight as fast as the rates: otherwise the packets of a flood dominate after it stopped.
  if (isSampled) reservoir.fade(0.5 ** (JUDGE_AGAIN_MS / Math.max(JUDGE_AGAIN_MS, windowMs)));
  else reservoir.clear();
  // While a flood begins, most of the window precedes it: the latest packets alone are used if they are enough.
  const enoughMs = end - from > PACKETS_KEPT ? records.ageMs(end - PACKETS_KEPT) : Number.POSITIVE_INFINITY;
  // Ages are whole ticks: a packet as old as the interval may have been read last time.
  const ageMaxMs = isSampled
    ? now.monotonicMs - lastReadMs - 1
    : Math.min(windowMs + now.monotonicMs - detectedMs, enoughMs);
  for (let i = from; i < end; i++) if (records.ageMs(i) <= ageMaxMs) reservoir.offer(records, i);
  watched.columns = reservoir.columns();
  if (!isSampled) watched.profile = withOnset(watched, { records, from, end }, windowMs + now.monotonicMs - detectedMs);
  return ageMaxMs;
}

/** The profile of a host; if it has hardly any, the packets before the attack in the window. */
function withOnset({ attack, profile }: Watched, range: RecordRange, ageMaxMs: number): TrafficProfile | null {
  const { target, direction } = attack;
  const isKnown = profile !== null && profile.packets.length >= PROFILE_ROW.recordsMax;
  if (isKnown || target === null || direction !== "incoming") return profile;
  return profileBeforeOnset(range, ageMaxMs, attackTraffic(attack).isPartOf) ?? profile;
}

/** Whether a reading is only for the kind of a new attack among very many, which rules wait for. */
export function isForKindOnly({ verdict, detectedMs }: Watched, now: Now): boolean {
  return verdict.held === null && now.monotonicMs - detectedMs < COMPLETION_MS;
}

/** Judges what was collected. @param isSampling false: without the flow sample, which is most of the work. */
export function judge(watched: Watched, policy: SamplingPolicy, now: Now, isSampling = true): Reading {
  const { attack, verdict, columns } = watched;
  const elapsedMs = now.monotonicMs - watched.detectedMs;
  const all = columns.glance();
  const isWanted = isSampling && !watched.isSampled;
  const isComplete = isWanted && (all.length >= COMPLETE_PACKETS || elapsedMs >= COMPLETION_MS);
  const sample = isWanted ? sampleOf(all, policy, policy.originOf, policy.ingressOf) : null;
  watched.isSampled ||= isComplete;
  watched.lastReadMs = now.monotonicMs;
  watched.dueMs = watched.isSampled ? now.monotonicMs + JUDGE_AGAIN_MS : now.monotonicMs;

  const { isPartOf, unit, timesThreshold } = attackTraffic(attack);
  const packets = all.filter(({ header }) => isPartOf(header));
  watched.profile ??= ordinaryProfile(attack, columns, all);
  if (packets.length >= PACKETS_MIN || elapsedMs >= COMPLETION_MS) {
    const gate = attack.reason.dominantShareGate;
    watched.verdict = nextVerdict(verdict, classify(packets, { gate, unit, timesThreshold, held: verdict.held }));
  }
  const { held } = watched.verdict;
  const isNew = isNewKind(verdict, watched.verdict);
  const isFirmer = held !== null && !isNew && packets.length >= FIRMER_FACTOR * watched.classifiedFrom;
  if (isNew || isFirmer) watched.classifiedFrom = packets.length;
  const target = placeName(attack);
  return { id: attack.id, target, sample, isComplete, classification: held, isNewKind: isNew, isFirmer, columns };
}

/**
 * An attack that shows nothing but what users send, in their shares, is users who exceed the threshold, or nothing
 * distinguishes it from them: what comes later is compared with it. null: there is more, or the packets are too few.
 */
function ordinaryProfile(attack: Attack, columns: PacketColumns, all: readonly SampledPacket[]): TrafficProfile | null {
  const { target, direction } = attack;
  if (target === null || direction !== "incoming" || all.length < ORDINARY_PACKETS_MIN) return null;
  const { timesThreshold } = attackTraffic(attack);
  if (unusualClasses(classShares(all), timesThreshold).size > 0) return null;
  // The columns are only those of this reading.
  return new SampledProfile(columns.copy(), null);
}
