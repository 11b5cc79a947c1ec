/**
 * Which targets get an event: the routes are read from the first on, and the first that matches decides, unless it goes on.
 * The end of a problem goes to the targets that got its begin, whatever the routes say by then. Knows no clock.
 */
import { METRICS } from "../traffic/rates.ts";
import type { NotifyEvent } from "./event.ts";
import type { Hours, NotifyConfig, NotifyRoute, RouteMatch } from "./notify-config.ts";
import { problemOf } from "./problem.ts";
import { isAtLeast, severityOf } from "./severity.ts";

/** Problems whose targets are known; over it the oldest is forgotten, and its end goes by the routes. */
export const PROBLEMS_MAX = 4096;
const DAY_MS = 86_400_000;
const [PPS, MBPS] = [METRICS.indexOf("pps"), METRICS.indexOf("mbps")];

export class Routing {
  #config: NotifyConfig;
  /** Targets by problem, and when they got the last event of it. The one whose last event is oldest is first. */
  readonly #notified = new Map<string, Map<string, number>>();

  constructor(config: NotifyConfig) {
    this.#config = config;
  }

  reconfigure(config: NotifyConfig): void {
    this.#config = config;
  }

  /** Names, each once, in the order of the configuration. */
  targetsOf(event: NotifyEvent): readonly string[] {
    const { targets } = this.#config;
    const wanted = this.#wanted(event);
    return targets.map(({ name }) => name).filter((name) => wanted.has(name));
  }

  /** Those targets of an attack that lasts for which a repetition is due. */
  dueFor(event: NotifyEvent): readonly string[] {
    const notified = this.#notified.get(problemOf(event)?.key ?? "");
    if (notified === undefined || this.#config.routes === null) return [];
    const due = new Set<string>();
    for (const { targets, repeatMs } of this.#matching(event))
      for (const target of targets) {
        const lastMs = notified.get(target);
        if (repeatMs !== null && lastMs !== undefined && event.atMs - lastMs >= repeatMs) due.add(target);
      }
    for (const target of due) notified.set(target, event.atMs);
    return this.#config.targets.map(({ name }) => name).filter((name) => due.has(name));
  }

  #wanted(event: NotifyEvent): ReadonlySet<string> {
    const problem = problemOf(event);
    const notified = problem === null ? undefined : this.#notified.get(problem.key);
    if (problem?.isOver === true && notified !== undefined) {
      this.#notified.delete(problem.key);
      return new Set(notified.keys());
    }
    const matching = this.#matching(event);
    const byRoutes = matching.flatMap(({ targets }) => targets);
    const wanted = new Set([...(notified?.keys() ?? []), ...byRoutes]);
    if (problem !== null && !problem.isOver) this.#remember(problem.key, wanted, event.atMs);
    return wanted;
  }

  #matching(event: NotifyEvent): readonly Pick<NotifyRoute, "targets" | "repeatMs">[] {
    const { routes, targets } = this.#config;
    if (routes === null) return [{ targets: targets.map(({ name }) => name), repeatMs: null }];
    const matching: NotifyRoute[] = [];
    for (const route of routes) {
      if (!isMatched(route.match, event)) continue;
      matching.push(route);
      if (!route.continues) break;
    }
    return matching;
  }

  #remember(key: string, targets: ReadonlySet<string>, atMs: number): void {
    this.#notified.delete(key);
    if (targets.size === 0) return;
    this.#notified.set(key, new Map([...targets].map((target) => [target, atMs])));
    const [oldest] = this.#notified.keys();
    if (this.#notified.size > PROBLEMS_MAX && oldest !== undefined) this.#notified.delete(oldest);
  }
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
