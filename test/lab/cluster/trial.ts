/** One fault of the lab under floods: what routers held, what became of orders, and which events were notified. */
import type { Bird } from "../../fixtures/bgp/bird.ts";
import { eventually } from "../../fixtures/service.ts";
import { sendFrom, type TrafficOptions } from "../world.ts";
import { type Brain, type ClusterWorld, THRESHOLD_PPS, VICTIMS } from "./cluster-world.ts";

export interface Fault {
  readonly name: string;
  begin(world: ClusterWorld): unknown;
  end(world: ClusterWorld): unknown;
  /** Where orders are given meanwhile; default: the second brain. */
  readonly orderAt?: 0 | 1;
}

export interface TrialResult {
  readonly name: string;
  /** Longest time without the route, ms, at the router of both, and at those of one. */
  readonly gapMs: { readonly router: number; readonly first: number; readonly second: number };
  readonly orders: {
    readonly acknowledged: number;
    readonly unshared: number;
    readonly failed: number;
    readonly lost: number;
  };
  readonly slowestOrderMs: number;
  /** Of the webhook: ids of attacks that began, and those that came more than once. */
  readonly events: { readonly began: number; readonly repeated: number };
  readonly looks: number;
}

const FAULT_MS = 12_000;
/**
 * An attack that one brain alone sees is offered to the brain that notifies within this time. One that is killed sooner
 * takes its event with it.
 */
const OFFERED_MS = 4000;
const LOOK_MS = 50;
/** Fewer in all than bans that a configuration allows at once by default. */
const ORDER_MS = 400;
const FLOOD_SECONDS = 40;
const TTL_SECONDS = 600;

/** How long a route is missing at one router. */
class RouteWatch {
  longestMs = 0;
  looks = 0;
  #missingSinceMs: number | null = null;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(bird: Bird, prefix: string) {
    this.#running = this.#run(bird, prefix);
  }

  async stop(): Promise<number> {
    this.#isOver = true;
    await this.#running;
    return Math.round(this.longestMs);
  }

  async #run(bird: Bird, prefix: string): Promise<void> {
    while (!this.#isOver) {
      const hasRoute = await bird.hasRoute(prefix);
      const nowMs = performance.now();
      this.looks++;
      if (hasRoute) this.#missingSinceMs = null;
      else {
        this.#missingSinceMs ??= nowMs - LOOK_MS;
        this.longestMs = Math.max(this.longestMs, nowMs - this.#missingSinceMs);
      }
      await Bun.sleep(LOOK_MS);
    }
  }
}

interface Ordered {
  readonly acknowledged: readonly string[];
  unshared: number;
  failed: number;
  slowestMs: number;
}

let orders = 0;

/** Operators order blackholes one after the other until `isOver`. */
async function orderAt({ service }: Brain, isOver: () => boolean): Promise<Ordered> {
  const acknowledged: string[] = [];
  const ordered: Ordered = { acknowledged, unshared: 0, failed: 0, slowestMs: 0 };
  while (!isOver()) {
    const prefix = `203.0.113.${100 + (orders++ % 150)}/32`;
    const startedMs = performance.now();
    const body = { prefix, method: "blackhole", ttl_seconds: TTL_SECONDS, reason: `lab ${orders}` };
    const answer = await service.post<Record<string, unknown>>("/api/v1/ban", body).catch(() => null);
    ordered.slowestMs = Math.max(ordered.slowestMs, performance.now() - startedMs);
    if (answer?.status !== 200) ordered.failed++;
    else {
      acknowledged.push(prefix);
      if (answer.body["shared"] === false) ordered.unshared++;
    }
    await Bun.sleep(ORDER_MS);
  }
  return ordered;
}

export async function tryFault(world: ClusterWorld, fault: Fault): Promise<TrialResult> {
  const outputBefore = world.webhook.output.length;
  const floods = startFloods(world);
  const [first, second] = world.brains as [Brain, Brain];
  const { router } = world;
  const routes = [
    { bird: router, victim: VICTIMS.both },
    { bird: first.edge, victim: VICTIMS.first },
    { bird: second.edge, victim: VICTIMS.second },
    // Those that one brain alone sees reach the router of both too.
    { bird: router, victim: VICTIMS.first },
    { bird: router, victim: VICTIMS.second },
  ];
  for (const { bird, victim } of routes) {
    await eventually(() => bird.hasRoute(`${victim}/32`), `no route for ${victim} before ${fault.name}`, 15_000, 50);
  }
  const watches = routes.slice(0, 3).map(({ bird, victim }) => new RouteWatch(bird, `${victim}/32`));
  let isOver = false;
  const ordering = orderAt(world.brains[fault.orderAt ?? 1] as Brain, () => isOver);
  await Bun.sleep(OFFERED_MS);
  await fault.begin(world);
  await Bun.sleep(FAULT_MS);
  isOver = true;
  const ordered = await ordering;
  await fault.end(world);
  const lost = await lostOf(world, ordered.acknowledged);
  const [router_, first_, second_] = await Promise.all(watches.map((watch) => watch.stop()));
  await Promise.all(floods);
  await settled(world);
  return {
    name: fault.name,
    gapMs: { router: router_ ?? 0, first: first_ ?? 0, second: second_ ?? 0 },
    orders: { acknowledged: ordered.acknowledged.length, unshared: ordered.unshared, failed: ordered.failed, lost },
    slowestOrderMs: Math.round(ordered.slowestMs),
    events: eventsIn(world.webhook.output.slice(outputBefore)),
    looks: watches.reduce((sum, { looks }) => sum + looks, 0),
  };
}

function startFloods(world: ClusterWorld): Promise<unknown>[] {
  const flood = (target: string, wire: 1 | 2): Promise<unknown> => {
    const traffic: TrafficOptions = {
      ...{ profile: "udp", target, pps: 3 * THRESHOLD_PPS, seconds: FLOOD_SECONDS },
      ...{ dev: `wire${wire}`, path: "socket" },
    };
    return sendFrom(world.network.attacker, traffic);
  };
  return [flood(VICTIMS.both, 1), flood(VICTIMS.both, 2), flood(VICTIMS.first, 1), flood(VICTIMS.second, 2)];
}

/** Of the acknowledged orders those that one of the brains lacks a while after the fault. */
async function lostOf(world: ClusterWorld, acknowledged: readonly string[]): Promise<number> {
  const lacking = async () => {
    const held = await Promise.all(
      world.brains.map(async ({ service }) => {
        const { body } = await service.get<{ bans: { prefix: string }[] }>("/api/v1/bans");
        return new Set(body.bans.map(({ prefix }) => prefix));
      }),
    );
    return acknowledged.filter((prefix) => !held.every((prefixes) => prefixes.has(prefix)));
  };
  await eventually(async () => (await lacking()).length === 0, "", 20_000, 200).catch(() => null);
  return (await lacking()).length;
}

/** All bans of the trial are over, and the brains are as before. */
async function settled(world: ClusterWorld): Promise<void> {
  const { service } = world.brains[0] as Brain;
  const { body } = await service.get<{ bans: { prefix: string; manual?: boolean }[] }>("/api/v1/bans");
  for (const { prefix, manual } of body.bans) {
    if (manual === true) await service.post("/api/v1/unban", { prefix, reason: "lab" });
  }
  const isQuiet = async () => (await world.router.routeCount()) === 0 && (await world.areLinked());
  await eventually(isQuiet, "routes stay after the floods", 120_000, 200);
}

function eventsIn(output: string): TrialResult["events"] {
  const ids = [...output.matchAll(/^attack_started (\S+)$/gm)].map(([, id]) => id);
  return { began: new Set(ids).size, repeated: ids.length - new Set(ids).size };
}
