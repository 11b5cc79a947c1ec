/**
 * The tree of routes, in the manner of Alertmanager: an event goes down from the first route that takes it to the innermost
 * ones. Pure; knows neither targets nor problems.
 */

import type { Tenant } from "../access/fair-queue.ts";
import { localMs } from "../schema/time-zone.ts";
import { DAY_MS } from "../system/now.ts";
import type { EventKind, Severity } from "../targets/target-words.ts";
import { METRICS } from "../traffic/rates.ts";
import type { NotifyEvent } from "./event.ts";
import type { Hours, NotifyRoute, RouteMatch } from "./notify-config.ts";
import { isAtLeast, severityOf } from "./severity.ts";

const [PPS, MBPS] = [METRICS.indexOf("pps"), METRICS.indexOf("mbps")];

/** The fields that the conditions of routes look at. */
export interface RoutedEvent {
  readonly kind: EventKind;
  readonly severity: Severity;
  readonly tenant: Tenant;
  /** The hostgroup; null: of none. */
  readonly group: string | null;
  /** In all, of attacks; null: it has no rate. */
  readonly pps: number | null;
  readonly mbps: number | null;
  /** Wall clock, ms. */
  readonly atMs: number;
}

export function routedOf(event: NotifyEvent): RoutedEvent {
  const { kind, tenant, group, atMs } = event;
  const rates = "attack" in event ? event.attack.rates : [];
  return { kind, severity: severityOf(event), tenant, group, pps: rates[PPS] ?? null, mbps: rates[MBPS] ?? null, atMs };
}

/** The routes that decide: of each branch that takes the event the innermost one. */
export function takenBy(routes: readonly NotifyRoute[], event: RoutedEvent): readonly NotifyRoute[] {
  const found: NotifyRoute[] = [];
  for (const route of routes) {
    if (!isMatched(route.match, event)) continue;
    const inner = takenBy(route.routes, event);
    found.push(...(inner.length > 0 ? inner : [route]));
    if (!route.continues) break;
  }
  return found;
}

/** Whether the route sends nothing at this time. */
export function isQuiet({ quiet }: Pick<NotifyRoute, "quiet">, wallMs: number): boolean {
  return quiet.some((hours) => isWithin(hours, wallMs));
}

function isMatched(match: RouteMatch, { kind, severity, tenant, group, pps, mbps, atMs }: RoutedEvent): boolean {
  const reaches = (least: number | undefined, rate: number | null) =>
    least === undefined || (rate !== null && rate >= least);
  return (
    (match.tenants === undefined || (tenant !== null && match.tenants.has(tenant))) &&
    (match.hostgroups === undefined || (group !== null && match.hostgroups.has(group))) &&
    (match.events === undefined || match.events.has(kind)) &&
    (match.severity === undefined || isAtLeast(severity, match.severity)) &&
    reaches(match.minPps, pps) &&
    reaches(match.minMbps, mbps) &&
    (match.hours === undefined || isWithin(match.hours, atMs))
  );
}

/** A part over midnight belongs to the day on which it begins. */
function isWithin({ zone, days, from, to }: Hours, wallMs: number): boolean {
  const local = localMs(zone, wallMs);
  const minute = Math.floor((local % DAY_MS) / 60_000);
  const today = new Date(local).getUTCDay();
  if (from < to) return minute >= from && minute < to && days.has(today);
  if (minute >= from) return days.has(today);
  return minute < to && days.has((today + 6) % 7);
}
