/** A customer: a tenant, or a hostgroup that no tenant owns. Its incidents by day, and the trend. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { IncidentRowWire } from "../../src/http/wire/incident.ts";
import { t } from "../language.ts";
import { wholeNumber } from "./format/numbers.ts";
import { counted } from "./format/words.ts";

export interface Customer {
  readonly kind: "tenant" | "hostgroup";
  readonly name: string;
}

export interface Day {
  /** `2026-03-01`, in the browser's time zone. */
  readonly day: string;
  readonly incidents: number;
  readonly attacks: number;
  /** The highest of them. */
  readonly peakMbps: number;
  /** Error of that peak, a fraction of it; undefined: it is exact. */
  readonly peakError: number | undefined;
}

const DAY_MS = 86_400_000;
const TREND_DAYS = 7;

export function customerOf({ tenant, group }: Pick<AttackWire, "tenant" | "group">): Customer {
  return tenant === undefined ? { kind: "hostgroup", name: group } : { kind: "tenant", name: tenant };
}

/** The place of its page. */
export function customerSteps({ kind, name }: Customer): string[] {
  return ["incidents", "of", kind, name];
}

/** null: it is none. */
export function customerOfSteps([of, kind, name]: readonly string[]): Customer | null {
  if (of !== "of" || name === undefined) return null;
  return kind === "tenant" || kind === "hostgroup" ? { kind, name } : null;
}

export function customerPath({ kind, name }: Customer): string {
  return `/api/v1/incidents?${new URLSearchParams({ [kind]: name })}`;
}

/** A hostgroup of a tenant has incidents of that tenant, which is the customer. */
export function incidentsOf({ kind }: Customer, incidents: readonly IncidentRowWire[]): readonly IncidentRowWire[] {
  return kind === "tenant" ? incidents : incidents.filter(({ tenant }) => tenant === undefined);
}

/** Days with an incident, the newest first, by the day on which it began. */
export function byDay(incidents: readonly IncidentRowWire[]): Day[] {
  const days = Map.groupBy(incidents, ({ started_at: at }) => dayOf(Date.parse(at)));
  return [...days]
    .map(([day, own]) => {
      const highest = own.reduce((most, one) => (one.peak_mbps > most.peak_mbps ? one : most));
      return {
        day,
        incidents: own.length,
        attacks: own.reduce((sum, { attacks }) => sum + attacks, 0),
        peakMbps: highest.peak_mbps,
        peakError: highest.peak_sampling_error,
      };
    })
    .sort((a, b) => (a.day < b.day ? 1 : -1));
}

/** Numbers of attacks: `7 (2 incidents) in the last 7 days; 1 (1 incident) in the 7 days before`. */
export function trendText(incidents: readonly IncidentRowWire[], nowMs: number): string {
  const between = (fromDays: number, toDays: number) =>
    incidents.filter(({ started_at: at }) => {
      const age = (nowMs - Date.parse(at)) / DAY_MS;
      return age >= fromDays && age < toDays;
    });
  const said = (own: readonly IncidentRowWire[]) => {
    const attacks = own.reduce((sum, incident) => sum + incident.attacks, 0);
    return own.length === 0 ? t`none` : `${wholeNumber(attacks)} (${counted(own.length, "incident")})`;
  };
  const [last, before] = [between(0, TREND_DAYS), between(TREND_DAYS, 2 * TREND_DAYS)].map(said);
  return t`${last} in the last ${TREND_DAYS} days; ${before} in the ${TREND_DAYS} days before`;
}

function dayOf(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}
