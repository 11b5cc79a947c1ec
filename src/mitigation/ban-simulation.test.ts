/**
 * Random events in random order over simulated time: attacks, manual bans, reloads, restarts, lost sessions and clock
 * steps. The invariants of the ban table must hold after each step. SEED and STEPS come from the environment.
 */
import { afterAll, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  classified,
  ended,
  flush,
  harness,
  lasts,
  NO_RULES,
  policy,
  simpleRules,
  spreadOver,
  spreadTerms,
  started,
  under,
  WHITELISTED,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { LADDERS, NODES, STATES } from "../../test/fixtures/mitigation/drawn-circumstances.ts";
import { Chance, seededRandom } from "../../test/fixtures/seeded-random.ts";
import { MemoryState } from "../../test/fixtures/storage/memory-state.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { IpAddress } from "../net/address.ts";
import { enclosingPrefix, prefixContains } from "../net/prefix.ts";
import { unbannableFor } from "./admission.ts";
import { ALL_NODES_LOST, type Ban, hasNoScrubTarget, isWatching, takesPlaceLater, wantedRoutes } from "./ban.ts";
import type { BanEngine } from "./ban-engine.ts";
import { isOneAddress, prefixUnderAttack } from "./ban-subject.ts";
import type { NodeTarget, RuleMaker } from "./circumstances.ts";
import { foundNone, NO_RULES_FOUND, routeKey, routesOf } from "./measure.ts";
import { type BanOrder, plainOrder } from "./order/ban-order.ts";
import type { MitigationPolicy, SpreadPolicy } from "./policy.ts";

const TARGETS = [
  ...Array.from({ length: 12 }, (_, i) => address(`192.0.2.${i + 1}`)),
  WHITELISTED,
  address("203.0.113.7"),
  address("192.0.2.128"),
];
/** What spread attacks begin with, and the widest that they become. */
const PARTS = ["192.0.2.128/29", "192.0.2.136/29", "192.0.2.160/29", "192.0.2.192/29"];
const WIDEST = 25;
const METHODS = ["blackhole", "flowspec", "divert"] as const;
type BanPromise = readonly [isKept: boolean, fault: string];
const VECTORS = ["syn_flood", "udp_flood", "dns_amplification"] as const;

/** A ban engine to which anything may happen, and the promises that hold after each step of it. */
class BanSimulation {
  readonly #chance: Chance;
  #overrides: Partial<MitigationPolicy>;
  #run: ReturnType<typeof harness>;
  #wallMs = Date.UTC(2026, 0, 1);
  #ids = 0;
  readonly #attacks = new Map<string, Attack>();
  /** Where diverted traffic goes; null: no nodes are configured. */
  #nodes: NodeTarget | null = null;
  /** What this machine drops does not hold the attacks; and it has the rules of the bans. */
  #isOverThreshold = false;
  /** No rule is found. */
  #isInseparable = false;
  #isHere = true;
  /** It had, at some time since the last look. */
  #wasHere = true;
  /** By ban: its rung, and its routes, as they were last. */
  readonly #rungs = new Map<string, Pick<Ban, "step" | "measure" | "retiring">>();
  /** By ban, as they were last. */
  readonly #prefixes = new Map<string, string>();
  /** The cap may be lowered below what is banned already. */
  #mostBans = 0;
  /** Methods, states and other things that there were. */
  readonly seen = new Set<string>();
  readonly lastEvents: string[] = [];
  simulatedMs = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seededRandom(seed));
    this.#overrides = this.#newPolicy();
    this.#run = this.#newRun();
  }

  /** Returns the promises that are broken now. */
  async step(): Promise<string[]> {
    await this.#pass(this.#chance.below(this.#chance.oneIn(4) ? 60_000 : 1000));
    const events: readonly (readonly [weight: number, name: string, happen: () => Promise<void> | void])[] = [
      [30, "attack starts", () => this.#startAttack()],
      [25, "attack ends", () => this.#endAttack()],
      [15, "attack is classified", () => this.#classifyAttack()],
      [10, "spread attack starts", () => this.#start(spreadOver(this.#chance.oneOf(PARTS), `a${++this.#ids}`))],
      [10, "spread attack widens", () => this.#widenAttack()],
      [6, "order", () => this.#order((engine, target) => engine.ban(this.#orderOf(target), () => this.#wallMs))],
      [6, "unban", () => this.#order((engine, target) => engine.unban(target, this.#wallMs))],
      [25, "routes", () => this.#moveRoutes()],
      [2, "nodes", () => this.#moveNodes()],
      [10, "attack calms or comes back", () => this.#calmAttack()],
      [4, "held", () => this.#moveHeld()],
      [4, "rules found", () => this.#moveSeparability()],
      [2, "reload", () => this.#reload()],
      [2, "restart", () => this.#restart()],
      [1, "clock set", () => this.#setClock()],
    ];
    const [, name, happen] = this.#chance.oneOf(
      events.flatMap((event) => new Array<typeof event>(event[0]).fill(event)),
    );
    this.lastEvents.push(name);
    if (this.lastEvents.length > 5) this.lastEvents.shift();
    await happen();
    return this.#broken();
  }

  /** The attacks in progress are reported with each tick, and the bans have theirs. */
  async #pass(ms: number): Promise<void> {
    this.#wallMs += ms;
    this.simulatedMs += ms;
    const { engine } = this.#run;
    engine.attacksChanged([...this.#attacks.values()].map(lasts), this.#wallMs);
    engine.tick(this.#wallMs);
    if (this.#chance.oneIn(2)) await this.#release();
    else await flush(engine);
  }

  /** Its writes may take until a later step; what comes in between changes what becomes of it. */
  async #order(give: (engine: BanEngine, target: IpAddress) => Promise<unknown>): Promise<void> {
    const { engine, file } = this.#run;
    file.isHeld ||= this.#chance.oneIn(2);
    // One that takes too long is refused.
    const given = give(engine, this.#chance.oneOf(TARGETS)).catch(() => {});
    if (file.isHeld) this.seen.add("held");
    else await given;
  }

  async #release(): Promise<void> {
    const { engine, file } = this.#run;
    file.isHeld = false;
    while (file.isWaiting) await file.release();
    await flush(engine);
  }

  #orderOf(target: IpAddress): BanOrder {
    const terms = this.#chance.oneOf<BanOrder["terms"]>([{}, {}, { method: "flowspec" }, { method: "blackhole" }]);
    return { ...plainOrder(target), terms, isDryRun: this.#chance.oneIn(5) };
  }

  #startAttack(): void {
    const direction = this.#chance.oneIn(3) ? "outgoing" : "incoming";
    const attack: Attack = { ...attackOn(this.#chance.oneOf(TARGETS), `a${++this.#ids}`), direction };
    const isSame = (other: Attack) => other.target === attack.target && other.direction === direction;
    if (![...this.#attacks.values()].some(isSame)) this.#start(attack);
  }

  #start(made: Attack): void {
    const attack: Attack = { ...made, startedAt: this.#wallMs };
    this.#attacks.set(attack.id, attack);
    this.#run.engine.attacksChanged([started(attack)], this.#wallMs);
  }

  /** The engine hears of it with the next tick. */
  #widenAttack(): void {
    const attack = this.#attack(({ carpet }) => carpet !== null);
    const prefix = attack === undefined ? null : prefixUnderAttack(attack);
    if (attack === undefined || prefix === null || prefix.length <= WIDEST) return;
    const carpet = { prefix: enclosingPrefix(prefix.address, prefix.length - 1).text, hosts: 100 };
    this.#attacks.set(attack.id, { ...attack, carpet });
  }

  #endAttack(): void {
    const attack = this.#attack();
    if (attack === undefined) return;
    this.#attacks.delete(attack.id);
    this.#run.engine.attacksChanged([ended(attack, this.#wallMs)], this.#wallMs);
  }

  #classifyAttack(): void {
    const attack = this.#attack();
    if (attack === undefined) return;
    const known = classified(attack, this.#chance.oneOf(VECTORS));
    this.#attacks.set(attack.id, known);
    this.#run.engine.attackClassified(known, this.#wallMs);
  }

  #moveRoutes(): void {
    const { routes, states } = this.#run.announcer;
    for (const route of routes) if (this.#chance.oneIn(2)) states.set(routeKey(route), this.#chance.oneOf(STATES));
    if (this.#chance.oneIn(3)) states.clear();
  }

  /** The engine hears of it with the next tick. */
  #calmAttack(): void {
    const attack = this.#attack();
    if (attack === undefined) return;
    this.#attacks.set(attack.id, { ...attack, calmSinceMs: attack.calmSinceMs === null ? 0 : null });
  }

  #moveHeld(): void {
    this.#isOverThreshold = this.#chance.oneIn(2);
    this.#isHere = this.#chance.oneIn(2);
    this.#wasHere ||= this.#isHere;
  }

  #moveSeparability(): void {
    this.#isInseparable = this.#chance.oneIn(3);
  }

  #moveNodes(): void {
    this.#nodes = this.#chance.oneOf(NODES);
  }

  #newRun(file = new MemoryState()): ReturnType<typeof harness> {
    const newId = () => `ban-${++this.#ids}`;
    const here = { overThresholdMs: () => (this.#isOverThreshold ? 60_000 : 0), isHere: () => this.#isHere };
    const makeRules: RuleMaker = (...request) => (this.#isInseparable ? NO_RULES : simpleRules(...request));
    const options = { endedKept: 50, divertTo: () => this.#nodes, newId, makeRules, ...here };
    return harness(this.#overrides, options, file);
  }

  #reload(): void {
    this.#overrides = this.#newPolicy();
    this.#run.engine.reconfigure(policy(this.#overrides), this.#wallMs);
  }

  /** Killed: what was stored comes back, under a configuration that may be another. */
  #restart(): void {
    const before = this.#run;
    if (this.#chance.oneIn(2)) this.#overrides = this.#newPolicy();
    const file = new MemoryState();
    for (const [id, ban] of before.disk) file.rows.bans.set(id, ban);
    this.#run = this.#newRun(file);
    this.#wallMs += this.#chance.below(10_000);
    const bans = [...before.disk.values()].sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
    // Some attacks were never stored.
    for (const id of [...this.#attacks.keys()]) if (this.#chance.oneIn(10)) this.#attacks.delete(id);
    const { engine } = this.#run;
    engine.restore({ bans, attacks: [...this.#attacks.values()] }, this.#wallMs);
    // An order whose write was on disk before it was decided comes back with the ban that took the last room meanwhile.
    this.#mostBans = engine.active.size;
  }

  #setClock(): void {
    const byMs = this.#chance.oneIn(2) ? this.#chance.below(86_400_000) : -this.#chance.below(86_400_000);
    this.#wallMs += byMs;
    this.#run.engine.clockStepped(byMs, this.#wallMs);
  }

  #newPolicy(): Partial<MitigationPolicy> {
    const chance = this.#chance;
    const ladder = chance.oneIn(2) ? {} : { ladder: chance.oneOf(LADDERS) };
    const fallback = chance.oneOf(["none", "flowspec", "divert", "blackhole"] as const);
    const deescalateAfterSeconds = chance.oneOf([0, 20]);
    const repeats = { repeatWindowSeconds: chance.oneOf([0, 300]), cooldownSeconds: chance.oneOf([0, 120]) };
    const [isSmaller, isLonger] = [chance.oneIn(6), chance.oneIn(6)];
    return {
      ...under({ method: chance.oneOf(METHODS), ...ladder, ban: { fallback, deescalateAfterSeconds, ...repeats } }),
      spread: chance.oneIn(5) ? null : this.#newSpread(),
      dryRun: chance.oneIn(8),
      evidenceWaitMs: chance.oneOf([0, 1000]),
      maxActiveBans: 3 + chance.below(6),
      maxBannedFraction: chance.oneOf([0, 0.02]),
      isWhitelisted: (ip) => ip === WHITELISTED || (isLonger && ip.endsWith("6")),
      isInNetworks: (ip) => ip.startsWith("192.0.2.") && !(isSmaller && ip.endsWith("4")),
    };
  }

  #newSpread(): SpreadPolicy {
    const refused = this.#chance.oneIn(3) ? ["192.0.2.128/27", "192.0.2.192/29"] : [];
    const ban = { repeatWindowSeconds: this.#chance.oneOf([0, 300]) };
    return spreadTerms(this.#chance.oneOf(METHODS), { refused, ban });
  }

  async #broken(): Promise<string[]> {
    const { engine, announcer, disk, file } = this.#run;
    const now = policy(this.#overrides);
    const active = [...engine.active.values()];
    const wanted = active.flatMap((ban) => wantedRoutes(ban).map(routeKey)).sort();
    const placed = active.filter((one) => !isWatching(one));
    this.#mostBans = Math.max(now.maxActiveBans, Math.min(this.#mostBans, placed.length));
    for (const ban of engine.all()) this.#note(ban);
    await flush(engine);
    const stored = [...disk.values()].filter(({ state }) => state === "active").map(({ id }) => id);
    const promises: readonly BanPromise[] = [
      ...active.flatMap((ban) => this.#promisesOf(ban, now)),
      [
        wanted.join() === announcer.wanted.join(),
        `the announcer has ${announcer.wanted.join()} and not ${wanted.join()}`,
      ],
      [placed.length <= this.#mostBans, `${placed.length} bans, of ${this.#mostBans}`],
      [
        file.isHeld ||
          stored.sort().join() ===
            [...engine.active.values()]
              .map(({ id }) => id)
              .sort()
              .join(),
        "the store has other bans",
      ],
    ];
    this.#wasHere = this.#isHere;
    return promises.flatMap(([isKept, fault]) => (isKept ? [] : [fault]));
  }

  #promisesOf(ban: Ban, now: MitigationPolicy): BanPromise[] {
    const { target, expiresAt, holdUntil, heldBy, prefix } = ban;
    const unbannable = unbannableFor(prefix, now);
    const isHeld = holdUntil !== null && this.#wallMs < holdUntil;
    const holders = heldBy.map((id) => this.#attacks.get(id));
    const isPartOf = (attack: Attack | undefined) => {
      const attacked = attack === undefined ? null : prefixUnderAttack(attack);
      return attacked === null || (attacked.length <= prefix.length && prefixContains(attacked, target));
    };
    return [
      [expiresAt > this.#wallMs && expiresAt <= this.#wallMs + 2_592_000_000, `${target} has no expiry`],
      [unbannable === null, `${prefix.text} is banned: ${unbannable}`],
      [target === prefix.address, `${prefix.text} has the target ${target}`],
      [!hasNoScrubTarget(ban), `${prefix.text} is in force without a target to divert to`],
      [isOneAddress(prefix) || ban.fallback === null, `${prefix.text} has a fallback`],
      [holders.every(isPartOf), `${prefix.text} is no part of what it is banned for`],
      [ban.dryRun === (now.dryRun || ban.isVirtualOrder === true), `${target} is not as dry_run says`],
      [!holders.includes(undefined), `${target} is held by an attack that is over`],
      [ban.manual || heldBy.length > 0 || isHeld, `${target} is banned for nothing`],
      [!ban.dryRun || wantedRoutes(ban).length === 0, `${target} is virtual and announced`],
      [this.#keepsRoutes(ban), `${target} scrubs, and its routes went before this machine had its rules`],
      [ban.retiring.length <= 8, `${target} has ${ban.retiring.length} routes of before`],
      [
        ban.retiring.length === 0 || routesOf(ban.measure, prefix).length > 0 || takesPlaceLater(ban.measure),
        `${target} has no routes, and ${ban.retiring.map(routeKey).join()} of before stay`,
      ],
    ];
  }

  /** The routes of before stay while this machine has not what takes their place. */
  #keepsRoutes(ban: Ban): boolean {
    const before = this.#rungs.get(ban.id);
    this.#rungs.set(ban.id, ban);
    if (before !== undefined && ban.step < before.step) this.seen.add("eased");
    if (!this.#wasHere && ban.measure.kind === "scrub" && ban.retiring.length > 0) this.seen.add("kept till here");
    if (before?.measure.kind !== "scrub" || ban.measure.kind !== "scrub" || ban.dryRun) return true;
    return this.#wasHere || ban.retiring.length >= before.retiring.length;
  }

  #note(ban: Ban): void {
    const { id, state, measure, prefix, reason, fallback } = ban;
    const isMoved = (this.#prefixes.get(id) ?? prefix.text) !== prefix.text;
    this.#prefixes.set(id, prefix.text);
    this.seen.add(state === "active" ? measure.kind : state);
    if (ban.repeat > 0) this.seen.add("repeat");
    if (state === "active" && !isOneAddress(prefix)) this.seen.add("prefix");
    if (isMoved) this.seen.add("moved");
    if (ban.retiring.length > 0) this.seen.add("retiring");
    if (measure.kind === "flowspec" && foundNone(measure)) this.seen.add("no rules");
    if (fallback === NO_RULES_FOUND) this.seen.add("fallback without rules");
    if (measure.kind === "divert" && measure.node !== null) this.seen.add("node");
    if (reason === ALL_NODES_LOST || fallback === ALL_NODES_LOST) this.seen.add("nodes lost");
  }

  /** undefined: there is none. */
  #attack(isAny: (attack: Attack) => boolean = () => true): Attack | undefined {
    return this.#chance.oneOf([...this.#attacks.values()].filter(isAny));
  }
}

const { SEED: seed = "" } = process.env;
const seeds = seed === "" ? newSeeds(8) : [Number(seed)];
const steps = Number(process.env["STEPS"] ?? 2000);

test.each(seeds)("invariants of bans hold under random events (SEED=%d)", async (seed) => {
  const simulation = new BanSimulation(seed);
  for (let step = 0; step < steps; step++) {
    const faults = await simulation.step();
    if (faults.length > 0)
      throw new Error(`SEED=${seed}, step ${step}, after ${simulation.lastEvents.join(", ")}: ${faults.join("; ")}`);
  }
  // A simulation without events would prove nothing.
  if (steps >= 4000) {
    expect([...simulation.seen].sort()).toEqual(
      expect.arrayContaining([
        ...["blackhole", "divert", "flowspec", "moved", "prefix", "rejected", "repeat", "retiring", "withdrawn"],
        ...["node", "nodes lost", "held", "eased"],
      ]),
    );
    expect(simulation.simulatedMs).toBeGreaterThan(3_600_000);
  }
  for (const what of simulation.seen) seen.add(what);
});

/** In all simulations together. */
const seen = new Set<string>();

afterAll(() => {
  // Too rare for each of them.
  if (seeds.length < 8 || steps < 4000) return;
  for (const rare of ["kept till here", "no rules", "fallback without rules"]) expect(seen).toContain(rare);
});

function newSeeds(count: number): number[] {
  return Array.from({ length: count }, () => Math.trunc(Math.random() * 2 ** 32));
}
