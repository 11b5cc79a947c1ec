/**
 * Which targets get an event: the routes are read from the first on, and the first that matches decides, unless it goes on.
 * The end of a problem goes to the targets that got its begin, whatever the routes say by then. Knows no clock.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { TenantTarget } from "../targets/tenant-target.ts";
import { METRICS } from "../traffic/rates.ts";
import type { LeftProblem, NotifyEvent } from "./event.ts";
import type { Hours, NotifyConfig, NotifyRoute, RouteMatch, TargetKind } from "./notify-config.ts";
import { problemOf } from "./problem.ts";
import { isAtLeast, severityOf } from "./severity.ts";

/** Problems whose targets are known; over it the oldest is forgotten, and its end goes by the routes. */
export const PROBLEMS_MAX = 4096;
const DAY_MS = 86_400_000;
const [PPS, MBPS] = [METRICS.indexOf("pps"), METRICS.indexOf("mbps")];

/** Services that keep an alert open until its end, and ignore the end of one that they do not have. */
export const KEEP_ALERTS: ReadonlySet<TargetKind> = new Set<TargetKind>(["pagerduty", "opsgenie", "alertmanager"]);

interface Notified {
  /** Of the begin. After a reload, another tenant may own the victim: its events are not for the targets of the first. */
  readonly tenant: Tenant;
  /** When each target got the last event. */
  readonly at: Map<string, number>;
}

/** Targets of a tenant that does not own a problem any more. */
export interface Left {
  readonly problem: LeftProblem;
  readonly targets: readonly string[];
  readonly tenant: Tenant;
}

export class Routing {
  #config: NotifyConfig;
  /** By name, those of the configuration, in its order. */
  #configuredNames: ReadonlySet<string>;
  /** That tenants set, in force, by id, and those of each tenant. */
  #own = new Map<string, TenantTarget>();
  #ownByTenant = new Map<string, ReadonlyMap<string, TenantTarget>>();
  /** By problem. The one whose last event is oldest is first. */
  readonly #notified = new Map<string, Notified>();

  constructor(config: NotifyConfig) {
    this.#config = config;
    this.#configuredNames = namesOf(config);
  }

  reconfigure(config: NotifyConfig, own: readonly TenantTarget[] = []): void {
    this.#config = config;
    this.#configuredNames = namesOf(config);
    this.#own = new Map(own.map((target) => [target.id, target]));
    const byTenant = Map.groupBy(own, ({ tenant }) => tenant);
    this.#ownByTenant = new Map(
      [...byTenant].map(([tenant, all]) => [tenant, new Map(all.map((one) => [one.id, one]))]),
    );
  }

  /** @param target null: it is not in force any more. */
  ownChanged(id: string, target: TenantTarget | null): void {
    const tenant = target?.tenant ?? this.#own.get(id)?.tenant;
    if (tenant === undefined) return;
    const all = new Map(this.#ownByTenant.get(tenant));
    if (target === null) this.#own.delete(id);
    else this.#own.set(id, target);
    if (target === null) all.delete(id);
    else all.set(id, target);
    if (all.size === 0) this.#ownByTenant.delete(tenant);
    else this.#ownByTenant.set(tenant, all);
  }

  /** Names, each once, in the order of the configuration. */
  targetsOf(event: NotifyEvent): readonly string[] {
    return this.#ordered(this.#wanted(event));
  }

  /**
   * The targets of a tenant that owned the problem until now, each once: call this before targetsOf(). null: its owner is
   * the same, or none of its targets knows of it.
   */
  leave(event: NotifyEvent): Left | null {
    const problem = problemOf(event);
    const notified = problem === null ? undefined : this.#notified.get(problem.key);
    if (problem === null || notified === undefined || notified.tenant === event.tenant) return null;
    const targets = [...notified.at.keys()].filter((name) => this.#own.get(name)?.tenant === notified.tenant);
    for (const name of targets) notified.at.delete(name);
    const [type, id = ""] = problem.key.split(" ", 2);
    // Nothing else is of a tenant.
    if (targets.length === 0 || (type !== "attack" && type !== "ban")) return null;
    return { problem: { type, id }, targets, tenant: notified.tenant };
  }

  /** Those targets of an attack that lasts for which a repetition is due. */
  dueFor(event: NotifyEvent): readonly string[] {
    const notified = this.#notified.get(problemOf(event)?.key ?? "")?.at;
    if (notified === undefined || this.#config.routes === null) return [];
    const due = new Set<string>();
    for (const { targets, repeatMs } of this.#matching(event))
      for (const target of targets) {
        const lastMs = notified.get(target);
        if (repeatMs !== null && lastMs !== undefined && event.atMs - lastMs >= repeatMs) due.add(target);
      }
    for (const target of due) notified.set(target, event.atMs);
    return this.#ordered(due);
  }

  /** Whether targets got the begin of the problem. */
  hasNotified(key: string): boolean {
    return this.#notified.has(key);
  }

  #wanted(event: NotifyEvent): ReadonlySet<string> {
    const problem = problemOf(event);
    const notified = problem === null ? undefined : this.#notified.get(problem.key);
    const byRoutes = this.#matching(event).flatMap(({ targets }) => targets);
    if (problem === null) return new Set(byRoutes);
    const known = this.#ordered(new Set(notified?.at.keys()));
    const isSameOwner = notified === undefined || notified.tenant === event.tenant;
    if (problem.isOver) {
      this.#notified.delete(problem.key);
      if (!isSameOwner) return new Set([...known, ...byRoutes]);
      return new Set(known.length > 0 ? known : [...byRoutes, ...this.#alerts(event)]);
    }
    const wanted = new Set([...(isSameOwner ? known : []), ...byRoutes]);
    this.#remember(problem.key, wanted, event);
    return wanted;
  }

  /** An end whose begin is not known, as after a restart, must close alerts all the same. */
  #alerts({ tenant }: NotifyEvent): readonly string[] {
    const own = this.#ownOf(tenant).filter(({ kind }) => KEEP_ALERTS.has(kind));
    const configured = this.#config.targets.filter(({ settings }) => KEEP_ALERTS.has(settings.kind));
    return [...configured.map(({ name }) => name), ...own.map(({ id }) => id)];
  }

  #ownOf(tenant: Tenant): readonly TenantTarget[] {
    return tenant === null ? [] : [...(this.#ownByTenant.get(tenant)?.values() ?? [])];
  }

  /** Those that there are, those of tenants after those of the configuration. */
  #ordered(names: ReadonlySet<string>): readonly string[] {
    const configured = [...this.#configuredNames].filter((name) => names.has(name));
    return [...configured, ...[...names].filter((name) => this.#own.has(name))];
  }

  /** Tenants get what is of them, whatever the routes of the configuration say, and nothing else. */
  #matching(event: NotifyEvent): readonly Pick<NotifyRoute, "targets" | "repeatMs">[] {
    const own = this.#ownOf(event.tenant)
      .filter((target) => isForTenant(target, event))
      .map(({ id }) => ({ targets: [id], repeatMs: null }));
    return [...this.#configured(event), ...own];
  }

  #configured(event: NotifyEvent): readonly Pick<NotifyRoute, "targets" | "repeatMs">[] {
    const { routes, targets } = this.#config;
    // Orders are many, and people who place them know of them: only a route sends them.
    if (routes === null) return "orders" in event ? [] : [{ targets: targets.map(({ name }) => name), repeatMs: null }];
    const matching: NotifyRoute[] = [];
    for (const route of routes) {
      if (!isMatched(route.match, event)) continue;
      matching.push(route);
      if (!route.continues) break;
    }
    return matching;
  }

  #remember(key: string, targets: ReadonlySet<string>, { tenant, atMs }: NotifyEvent): void {
    this.#notified.delete(key);
    if (targets.size === 0) return;
    this.#notified.set(key, { tenant, at: new Map([...targets].map((target) => [target, atMs])) });
    const [oldest] = this.#notified.keys();
    if (this.#notified.size > PROBLEMS_MAX && oldest !== undefined) this.#notified.delete(oldest);
  }
}

function namesOf({ targets }: NotifyConfig): ReadonlySet<string> {
  return new Set(targets.map(({ name }) => name));
}

function isForTenant({ severity = "info", events }: TenantTarget, event: NotifyEvent): boolean {
  const isWanted = events === undefined ? !("orders" in event) : events.includes(event.kind);
  return isWanted && isAtLeast(severityOf(event), severity);
}

function isMatched(match: RouteMatch, event: NotifyEvent): boolean {
  const { tenants, hostgroups, events, severity, minPps, minMbps, hours } = match;
  const { tenant, group } = event;
  const rates = "attack" in event ? event.attack.rates : null;
  const reaches = (least: number | undefined, metric: number) =>
    least === undefined || (rates !== null && (rates[metric] ?? 0) >= least);
  return (
    (tenants === undefined || (tenant !== null && tenants.has(tenant))) &&
    (hostgroups === undefined || (group !== null && hostgroups.has(group))) &&
    (events === undefined || events.has(event.kind)) &&
    (severity === undefined || isAtLeast(severityOf(event), severity)) &&
    reaches(minPps, PPS) &&
    reaches(minMbps, MBPS) &&
    (hours === undefined || isWithin(hours, event.atMs))
  );
}

/** A part over midnight belongs to the day on which it begins. */
function isWithin({ days, from, to }: Hours, wallMs: number): boolean {
  const minute = Math.floor((wallMs % DAY_MS) / 60_000);
  const today = new Date(wallMs).getUTCDay();
  if (from < to) return minute >= from && minute < to && days.has(today);
  if (minute >= from) return days.has(today);
  return minute < to && days.has((today + 6) % 7);
}
