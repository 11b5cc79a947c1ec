/**
 * Which targets get an event: the tree of routes says it, for the end of a problem its begin does: it goes to the targets that
 * got that, whatever the routes say by then. Knows no clock.
 */
import type { Tenant } from "../access/fair-queue.ts";
import type { RouteView } from "../http/wire/notify-route.ts";
import { pathText } from "../schema/problem.ts";
import type { EventKind, TargetKind } from "../targets/target-words.ts";
import type { TenantTarget } from "../targets/tenant-target.ts";
import type { LeftProblem, NotifyEvent } from "./event.ts";
import { type Notified, NotifiedProblems } from "./notified-problems.ts";
import { ALERT_LASTS_MS, type NotifyConfig, type NotifyRoute } from "./notify-config.ts";
import { problemOf } from "./problem.ts";
import { isQuiet, type RoutedEvent, routedOf, takenBy } from "./route-tree.ts";
import { isAtLeast } from "./severity.ts";

/** Services that keep an alert open until its end, and ignore the end of one that they do not have. */
export const KEEP_ALERTS: ReadonlySet<TargetKind> = new Set<TargetKind>(["pagerduty", "opsgenie", "alertmanager"]);

/** An alert at Alertmanager is sent again after this time, so that it lasts as long as its problem, ms. */
const RENEW_MS = ALERT_LASTS_MS / 3;

/** Targets of a tenant that does not own a problem any more. */
interface Left {
  readonly problem: LeftProblem;
  readonly targets: readonly string[];
  readonly tenant: Tenant;
}

export class Routing {
  #config: NotifyConfig;
  /** By name, those of the configuration, in its order. */
  #configuredKinds: ReadonlyMap<string, TargetKind>;
  #hasRepeats = false;
  /** That tenants set, in force, by id, and those of each tenant. */
  #own = new Map<string, TenantTarget>();
  #ownByTenant = new Map<string, ReadonlyMap<string, TenantTarget>>();
  readonly #notified: NotifiedProblems;

  constructor(config: NotifyConfig, notified = new NotifiedProblems()) {
    this.#config = config;
    this.#configuredKinds = kindsOf(config);
    this.#hasRepeats = hasRepeats(config.routes ?? []);
    this.#notified = notified;
  }

  reconfigure(config: NotifyConfig, own: readonly TenantTarget[] = []): void {
    this.#config = config;
    this.#configuredKinds = kindsOf(config);
    this.#hasRepeats = hasRepeats(config.routes ?? []);
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
    if (targets.length > 0) this.#notified.set(problem.key, notified);
    const [type, id = ""] = problem.key.split(" ", 2);
    // Nothing else is of a tenant.
    if (targets.length === 0 || (type !== "attack" && type !== "ban")) return null;
    return { problem: { type, id }, targets, tenant: notified.tenant };
  }

  /**
   * Those targets of an attack that lasts for which a repetition is due, whose alert would end by itself, or which have not
   * got its begin, as that was in a quiet time that is over.
   */
  dueFor(event: NotifyEvent): readonly string[] {
    const key = problemOf(event)?.key ?? "";
    const notified = this.#notified.get(key);
    if (notified === undefined) return [];
    // Before the clock was set back: the time until the next repetition begins again.
    for (const [target, lastMs] of notified.at) if (lastMs > event.atMs) notified.at.set(target, event.atMs);
    const due = this.#expiring(notified, event.atMs);
    if (due.size === 0 && notified.quiet.size === 0 && !this.#hasRepeats) return [];
    for (const { targets, repeatMs } of this.#awake(event, event.atMs))
      for (const target of targets) {
        const lastMs = notified.at.get(target);
        if (repeatMs !== null && lastMs !== undefined && event.atMs - lastMs >= repeatMs) due.add(target);
      }
    for (const target of this.#outOfQuiet(event, notified)) due.add(target);
    this.#got(key, notified, due, event.atMs);
    return this.#ordered(due);
  }

  /** It stands for the begin that they did not get: their routes need not take attacks that last. */
  #outOfQuiet(event: NotifyEvent, { quiet }: Notified): readonly string[] {
    if (quiet.size === 0) return [];
    const begin = { ...routedOf(event), kind: "attack_started" } as const;
    const awake = [
      ...this.#matchingOf(begin).filter((route) => !isQuiet(route, event.atMs)),
      ...this.#awake(event, event.atMs),
    ];
    return awake.flatMap(({ targets }) => targets).filter((target) => quiet.has(target));
  }

  /** Problems from a quiet time that is over, not ended, with the targets to get them now. Not for attacks and bans. */
  *afterQuiet(wallMs: number): Generator<{ readonly event: NotifyEvent; readonly targets: readonly string[] }> {
    for (const [key, notified] of this.#notified.inQuiet()) {
      const { begin: event, quiet } = notified;
      if (event === null) continue;
      const awake = this.#awake(event, wallMs).flatMap(({ targets }) => targets);
      const due = new Set(awake.filter((target) => quiet.has(target)));
      this.#got(key, notified, due, wallMs);
      if (due.size > 0) yield { event, targets: this.#ordered(due) };
    }
  }

  /** Problems that last, with the targets whose alerts would end by themselves. Not for attacks and bans. */
  *renewals(wallMs: number): Generator<{ readonly event: NotifyEvent; readonly targets: readonly string[] }> {
    for (const [key, notified] of this.#notified.ofParts()) {
      const due = this.#expiring(notified, wallMs);
      this.#got(key, notified, due, wallMs);
      if (due.size > 0) yield { event: notified.begin, targets: this.#ordered(due) };
    }
  }

  #expiring({ at }: Pick<Notified, "at">, wallMs: number): Set<string> {
    const kindOf = (target: string) => this.#own.get(target)?.kind ?? this.#configuredKinds.get(target);
    const due = [...at].filter(([target, ms]) => wallMs - ms >= RENEW_MS && kindOf(target) === "alertmanager");
    return new Set(due.map(([target]) => target));
  }

  /** Which targets a new problem would get to, and by which routes. */
  explained(event: RoutedEvent): RouteView {
    const { routes } = this.#config;
    const matching = this.#matchingOf(event).filter((route) => !isQuiet(route, event.atMs));
    return {
      severity: event.severity,
      targets: this.#ordered(new Set(matching.flatMap(({ targets }) => targets))),
      routes:
        routes === null
          ? null
          : takenBy(routes, event).map(({ place, targets, repeatMs, groupMs, quiet }) => ({
              ...{ place: pathText(place), targets, repeatMs, groupMs },
              isQuiet: isQuiet({ quiet }, event.atMs),
            })),
    };
  }

  /** How long the messages of a target wait for further events, ms; null: as long as those without routes. */
  groupMsOf(event: NotifyEvent, target: string): number | null {
    if (this.#config.routes === null || this.#own.has(target)) return null;
    const taken = takenBy(this.#config.routes, routedOf(event)).filter(({ targets }) => targets.includes(target));
    const times = taken.map(({ groupMs }) => groupMs).filter((ms) => ms !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Whether a target that there is got the begin of the problem, or gets it after a quiet time. */
  isKnown(key: string): boolean {
    const { at, quiet } = this.#notified.get(key) ?? { at: new Map<string, number>(), quiet: new Set<string>() };
    return this.#ordered(quiet.union(at)).length > 0;
  }

  /** Whether an earlier process decided who gets the begin, and one of these is there, or it is none. */
  isDecided(key: string): boolean {
    const notified = this.#notified.get(key);
    return notified !== undefined && (hasNone(notified) || this.isKnown(key));
  }

  /** Whether targets got the begin of the problem. */
  hasNotified(key: string): boolean {
    return (this.#notified.get(key)?.at.size ?? 0) > 0;
  }

  #got(key: string, notified: Notified, targets: ReadonlySet<string>, atMs: number): void {
    if (targets.size === 0) return;
    for (const target of targets) notified.at.set(target, atMs);
    this.#notified.set(key, { ...notified, quiet: notified.quiet.difference(targets) });
  }

  #wanted(event: NotifyEvent): ReadonlySet<string> {
    const problem = problemOf(event);
    const matching = this.#matching(event, event.atMs);
    const byRoutes = new Set(matching.filter((route) => !isQuiet(route, event.atMs)).flatMap(({ targets }) => targets));
    if (problem === null) return byRoutes;
    const notified = this.#notified.get(problem.key);
    const known = this.#ordered(new Set(notified?.at.keys()));
    const isSameOwner = notified === undefined || notified.tenant === event.tenant || hasNone(notified);
    const quiet = new Set(matching.flatMap(({ targets }) => targets)).difference(byRoutes);
    if (!problem.isOver) {
      const wanted = new Set(isSameOwner ? known : []).difference(quiet).union(byRoutes);
      this.#remember(problem.key, { wanted, quiet }, event);
      return wanted;
    }
    this.#notified.delete(problem.key);
    if (notified?.isDecided === true && notified.at.size === 0) return new Set();
    if (!isSameOwner) return new Set([...known, ...byRoutes]);
    // Another target may have the alert of one that is not there any more: under a new name it is the same service.
    const areThere = known.length > 0 && known.length === notified?.at.size;
    const alerts = areThere ? [] : this.#alerts(event);
    if (known.length > 0) return new Set([...known, ...alerts]);
    return new Set([...byRoutes, ...alerts]).difference(notified?.quiet ?? new Set());
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
    const configured = [...this.#configuredKinds.keys()].filter((name) => names.has(name));
    return [...configured, ...[...names].filter((name) => this.#own.has(name))];
  }

  /** Those that are not in a quiet time. */
  #awake(event: NotifyEvent, wallMs: number): readonly Route[] {
    return this.#matching(event, wallMs).filter((route) => !isQuiet(route, wallMs));
  }

  /** Tenants get what is of them, whatever the routes of the configuration say, and nothing else. */
  #matching(event: NotifyEvent, atMs: number): readonly Route[] {
    return this.#matchingOf({ ...routedOf(event), atMs });
  }

  #matchingOf(routed: RoutedEvent): readonly Route[] {
    const own = this.#ownOf(routed.tenant).filter((target) => isForTenant(target, routed));
    return [...this.#configured(routed), ...own.map(({ id }) => ({ ...PLAIN, targets: [id] }))];
  }

  #configured(event: RoutedEvent): readonly Route[] {
    const { routes, targets } = this.#config;
    if (routes !== null) return takenBy(routes, event);
    // Orders are many, and people who place them know of them: only a route sends them.
    return isOfOrders(event.kind) ? [] : [{ ...PLAIN, targets: targets.map(({ name }) => name) }];
  }

  #remember(
    key: string,
    { wanted, quiet }: { readonly wanted: ReadonlySet<string>; readonly quiet: ReadonlySet<string> },
    event: NotifyEvent,
  ): void {
    const before = this.#notified.get(key);
    const { tenant, atMs } = event;
    const known = before?.tenant === tenant ? before : { at: new Map<string, number>(), quiet: new Set<string>() };
    const present = this.#ordered(new Set(known.at.keys())).map((name) => [name, known.at.get(name) ?? atMs] as const);
    const at = new Map([...present, ...[...wanted].map((target) => [target, atMs] as const)]);
    const begin = "attack" in event || "ban" in event ? null : event;
    // A ban is part of its attack, and not sent afterwards: its end goes by the routes.
    const waits =
      event.kind === "ban_active" ? new Set<string>() : known.quiet.union(quiet).difference(new Set(at.keys()));
    const isDecided = event.kind !== "ban_active" || quiet.size === 0;
    this.#notified.set(key, { tenant, at, quiet: waits, isDecided, begin });
  }
}

function hasNone({ at, quiet }: Notified): boolean {
  return at.size === 0 && quiet.size === 0;
}

type Route = Pick<NotifyRoute, "targets" | "repeatMs" | "quiet">;
const PLAIN = { repeatMs: null, quiet: [] } as const;

function hasRepeats(routes: readonly NotifyRoute[]): boolean {
  return routes.some((route) => route.repeatMs !== null || hasRepeats(route.routes));
}

function kindsOf({ targets }: NotifyConfig): ReadonlyMap<string, TargetKind> {
  return new Map(targets.map(({ name, settings }) => [name, settings.kind]));
}

function isForTenant({ severity = "info", events }: TenantTarget, { kind, severity: own }: RoutedEvent): boolean {
  const isWanted = events === undefined ? !isOfOrders(kind) : events.includes(kind);
  return isWanted && isAtLeast(own, severity);
}

function isOfOrders(kind: EventKind): boolean {
  return kind === "order_made" || kind === "order_changed" || kind === "order_ended";
}
