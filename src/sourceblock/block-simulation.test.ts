/**
 * A random simulation of source blocks: requests, time, reloads, failures of disk and kernel, and crashes at any step
 * of any write, each followed by a start with the remaining state. SEED repeats a run.
 */

import { expect, test } from "bun:test";
import {
  type Bench,
  bench,
  flush,
  ipv4,
  order,
  TableKernel,
  TableStore,
  unsavedOf,
} from "../../test/fixtures/mitigation/source-blocks.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { NO_TENANTS } from "../access/shares.ts";
import type { SourceBlockPolicy } from "./admission.ts";
import { pairName } from "./source-block.ts";

const STEPS = 20_000;

class Killed extends Error {}

/** The last answer to callers: until when a pair is blocked, or that it is not. null: a failure, or no answer. */
type LastAnswer = { readonly expiresAt: number } | "not blocked" | null;

class Simulation {
  readonly #random: () => number;
  readonly #kernel = new TableKernel();
  readonly #store = new TableStore();
  readonly #answers = new Map<string, LastAnswer>();
  /** Pairs whose end was answered as not saved yet. */
  readonly #unsaved = new Set<string>();
  #policy: Partial<SourceBlockPolicy> = {};
  #process: Bench;
  #now = 0;
  /** Steps of store and kernel until the process crashes; no crash if a request ends before. */
  #left = Number.POSITIVE_INFINITY;
  deaths = 0;
  failures = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    const mayDie = () => {
      if (this.#left-- <= 0) throw new Killed();
    };
    this.#kernel.before = mayDie;
    this.#store.before = mayDie;
    this.#process = this.#start();
  }

  async step(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.5) await this.#order();
    else if (dice < 0.8) this.#pass(this.#random() * 4000);
    else if (dice < 0.85) this.#breakOrMend();
    else if (dice < 0.9) this.#reload();
    else if (dice < 0.93) await this.#flush();
    else if (dice < 0.94) this.#restart();
    this.#check();
  }

  async #flush(): Promise<void> {
    const { blocks } = this.#process;
    await flush(blocks);
    if (unsavedOf(blocks) === 0) this.#unsaved.clear();
  }

  /** What was answered as not saved yet may be lost. */
  #restart(): void {
    for (const name of this.#unsaved) this.#answers.set(name, null);
    this.#unsaved.clear();
    this.#process = this.#start();
  }

  #start(): Bench {
    return bench({ kernel: this.#kernel, store: this.#store, policy: this.#policy, wallMs: this.#now });
  }

  async #order(): Promise<void> {
    const { blocks } = this.#process;
    const source = ipv4(Math.floor(this.#random() * 5));
    const victim = `192.0.2.${Math.floor(this.#random() * 10)}`;
    const asked = order({ source, victim, ttlSeconds: 1 + Math.floor(this.#random() * 30) });
    const isBlock = this.#random() < 0.7;
    if (this.#random() < 0.2) this.#left = Math.floor(this.#random() * 5);
    try {
      const answer = await (isBlock ? blocks.block(asked, () => this.#now) : blocks.unblock(asked, this.#now));
      if (answer.kind === "done") {
        if (!answer.isSaved) this.#unsaved.add(pairName(asked));
        this.#answers.set(pairName(asked), isBlock ? { expiresAt: answer.view.block.expiresAt } : "not blocked");
      } else if (answer.refusal === "not_blocked") this.#answers.set(pairName(asked), "not blocked");
    } catch {
      this.failures++;
      // After a failed install the state of the source is unknown; after another failed request nothing changed.
      if (isBlock || this.#isDead) this.#forgetSource(source);
    }
    if (this.#isDead) this.#die();
    this.#left = Number.POSITIVE_INFINITY;
  }

  /** Regardless of how the code handles the exception: after a crash it would not have run. */
  get #isDead(): boolean {
    return this.#left < 0;
  }

  #die(): void {
    this.deaths++;
    this.#left = Number.POSITIVE_INFINITY;
    this.#restart();
  }

  #pass(ms: number): void {
    this.#now += ms;
    this.#process.blocks.tick(this.#now);
    // The kernel expires pairs itself.
    for (const [name, { expiresAtMs }] of this.#kernel.pairs) {
      if (expiresAtMs <= this.#now) this.#kernel.pairs.delete(name);
    }
  }

  #breakOrMend(): void {
    this.#store.isBroken = this.#random() < 0.3;
    this.#kernel.broken.clear();
    for (const operation of ["put", "remove", "read"] as const) {
      if (this.#random() < 0.3) this.#kernel.broken.add(operation);
    }
  }

  #reload(): void {
    const banned = ipv4(Math.floor(this.#random() * 8));
    this.#policy = { dryRun: this.#random() < 0.2, isAllowlisted: (ip) => ip === banned };
    this.#forgetSource(banned);
    const { isWhitelisted, isInNetworks } = { isWhitelisted: () => false, isInNetworks: isProtected };
    const bounds = { hasDataplane: true, maxDynamicRules: 36, maxActiveBans: 2, slotsPerBan: 8, dryRun: false };
    const alone = { standingRules: 0, callers: NO_TENANTS };
    const plain = { ...bounds, ...alone, isWhitelisted, isInNetworks, isOwn: () => false, isAllowlisted: () => false };
    this.#process.blocks.reconfigure({ ...plain, ...this.#policy }, this.#now);
  }

  #forgetSource(source: string): void {
    for (const name of this.#answers.keys()) if (name.startsWith(`${source}->`)) this.#answers.set(name, null);
  }

  /** The last answers are true, and a working kernel holds the wanted pairs. */
  #check(): void {
    const live = new Map([...this.#process.blocks.live(this.#now)].map(({ block }) => [pairName(block), block]));
    for (const [name, answer] of this.#answers) {
      if (answer === "not blocked") expect(live.has(name)).toBe(false);
      else if (answer !== null)
        expect(live.get(name)?.expiresAt ?? 0).toBe(answer.expiresAt > this.#now ? answer.expiresAt : 0);
    }
    for (const block of live.values()) {
      if (this.#answers.get(pairName(block)) !== null) expect(this.#store.blocks.get(pairName(block))).toEqual(block);
    }
    if (this.#kernel.broken.size > 0) return;
    this.#process.blocks.tick(this.#now);
    const wanted = this.#policy.dryRun === true ? [] : [...live.keys()].toSorted();
    expect(this.#kernel.names).toEqual(wanted);
  }
}

function isProtected(ip: string): boolean {
  return ip.startsWith("192.0.2.");
}

test(`${STEPS} steps lose no block that was acknowledged, and revive none`, async () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const simulation = new Simulation(seed);
  for (let step = 0; step < STEPS; step++) await simulation.step();
  console.log(`${simulation.deaths} deaths, ${simulation.failures} orders failed`);
  expect(simulation.deaths).toBeGreaterThan(100);
}, 60_000);
