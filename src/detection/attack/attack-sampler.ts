/**
 * Samples the packets of each attack: which attacks are read when, the worst first, and what is kept of each. Takes the
 * records of all attacks that are due in one crossing. What a reading says is in attack-reading.ts.
 */
import type { Now } from "../../system/now.ts";
import {
  HEADER_RECORD_BYTES,
  HeaderRecords,
  type HeaderSamples,
  type RecordRange,
} from "../../traffic/header-record.ts";
import { numberedIngress } from "../../traffic/ingress.ts";
import { outcomeOf, type PacketOutcome } from "../../traffic/packet-outcome.ts";
import type { CapturedPacket } from "../../traffic/pcap-file.ts";
import type { AttackChange } from "../judge/detector.ts";
import type { Attack } from "./attack.ts";
import { placesOf } from "./attack-place.ts";
import {
  collect,
  isForKindOnly,
  JUDGE_AGAIN_MS,
  judge,
  PACKETS_KEPT,
  type Reading,
  type SamplingPolicy,
  type Watched,
} from "./attack-reading.ts";
import { sizeOfRates } from "./attack-size.ts";
import { type AttackSources, sourcesOf } from "./attack-sources.ts";
import { attackTraffic } from "./attack-traffic.ts";
import type { KeptPacket, PacketCounts } from "./outcome-rings.ts";
import { NO_COLUMNS } from "./packet-columns.ts";
import { PacketReservoir } from "./packet-reservoir.ts";
import { RecentPackets, sampledPackets } from "./recent-packets.ts";
import { type CountedAttack, SampledAttack } from "./sampled-attack.ts";
import { seededDraws } from "./seeded-draws.ts";
import type { TrafficProfile, TrafficProfiles } from "./traffic-profile.ts";
import { NO_VERDICT } from "./verdict.ts";

/** Sampled packets kept for all attacks together; slightly more if there are very many attacks. */
export const SAMPLED_PACKETS_MAX = 65_536;

/** The minimum when there are many attacks. */
const PACKETS_KEPT_MIN = 32;
/**
 * Headers of one attack in one reading, and about those of all together: the reservoir draws from them, so that it does not
 * keep only the newest.
 */
const HEADERS_EACH_MAX = 8192;
const HEADERS_EACH_MIN = 64;
const HEADERS_MAX = 65_536;
/** With more attacks in one reading, those of unknown kind are only classified: their samples come with the next one. */
const SAMPLED_AT_ONCE = 128;
/** The newest of these, of each outcome, that are read and kept byte for byte: a bound on the time. */
const RECENT_LOOKED_AT = 512;
const RECENT_TAKEN = 256;

/** The attacks of one reading, in the order in which they are judged. */
interface Request {
  readonly due: readonly Watched[];
  readonly places: Uint8Array;
  readonly each: number;
}

/** An attack that was read before waits at most so much longer for its next reading, ms. */
const READ_AGAIN_LATER_MS = 2000;

export interface AttackSamplerOptions {
  /** null: none are kept. */
  readonly profiles?: Pick<TrafficProfiles, "of"> | null;
  /** The seed of the draws, see seeded-draws.ts. */
  readonly seed?: number;
}

export class AttackSampler {
  readonly #headers: HeaderSamples;
  readonly #profiles: Pick<TrafficProfiles, "of"> | null;
  readonly #seed: number;
  #policy: SamplingPolicy | null;
  /** By attack id. */
  readonly #watched = new Map<string, Watched>();
  #turns = 0;
  /** Records of the last reading; as large as the largest was. */
  #records = new HeaderRecords(HEADERS_EACH_MAX);
  #counts = new Uint32Array(0);
  readonly #recent = new RecentPackets();

  /** @param policy null: sampling is off. */
  constructor(
    headers: HeaderSamples,
    policy: SamplingPolicy | null,
    { profiles = null, seed = 0 }: AttackSamplerOptions = {},
  ) {
    this.#headers = headers;
    this.#profiles = profiles;
    this.#seed = seed;
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
        this.#recent.end(attack.id, attack.group);
      } else if (watched !== undefined) watched.attack = attack;
    }
  }

  /** Starts sampling an attack, also one restored from an earlier process. */
  begin(attack: Attack, now: Now): void {
    const { id, target, direction, metric, sample, classification } = attack;
    if (this.#policy === null) return;
    // Not by the id, which is another one on another machine.
    const draws = seededDraws(this.#seed, target ?? attack.carpet?.prefix ?? attack.group, direction, metric);
    this.#watched.set(id, {
      reservoir: new PacketReservoir(PACKETS_KEPT, draws),
      columns: NO_COLUMNS,
      profile: this.#profileOf(attack),
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

  /** Profiles of an earlier process are there: attacks that began before have them too. */
  profilesRestored(): void {
    for (const watched of this.#watched.values()) watched.profile ??= this.#profileOf(watched.attack);
  }

  /**
   * Whether a reading is due.
   * @param isBehind what follows from earlier readings is not done yet: attacks that were read wait READ_AGAIN_LATER_MS more.
   */
  isDue(now: Now, isBehind = false): boolean {
    for (const watched of this.#watched.values()) if (isDue(watched, now, isBehind)) return true;
    return false;
  }

  /**
   * One reading for each attack that is due: those never read come first, the largest of them before small ones, then
   * unclassified ones, then by the time since the last reading.
   */
  *readings(now: Now): Generator<Reading> {
    const request = this.#request(now);
    if (request === null) return;
    const { places, each } = request;
    this.#headers.readSamplesOf(places, this.#records.bytes, this.#counts, each);
    yield* this.#judged(request, now);
  }

  /**
   * The same with the crossing on another thread. One at a time. The generator takes the event loop about 50 µs a reading:
   * a caller pauses, and goes on before the next call. null: nothing is due.
   */
  async taken(now: Now, isBehind = false): Promise<Generator<Reading> | null> {
    const request = this.#request(now, isBehind);
    if (request === null) return null;
    const { places, each } = request;
    await this.#headers.readSamplesOfAsync(places, this.#records.bytes, this.#counts, each);
    return this.#judged(request, now);
  }

  /** The attack with the kept packets that its metrics count; null: there are none. */
  observed(attack: Pick<Attack, "id"> & CountedAttack): SampledAttack | null {
    const watched = this.#watched.get(attack.id);
    if (watched === undefined || !watched.columns.some(attackTraffic(attack).isPartOf)) return null;
    return new SampledAttack(attack, watched.columns, watched.profile);
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

  /** Sources of the kept packets while the attack lasts, then of its newest headers. */
  sourcesOf({ id }: Pick<Attack, "id">): AttackSources {
    const { top = 0, originOf = null, ingressOf = numberedIngress } = this.#policy ?? {};
    const packets = this.#watched.get(id)?.columns.packets() ?? sampledPackets(this.#recent.of(id));
    return sourcesOf(packets, { top, originOf, ingressOf });
  }

  #profileOf({ target, direction }: Attack): TrafficProfile | null {
    return target === null || direction === "outgoing" ? null : (this.#profiles?.of(target) ?? null);
  }

  #request(now: Now, isBehind = false): Request | null {
    const due = [...this.#watched.values()].filter((watched) => isDue(watched, now, isBehind));
    if (this.#policy === null || due.length === 0) return null;
    due.sort(readFirst);
    const each = Math.max(HEADERS_EACH_MIN, Math.min(HEADERS_EACH_MAX, Math.floor(HEADERS_MAX / due.length)));
    if (this.#records.bytes.length < due.length * each * HEADER_RECORD_BYTES) {
      this.#records = new HeaderRecords(due.length * each);
    }
    if (this.#counts.length < due.length) this.#counts = new Uint32Array(due.length);
    const places = placesOf(
      due.map(({ attack }) => attack),
      this.#policy,
    );
    return { due, places, each };
  }

  *#judged({ due }: Request, now: Now): Generator<Reading> {
    let from = 0;
    for (const [i, watched] of due.entries()) {
      const end = from + (this.#counts[i] as number);
      const range = { records: this.#records, from, end };
      from = end;
      const policy = this.#policy;
      if (policy === null) return;
      // It may have ended since.
      if (this.#watched.get(watched.attack.id) !== watched) continue;
      // First of all: an attack that cannot be judged must not be first again.
      watched.turn = ++this.#turns;
      watched.reservoir.resize(Math.max(this.#packetsEach(), watched.isSampled ? 0 : policy.flows));
      const wasSampled = watched.isSampled;
      const ageMaxMs = collect(watched, range, policy.windowMs, now);
      if (due.length > SAMPLED_AT_ONCE && isForKindOnly(watched, now)) {
        yield judge(watched, policy, now, false);
        continue;
      }
      if (!wasSampled) this.#recent.clear(watched.attack.id);
      // A rare outcome may have none among the latest.
      const keptMaxMs = wasSampled ? ageMaxMs : policy.windowMs + now.monotonicMs - watched.detectedMs;
      this.#recent.add(watched.attack.id, this.#newest(range, keptMaxMs, now));
      yield judge(watched, policy, now);
    }
  }

  /** The newest packets of the last reading, as views of it. */
  #newest({ records, from, end }: RecordRange, ageMaxMs: number, now: Now): KeptPacket[] {
    const newest: KeptPacket[] = [];
    const eachMax = Math.min(RECENT_TAKEN, this.#recent.each);
    const lookedAt = new Map<PacketOutcome | null, { seen: number; taken: number }>();
    for (let i = end - 1; i >= from && records.ageMs(i) <= ageMaxMs; i--) {
      const verdict = records.verdict(i);
      const outcome = verdict === null ? null : outcomeOf(verdict);
      const own = lookedAt.get(outcome) ?? { seen: 0, taken: 0 };
      if (own.seen === 0) lookedAt.set(outcome, own);
      if (own.seen++ >= RECENT_LOOKED_AT || own.taken >= eachMax) continue;
      own.taken++;
      const atMs = now.wallMs - records.ageMs(i);
      newest.push({ atMs, wireBytes: records.wireBytes(i), frame: records.frame(i), outcome });
    }
    return newest.reverse();
  }

  #packetsEach(): number {
    const share = Math.floor(SAMPLED_PACKETS_MAX / this.#watched.size);
    return Math.max(PACKETS_KEPT_MIN, Math.min(PACKETS_KEPT, share));
  }
}

/** Very many small attacks must not delay the rules of a large one. */
function readFirst(a: Watched, b: Watched): number {
  if (a.turn === 0 && b.turn === 0) return sizeOfRates(b.attack.rates) - sizeOfRates(a.attack.rates);
  if (a.turn === 0 || b.turn === 0) return a.turn === 0 ? -1 : 1;
  return Number(a.verdict.held !== null) - Number(b.verdict.held !== null) || a.turn - b.turn;
}

/** During a calm phase there are no packets of the attack: the classification stays. */
function isDue({ attack, isSampled, dueMs }: Watched, now: Now, isBehind: boolean): boolean {
  const laterMs = isBehind && isSampled ? READ_AGAIN_LATER_MS : 0;
  return dueMs + laterMs <= now.monotonicMs && (!isSampled || attack.calmSinceMs === null);
}
