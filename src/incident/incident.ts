/**
 * One incident: the attacks on one customer, of one kind and direction, that follow each other without a long pause
 * (docs/interface.md#incident). This is the record that is stored. Times are wall clock, ms.
 */
import type { Direction } from "../traffic/rates.ts";
import type { Work } from "./work.ts";

/** An attack that begins after a longer pause than this begins a new incident. */
export const INCIDENT_QUIET_MS = 600_000;

/** `active`: an attack lasts. `quiet`: a further one would still join. `closed`: it would not. */
export const INCIDENT_STATES = ["active", "quiet", "closed"] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

/** An attack of an incident. */
export interface Member {
  readonly id: string;
  /** The address, or the prefix of an attack that is spread; null: the whole hostgroup. */
  readonly victim: string | null;
  readonly startedAt: number;
  /** null: it lasts. */
  readonly endedAt: number | null;
  /** The highest rates of the attack so far, per second. */
  readonly peakPps: number;
  readonly peakBps: number;
  /** Whether its kind was known when it was put here: then it stays. */
  readonly isPlaced: boolean;
}

/** The ledgers of ended attacks added up. */
export interface Sums {
  readonly packets: number;
  readonly bits: number;
  readonly droppedPackets: number;
  readonly droppedBits: number;
  /** Attacks whose volume, and whose drops, are not known: then the sum is not known either. */
  readonly unmeasured: number;
  readonly unaccounted: number;
  /** Attacks that lasted while the service did not run: the sums lack that time. */
  readonly uncounted: number;
  /** Attacks whose volume is estimated from samples. */
  readonly estimated: number;
}

export const NO_SUMS: Sums = {
  packets: 0,
  bits: 0,
  droppedPackets: 0,
  droppedBits: 0,
  unmeasured: 0,
  unaccounted: 0,
  uncounted: 0,
  estimated: 0,
};

/** The highest rate of all attacks together. */
export interface PeakRate {
  /** Per second. */
  readonly rate: number;
  /** Half the width of the 95 % interval, as a fraction of the rate; 0: exact. */
  readonly error: number;
}

export interface Peaks {
  readonly packets: PeakRate;
  readonly bits: PeakRate;
}

const NO_RATE: PeakRate = { rate: 0, error: 0 };
export const NO_PEAKS: Peaks = { packets: NO_RATE, bits: NO_RATE };

/** The customer, kind and direction that the attacks of an incident have in common. */
export interface IncidentKey {
  /** Owner of the victims; null: no tenant, and the customer is the hostgroup. */
  readonly tenant: string | null;
  /** The hostgroup of the first attack. */
  readonly group: string;
  readonly direction: Direction;
  /** null: not known yet, or never: samples are off. */
  readonly kind: string | null;
}

export interface Incident extends IncidentKey {
  readonly id: string;
  /** Other ids of it, of this brain or of others; absent: none. */
  readonly aliases?: readonly string[];
  readonly startedAt: number;
  /** The end of the attack that ended last; the start of the incident while none has. */
  readonly lastEndedAt: number;
  /** All attacks, also those that are not listed. */
  readonly attacks: number;
  /** The attacks, oldest first, up to INCIDENT_MEMBERS_KEPT. */
  readonly members: readonly Member[];
  /** Sums of ended attacks. */
  readonly ended: Sums;
  readonly peaks: Peaks;
  /** The attack with the most bits per second. */
  readonly worst: { readonly id: string; readonly bps: number } | null;
  /** Texts and decisions of people. */
  readonly work: Work;
}

export function stateOf(
  { active, lastEndedAt }: { readonly active: number; readonly lastEndedAt: number },
  nowMs: number,
): IncidentState {
  if (active > 0) return "active";
  return nowMs - lastEndedAt < INCIDENT_QUIET_MS ? "quiet" : "closed";
}

/** The same for all hostgroups of a tenant. */
export function customerOf({ tenant, group }: Pick<IncidentKey, "tenant" | "group">): string {
  return JSON.stringify(tenant === null ? [group] : [tenant, null]);
}

/** The better known of two peaks is the higher one. */
export function higher(a: PeakRate, b: PeakRate): PeakRate {
  return b.rate > a.rate ? b : a;
}

export type Severity = "low" | "medium" | "high" | "critical";

/** Shares of the links' capacity from which an incident is medium, high and critical. */
const SEVERITIES = [
  [1, "critical"],
  [0.5, "high"],
  [0.1, "medium"],
] as const;

/** By the peak of an incident. @param linkMbps capacity of all links together; null: not known. */
export function severityOf(
  { bits }: Peaks,
  linkMbps: number | null,
): { readonly severity: Severity; readonly linkShare: number } | null {
  if (linkMbps === null || linkMbps <= 0) return null;
  const linkShare = bits.rate / (linkMbps * 1e6);
  return { severity: SEVERITIES.find(([share]) => linkShare >= share)?.[1] ?? "low", linkShare };
}
