/**
 * The attacks of one incident: which last, what they were together, and whom they hit. Lists up to INCIDENT_MEMBERS_KEPT of
 * them; further ones count, and replace those that ended first. Times are wall clock, ms.
 */
import { type Attack, isActive } from "../detection/attack/attack.ts";
import { parseAddress } from "../net/address.ts";
import { canonicalPrefix, enclosingPrefix, type Prefix, prefixContains } from "../net/prefix.ts";
import { higher, type Incident, type Member, NO_PEAKS, NO_SUMS, type Peaks, type Sums } from "./incident.ts";

/** Attacks that an incident lists. */
export const INCIDENT_MEMBERS_KEPT = 1000;

/** Prefixes of an incident that are listed, those with the most victims first. */
const PREFIXES_SHOWN = 32;
/** Lengths of prefixes by which victims are listed: a network as it is announced at its smallest. */
const PREFIX_LENGTHS = { 4: 24, 6: 48 } as const;

interface VictimPrefix {
  readonly prefix: string;
  readonly victims: number;
}

export interface Victims {
  /** Different addresses and prefixes among the listed attacks. */
  readonly count: number;
  readonly prefixes: readonly VictimPrefix[];
  /** The number of all prefixes, also those that are not listed. */
  readonly prefixCount: number;
}

export const NO_VICTIMS: Victims = { count: 0, prefixes: [], prefixCount: 0 };

/** The kind of an attack is known within this time, or never, ms. */
const KIND_KNOWN_MS = 60_000;

/** By the configuration in force; null: no tenant. */
export type OwnerOf = (of: Pick<Attack, "target" | "group">) => string | null;

type Record = Pick<Incident, "lastEndedAt" | "attacks" | "members" | "ended" | "peaks" | "worst">;

export class IncidentAttacks {
  /** Oldest first. */
  readonly #members = new Map<string, Member>();
  /** As they were last seen. */
  readonly #active = new Map<string, Attack>();
  /** Those of them that are spread over a prefix: few. */
  readonly #spread = new Map<string, Prefix>();
  /** The counted share of each attack that lasts, see #count(). */
  readonly #shares = new Map<string, Share>();
  /** Among the listed ones. */
  #over = 0;
  #attacks = 0;
  #ended: Sums = NO_SUMS;
  #peaks: Peaks = NO_PEAKS;
  #worst: Incident["worst"] = null;
  #lastEndedAt: number;
  #victims: Victims | null = null;

  constructor(startedAt: number) {
    this.#lastEndedAt = startedAt;
  }

  /** Attacks that lasted when the record was written, and do not any more, ended then for all that is known. */
  static restored(record: Record & { readonly startedAt: number }, active: readonly Attack[]): IncidentAttacks {
    const restored = new IncidentAttacks(record.startedAt);
    const lasts = new Set(active.map(({ id }) => id));
    restored.#attacks = record.attacks;
    // Earlier versions did not write all of it.
    restored.#ended = { ...NO_SUMS, ...record.ended };
    restored.#peaks = record.peaks;
    restored.#worst = record.worst;
    restored.#lastEndedAt = record.lastEndedAt;
    for (const member of record.members) {
      const isLost = member.endedAt === null && !lasts.has(member.id);
      const endedAt = Math.max(record.lastEndedAt, member.startedAt);
      restored.#members.set(member.id, isLost ? { ...member, endedAt } : member);
      if (isLost || member.endedAt !== null) restored.#over++;
      if (isLost) restored.#ended = plus(restored.#ended, UNKNOWN);
    }
    for (const attack of active) {
      // It began after the record was written, or is not listed.
      const isNew = !restored.#members.has(attack.id) && restored.isWhole;
      if (isNew) restored.add(attack, attack.classification !== null);
      else restored.#keep(attack);
    }
    for (const attack of active) restored.#count(attack);
    return restored;
  }

  get active(): number {
    return this.#active.size;
  }

  get attacks(): number {
    return this.#attacks;
  }

  /** How many of them are listed. */
  get listed(): number {
    return this.#members.size;
  }

  /** The end of the attack that ended last. */
  get lastEndedAt(): number {
    return this.#lastEndedAt;
  }

  has(id: string): boolean {
    return this.#active.has(id);
  }

  member(id: string): Member | null {
    return this.#members.get(id) ?? null;
  }

  /** One that lasts. */
  add(attack: Attack, isPlaced: boolean): void {
    this.#attacks++;
    this.#keep(attack);
    this.#count(attack);
    this.#victims = null;
    if (this.#members.size >= INCIDENT_MEMBERS_KEPT) {
      // Not looked for in vain: of a large attack all last.
      const oldest = this.#over === 0 ? undefined : this.#members.values().find(({ endedAt }) => endedAt !== null);
      if (oldest === undefined) return;
      this.#members.delete(oldest.id);
      this.#over--;
    }
    this.#members.set(attack.id, memberOf(attack, isPlaced));
  }

  /** Listed attacks that go into no other incident, the oldest first. */
  *settled(wallMs: number): Generator<string> {
    for (const { id } of this.#members.values()) if (this.isSettled(id, wallMs)) yield id;
  }

  isSettled(id: string, wallMs: number): boolean {
    const member = this.#members.get(id);
    return member !== undefined && (member.isPlaced || wallMs - member.startedAt > KIND_KNOWN_MS);
  }

  /** Its kind was known, and stays. */
  place(id: string): void {
    const member = this.#members.get(id);
    if (member !== undefined) this.#members.set(id, { ...member, isPlaced: true });
  }

  /** One that lasts and belongs to another incident. */
  remove(id: string): void {
    this.#attacks--;
    this.#leave(id);
    this.#members.delete(id);
    this.#victims = null;
    if (this.#worst?.id !== id) return;
    this.#worst = null;
    for (const member of this.#members.values()) this.#compare(member.id, member.peakBps);
  }

  /** The rates of attacks that last, about once a second. */
  see(attacks: readonly Attack[]): void {
    for (const attack of attacks) this.#keep(attack);
    for (const attack of attacks) this.#count(attack);
    const ranked = this.#ranked(attacks);
    this.#rank(ranked);
    this.#peaks = peaksOf(this.#peaks, this.#ranked(this.#countedOnce()));
  }

  end(attack: Attack): void {
    const endedAt = attack.endedAt ?? attack.startedAt;
    const member = this.#members.get(attack.id);
    const { counted } = this.#count(attack);
    this.#leave(attack.id);
    if (member !== undefined) {
      this.#members.set(attack.id, { ...memberOf(attack, member.isPlaced), endedAt });
      this.#over++;
    }
    this.#rank([attack]);
    const { peakPps = 0, peakBps = 0, peakError = 0 } = attack.volume ?? {};
    this.#peaks = {
      packets: higher(this.#peaks.packets, { rate: peakPps, error: peakError }),
      bits: higher(this.#peaks.bits, { rate: peakBps, error: peakError }),
    };
    this.#ended = plus(this.#ended, counted);
    this.#lastEndedAt = Math.max(this.#lastEndedAt, endedAt);
  }

  /** Sums of attacks that ended and those that last. */
  get sums(): Sums {
    return this.#shares.values().reduce((sum, { counted }) => plus(sum, counted), this.#ended);
  }

  /** Victims of the listed attacks; null: a whole hostgroup. */
  *victimTexts(): Generator<string | null> {
    for (const { victim } of this.#members.values()) yield victim;
  }

  /**
   * The owner of all listed attacks; null: there are several, or none. What ended and has no victim of its own was on the
   * hostgroup.
   */
  owner(ownerOf: OwnerOf, group: string): string | null {
    let owner: string | null | undefined;
    for (const { id, victim } of this.#members.values()) {
      const target = victim === null ? null : (parseAddress(victim) ?? canonicalPrefix(victim).address);
      const of = ownerOf(this.#active.get(id) ?? { target, group });
      if (owner !== undefined && of !== owner) return null;
      owner = of;
    }
    return owner === undefined ? ownerOf({ target: null, group }) : owner;
  }

  get victims(): Victims {
    this.#victims ??= victimsOf([...this.#members.values()]);
    return this.#victims;
  }

  /** Whether every attack is listed, and so every victim. */
  get isWhole(): boolean {
    return this.#members.size >= this.#attacks;
  }

  /** Oldest first, those that last with their rates so far. */
  members(): readonly Member[] {
    return [...this.#members.values()].map((member) => {
      const attack = this.#active.get(member.id);
      return attack === undefined ? member : memberOf(attack, member.isPlaced);
    });
  }

  record(): Record {
    return {
      lastEndedAt: this.#lastEndedAt,
      attacks: this.#attacks,
      members: this.members(),
      ended: this.#ended,
      peaks: this.#peaks,
      worst: this.#worst,
    };
  }

  get peaks(): Peaks {
    return this.#peaks;
  }

  get worst(): Incident["worst"] {
    return this.#worst;
  }

  #rank(attacks: readonly Attack[]): void {
    for (const attack of attacks) this.#compare(attack.id, peakOf(attack).peakBps);
  }

  #compare(id: string, bps: number): void {
    if (bps > (this.#worst?.bps ?? 0)) this.#worst = { id, bps };
  }

  /** An attack whose kind is not known yet may belong to another incident: beside others it does not rank. */
  #ranked(attacks: readonly Attack[]): readonly Attack[] {
    const isPlaced = (id: string) => this.#members.get(id)?.isPlaced !== false;
    if (!this.#members.values().some((member) => member.isPlaced)) return attacks;
    return attacks.filter(({ id }) => isPlaced(id));
  }

  /** Adds what was counted since the last time, unless it is part of a spread attack that lasts now. */
  #count(attack: Attack): Share {
    const { last, counted } = this.#shares.get(attack.id) ?? { last: NO_SUMS, counted: NO_SUMS };
    const now = sumsOf(attack);
    const share = { last: now, counted: this.#isWithin(attack) ? counted : grown(counted, last, now) };
    this.#shares.set(attack.id, share);
    return share;
  }

  /** The traffic of a host within a spread attack is a part of that one's. */
  #countedOnce(): Attack[] {
    return [...this.#active.values()].filter((attack) => !this.#isWithin(attack));
  }

  #isWithin({ id, target }: Attack): boolean {
    if (target === null) return false;
    for (const [other, prefix] of this.#spread) if (other !== id && prefixContains(prefix, target)) return true;
    return false;
  }

  #keep(attack: Attack): void {
    this.#active.set(attack.id, attack);
    if (!this.#shares.has(attack.id)) this.#shares.set(attack.id, { last: NO_SUMS, counted: NO_SUMS });
    if (attack.carpet !== null) this.#spread.set(attack.id, canonicalPrefix(attack.carpet.prefix));
  }

  #leave(id: string): void {
    this.#active.delete(id);
    this.#shares.delete(id);
    this.#spread.delete(id);
  }
}

interface Share {
  /** Sums of the attack when it was last looked at. */
  readonly last: Sums;
  /** The part of it that is in the sums of the incident. */
  readonly counted: Sums;
}

/** The gaps are those of now. */
function grown(counted: Sums, last: Sums, now: Sums): Sums {
  return {
    packets: counted.packets + now.packets - last.packets,
    bits: counted.bits + now.bits - last.bits,
    droppedPackets: counted.droppedPackets + now.droppedPackets - last.droppedPackets,
    droppedBits: counted.droppedBits + now.droppedBits - last.droppedBits,
    unmeasured: now.unmeasured,
    unaccounted: now.unaccounted,
    uncounted: now.uncounted,
    estimated: now.estimated,
  };
}

const UNKNOWN: Sums = { ...NO_SUMS, unmeasured: 1, unaccounted: 1 };

function plus(a: Sums, b: Sums): Sums {
  return {
    packets: a.packets + b.packets,
    bits: a.bits + b.bits,
    droppedPackets: a.droppedPackets + b.droppedPackets,
    droppedBits: a.droppedBits + b.droppedBits,
    unmeasured: a.unmeasured + b.unmeasured,
    unaccounted: a.unaccounted + b.unaccounted,
    uncounted: a.uncounted + b.uncounted,
    estimated: a.estimated + b.estimated,
  };
}

/** An attack that has just begun has no counts yet, which is no gap. */
function sumsOf(attack: Attack): Sums {
  const { volume } = attack;
  if (volume === null) return isActive(attack) ? NO_SUMS : UNKNOWN;
  const { packets, bits, dropped, notCounted, peakError } = volume;
  return {
    packets,
    bits,
    // The first and the last dropped packets may be of ticks that are no part of the volume.
    droppedPackets: Math.min(packets, dropped?.packets ?? 0),
    droppedBits: Math.min(bits, dropped?.bits ?? 0),
    unmeasured: 0,
    // Without causes only the drops of its ban's rules are known.
    unaccounted: dropped?.by === undefined ? 1 : 0,
    uncounted: notCounted === undefined ? 0 : 1,
    estimated: peakError === undefined ? 0 : 1,
  };
}

function memberOf(attack: Attack, isPlaced: boolean): Member {
  const { id, target, carpet, startedAt, endedAt } = attack;
  return { id, victim: carpet?.prefix ?? target, startedAt, endedAt, ...peakOf(attack), isPlaced };
}

function peakOf({ volume, rates }: Attack): { readonly peakPps: number; readonly peakBps: number } {
  return { peakPps: volume?.peakPps ?? rates[0] ?? 0, peakBps: volume?.peakBps ?? (rates[1] ?? 0) * 1e6 };
}

/** Rates of different victims are estimated from different packets: the squares of their errors add up. */
function peaksOf(before: Peaks, attacks: readonly Attack[]): Peaks {
  let [pps, bps, ppsSquares, bpsSquares] = [0, 0, 0, 0];
  for (const { rates, samplingError } of attacks) {
    const [packets, bits] = [rates[0] ?? 0, (rates[1] ?? 0) * 1e6];
    pps += packets;
    bps += bits;
    ppsSquares += (packets * (samplingError?.pps ?? 0)) ** 2;
    bpsSquares += (bits * (samplingError?.mbps ?? 0)) ** 2;
  }
  return {
    packets: higher(before.packets, { rate: pps, error: Math.sqrt(ppsSquares) / Math.max(pps, 1) }),
    bits: higher(before.bits, { rate: bps, error: Math.sqrt(bpsSquares) / Math.max(bps, 1) }),
  };
}

function victimsOf(members: readonly Member[]): Victims {
  const victims = new Set(members.map(({ victim }) => victim).filter((victim) => victim !== null));
  const counts = new Map<string, number>();
  for (const victim of victims) {
    const prefix = prefixAround(victim);
    counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  }
  const prefixes = [...counts].map(([prefix, count]) => ({ prefix, victims: count }));
  const largest = prefixes.toSorted((a, b) => b.victims - a.victims || (a.prefix < b.prefix ? -1 : 1));
  return { count: victims.size, prefixes: largest.slice(0, PREFIXES_SHOWN), prefixCount: prefixes.length };
}

/** A spread attack has its own prefix. */
function prefixAround(victim: string): string {
  const address = parseAddress(victim);
  if (address === null) return victim;
  return enclosingPrefix(address, PREFIX_LENGTHS[address.includes(":") ? 6 : 4]).text;
}
