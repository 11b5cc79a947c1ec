/** One fault of the lab under floods: what routers had, what became of orders and of rules, and what was notified. */
import type { Bird } from "../../fixtures/bgp/bird.ts";
import { eventually } from "../../fixtures/service.ts";
import { CALM_SECONDS, VICTIMS } from "./cluster-config.ts";
import type { Brain, ClusterWorld, Router, ScrubNode } from "./cluster-world.ts";
import { type EventCounts, eventsIn, isComplete } from "./events.ts";
import { FAULT_MS, type Fault, type Watched } from "./faults.ts";
import { Floods } from "./floods.ts";
import { type Ordered, type OrderedBan, operate, order } from "./operators.ts";

export interface TrialResult {
  readonly fault: Fault;
  /** Longest time without a route that is wanted there, ms. */
  readonly gapMs: Readonly<Record<Watched, number>>;
  /** How long a route was there that no caller wanted any more, ms after the unban and the end of the fault. */
  readonly unwantedMs: number;
  /** How long the last route of an attack was there after the end of the floods, ms. */
  readonly afterMs: number;
  readonly orders: Ordered & { readonly lost: number };
  /** A brain took its own state for damaged. */
  readonly isDamaged: boolean;
  readonly events: EventCounts;
  /** Next hops of the diverted victim beyond the first one. */
  readonly moves: number;
  /** Looks at the node of the diverted victim that found none of its rules, and all looks. */
  readonly unfiltered: number;
  readonly looks: number;
  /** By node, when it was found without rules, s after the first look. */
  readonly unfilteredAt: readonly string[];
}

/** From the flood's end to the last withdrawal, where nothing is at fault. */
export const AFTER_MAX_MS = (CALM_SECONDS + 10) * 1000;
/**
 * An attack that one brain alone sees is offered to the brain that notifies within this time. One that is killed sooner
 * takes its event with it.
 */
const OFFERED_MS = 4000;
/** After the fault, before its consequences are judged. */
const HEALED_MS = 3000;
const UNBAN_AFTER_MS = 2000;
const LOOK_MS = 100;

interface Wanted {
  readonly at: Watched;
  readonly router: Router;
  readonly victim: string;
}

export async function tryFault(world: ClusterWorld, fault: Fault): Promise<TrialResult> {
  const outputBefore = world.webhook.output.length;
  const floods = new Floods(world);
  const [first, second] = world.brains as [Brain, Brain];
  const at = (router: Router, name: Watched, ...victims: string[]): Wanted[] =>
    victims.map((victim) => ({ at: name, router, victim }));
  const wanted = [
    ...at(world.router, "router", VICTIMS.mirrored, VICTIMS.exported, VICTIMS.diverted),
    ...at(first.edge, "first", VICTIMS.first),
    ...at(second.edge, "second", VICTIMS.second),
  ];
  for (const { router, victim } of wanted) {
    const complaint = () => `no route for ${victim} before ${fault.name}:\n${lastWords(world)}`;
    await eventually(() => router.bird.hasRoute(`${victim}/32`), complaint, 15_000, 50);
  }
  const brain = world.brains[fault.orderAt ?? 1] as Brain;
  const withdrawn = await Promise.all([order(world, brain), order(world, brain)]);
  const watch = new DivertWatch(world);
  world.undo.add(() => watch.stop());
  const fromMs = Date.now();
  const operators = operate(world, brain);
  world.undo.add(() => operators.stop());
  await Bun.sleep(OFFERED_MS);
  await fault.begin(world);
  await Bun.sleep(UNBAN_AFTER_MS);
  const unbannedMs = await unban(world, brain, withdrawn);
  await Bun.sleep((fault.lastsMs ?? FAULT_MS) - UNBAN_AFTER_MS);
  const ordered = await operators.stop();
  await fault.end(world);
  const healedMs = Date.now();
  await Bun.sleep(HEALED_MS);
  const toMs = Date.now();
  const looked = await watch.stop();
  const lost = await lostOf(world, ordered.acknowledged, withdrawn);
  const floodsEndedMs = Date.now();
  await floods.stop();
  const gap = (name: Watched) =>
    Math.max(
      ...wanted
        .filter((each) => each.at === name)
        .map(({ router, victim }) => router.log.longestGapMs(`${victim}/32`, fromMs, toMs)),
    );
  const gapMs = { router: gap("router"), first: gap("first"), second: gap("second") };
  await settled(world);
  const events = () => eventsIn(world.webhook.output.slice(outputBefore));
  await eventually(() => isComplete(events()), "", 10_000, 100).catch(() => null);
  return {
    ...{ fault, gapMs, ...looked, events: events() },
    unwantedMs: Math.max(...withdrawn.map(({ prefix }) => goneMs(world, prefix) - Math.max(unbannedMs, healedMs)), 0),
    afterMs: Math.max(...wanted.map(({ victim }) => goneMs(world, `${victim}/32`) - floodsEndedMs), 0),
    orders: { ...ordered, lost },
    isDamaged: world.brains.some(({ service }) => service.output.includes("state database was damaged")),
  };
}

/** When the route went from the router of both, wall clock ms. Settled: it is gone. */
function goneMs({ router }: ClusterWorld, prefix: string): number {
  return router.log.goneAtMs(prefix) ?? Number.POSITIVE_INFINITY;
}

async function unban(world: ClusterWorld, brain: Brain, bans: readonly OrderedBan[]): Promise<number> {
  for (const { prefix } of bans) {
    const { status } = await world.post(brain, "unban", { prefix, reason: "lab" });
    if (status !== 200) throw new Error(`the unban of ${prefix} was answered with ${status}`);
  }
  return Date.now();
}

/** Where the diverted victim goes, and whether its node has rules. */
class DivertWatch {
  readonly #hops = new Set<string>();
  #unfiltered = 0;
  #looks = 0;
  readonly #beganMs = performance.now();
  readonly #unfilteredAt: string[] = [];
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(world: ClusterWorld) {
    const filtering = world.nodes.filter((node) => world.filterOf(node).rules > 0);
    if (filtering.length === 0) throw new Error(`no node has rules of the diverted victim:\n${lastWords(world)}`);
    this.#running = this.#run(world, filtering);
  }

  async stop(): Promise<Pick<TrialResult, "moves" | "unfiltered" | "unfilteredAt" | "looks">> {
    this.#isOver = true;
    await this.#running;
    const [moves, unfiltered] = [Math.max(this.#hops.size - 1, 0), this.#unfiltered];
    return { moves, unfiltered, looks: this.#looks, unfilteredAt: this.#unfilteredAt };
  }

  async #run(world: ClusterWorld, nodes: readonly ScrubNode[]): Promise<void> {
    while (!this.#isOver) {
      this.#looks++;
      const [empty] = nodes.filter((node) => world.filterOf(node).rules === 0);
      if (empty !== undefined) {
        this.#unfiltered++;
        this.#unfilteredAt.push(`${empty.name} ${((performance.now() - this.#beganMs) / 1000).toFixed(1)}`);
      }
      for (const hop of await hopsOf(world.router.bird)) this.#hops.add(hop);
      await Bun.sleep(LOOK_MS);
    }
  }
}

async function hopsOf(bird: Bird): Promise<readonly string[]> {
  // While the router is restarted it does not answer.
  const lines = await bird.ask(`show route for ${VICTIMS.diverted}/32 all`).catch(() => []);
  return lines.flatMap((line) => /BGP\.next_hop: (\S+)/.exec(line)?.[1] ?? []);
}

/** Of the acknowledged orders those that one of the brains has not, a while after the fault. */
async function lostOf(world: ClusterWorld, bans: readonly string[], withdrawn: readonly OrderedBan[]): Promise<number> {
  const lacking = async () => {
    const held = await Promise.all(world.brains.map((brain) => world.bansInForce(brain)));
    const isLost = (prefix: string, isWanted: boolean) => held.some((prefixes) => prefixes.has(prefix) !== isWanted);
    const ended = withdrawn.map(({ prefix }) => prefix);
    return bans.filter((prefix) => isLost(prefix, true)).length + ended.filter((each) => isLost(each, false)).length;
  };
  await eventually(async () => (await lacking()) === 0, "", 20_000, 200).catch(() => null);
  return lacking();
}

/** Ends all bans of the trial, and waits until the brains are as before. */
async function settled(world: ClusterWorld): Promise<void> {
  for (const brain of world.brains) {
    for (const prefix of await world.bansInForce(brain, { manual: true })) {
      await world.post(brain, "unban", { prefix, reason: "lab" });
    }
  }
  let [routes, isLinked] = [-1, false];
  const isQuiet = async () => {
    routes = await world.router.bird.routeCount();
    isLinked = await world.areLinked();
    return routes === 0 && isLinked;
  };
  const complaint = () => `${routes} routes stay, the brains are ${isLinked ? "" : "not "}linked:\n${lastWords(world)}`;
  await eventually(isQuiet, complaint, 120_000, 200);
}

function lastWords({ brains, nodes }: ClusterWorld): string {
  const outputs = [...brains.map(({ service }) => service.output), ...nodes.map(({ agent }) => agent.output)];
  return outputs.map((output) => output.slice(-3000)).join("\n--\n");
}
