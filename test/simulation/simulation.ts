/**
 * The service through weeks of anything, in minutes: floods, orders, reloads, kills, speakers and disks that fail, clocks
 * that are set. All of it, and when, follows from the seed. After each second the promises are looked at.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SpeakerFault } from "../../src/bgp/speaker/speaker-fault.ts";
import { plainOrder } from "../../src/mitigation/order/ban-order.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { address } from "../fixtures/host-rows.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { Promises } from "./promises.ts";
import { simulatedNative } from "./simulated-counter.ts";
import { drawPolicy, type SimulatedPolicy } from "./simulated-policy.ts";
import { SimulatedService } from "./simulated-service.ts";
import { drawDeferralMs, NEIGHBORS, SimulatedSpeaker } from "./simulated-speaker.ts";
import { type Flood, type Host, SimulatedTraffic, SPREAD, VECTORS } from "./simulated-traffic.ts";

/** Power is never lost here, so that nothing has to reach a disk: in memory, where that can be had. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const SPEAKER_DEADLINE_MS = 2000;
/** A quarter of a second at a time: how often bans have their turn. */
const SLICES = 4;
const SLICE_MS = 1000 / SLICES;
const STORE_LOOKED_AT_MS = 60_000;
const EVENTS_KEPT = 20;
const FOREIGN = address("10.9.9.9");
const FLOODS_MAX = 12;
const HOUR = 3600;

export class Simulation {
  readonly seed: number;
  readonly chance: Chance;
  readonly traffic: SimulatedTraffic;
  readonly speaker: SimulatedSpeaker;
  readonly directory = mkdtempSync(join(FOLDER, `floodwall-simulation-${process.pid}-`));
  readonly promises: Promises;
  policy: SimulatedPolicy;
  process: SimulatedService;
  /** Since the simulation began: true time, which no one sets. */
  nowMs = 0;
  /** When each last happened. */
  startedAtMs = 0;
  configuredAtMs = 0;
  clockSetAtMs = Number.NEGATIVE_INFINITY;
  /** Until then the process saw nothing for a while. */
  stalledAtMs = 0;
  /** The speaker or its sessions. */
  speakerChangedAtMs = 0;
  /** Counts of what happened. */
  readonly happened = new Map<string, number>();
  readonly #events: string[] = [];
  /** What ends a trouble, and when. */
  readonly #ends: { readonly atMs: number; readonly end: () => void }[] = [];
  readonly #kinds: readonly (readonly [meanSeconds: number, name: string, happen: () => Promise<void> | void])[];

  constructor(seed: number) {
    this.seed = seed;
    this.chance = new Chance(seededRandom(seed));
    this.traffic = new SimulatedTraffic(this.chance);
    this.policy = drawPolicy(this.chance, this.directory);
    this.promises = new Promises(this);
    this.speaker = new SimulatedSpeaker({
      wallMs: () => this.process?.clock.wallMs() ?? Date.UTC(2026, 0, 1),
      deadline: () => this.#deadline(),
      onPath: (path) => this.promises.pathIsTaken(path),
      deferrals: { nowMs: () => this.nowMs, drawMs: () => drawDeferralMs(this.chance) },
    });
    this.process = this.#newProcess(Date.UTC(2026, 0, 1));
    this.#kinds = [
      [200, "flood", () => this.#flood()],
      [HOUR, "spread flood", () => this.#spreadFlood()],
      [HOUR / 2, "order", () => this.#order()],
      [HOUR / 2, "unban", () => this.#unban()],
      [HOUR, "read", () => this.promises.reads()],
      [2 * HOUR, "reload", () => this.#reload()],
      [2 * HOUR, "kill", () => this.process.kill().then(() => this.#startAgain())],
      [4 * HOUR, "stop", () => this.#stop()],
      [3 * HOUR, "clock set", () => this.#setClock()],
      [2 * HOUR, "stall", () => this.#stall()],
      [HOUR, "session lost", () => this.#loseSessions([this.chance.below(NEIGHBORS.length)])],
      [6 * HOUR, "all sessions lost", () => this.#loseSessions(NEIGHBORS.keys())],
      [4 * HOUR, "speaker restarts", () => this.#speakerTrouble("isRunning", false)],
      [4 * HOUR, "speaker freezes", () => this.#speakerTrouble("isFrozen", true)],
      [4 * HOUR, "speaker refuses", () => this.#speakerTrouble("isRefusing", true)],
      [HOUR, "rules are kept back", () => this.#keepRulesBack()],
      [8 * HOUR, "disk full", () => this.#fillDisk()],
    ];
  }

  /** One second. Returns the promises that are broken. */
  async step(): Promise<readonly string[]> {
    for (let slice = 0; slice < SLICES; slice++) {
      await this.#pass(SLICE_MS);
      for (const [meanSeconds, name, happen] of this.#kinds) {
        if (!this.chance.oneIn(meanSeconds * SLICES)) continue;
        this.note(name);
        await happen();
        // What it set off, as far as no time must pass for it.
        await this.process.advance(0);
      }
      if (this.speaker.isDeferring && this.chance.oneIn(2)) await this.#orderWhileDeferring();
      // A quarter of a second after the tick: what it changed is on disk.
      if (slice === 0 && this.nowMs % STORE_LOOKED_AT_MS === SLICE_MS) this.promises.lookAtStore();
    }
    this.promises.look();
    return this.promises.broken;
  }

  close(): void {
    this.process.state.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** The last events, for people. */
  get lastEvents(): string {
    return this.#events.join("\n");
  }

  /** What there was until now, and how often. */
  get happenings(): string {
    return [...this.happened].map(([what, times]) => `${what} ${times}`).join(", ");
  }

  note(event: string): void {
    const name = event.split(":")[0] as string;
    this.happened.set(name, (this.happened.get(name) ?? 0) + 1);
    this.#events.push(`${(this.nowMs / 1000).toFixed(2)} s ${event}`);
    if (this.#events.length > EVENTS_KEPT) this.#events.shift();
  }

  async #pass(ms: number): Promise<void> {
    this.nowMs += ms;
    for (const due of this.#ends.filter(({ atMs }) => atMs <= this.nowMs)) {
      this.#ends.splice(this.#ends.indexOf(due), 1);
      due.end();
    }
    if (this.nowMs % 1000 === 0) this.traffic.pass(this.nowMs);
    await this.process.advance(ms);
  }

  #newProcess(wallMs: number): SimulatedService {
    this.startedAtMs = this.nowMs;
    this.configuredAtMs = this.nowMs;
    return new SimulatedService({
      directory: this.directory,
      yaml: this.policy.yaml,
      wallMs,
      native: simulatedNative(this.traffic),
      speaker: this.speaker,
      onError: (line) => this.promises.errorIsLogged(line),
    });
  }

  #flood(): void {
    if (this.traffic.floods.length >= FLOODS_MAX) return;
    const { chance } = this;
    this.#begin({
      hosts: [chance.oneOf(this.traffic.hosts)],
      direction: chance.oneIn(4) ? "outgoing" : "incoming",
      vector: chance.oneOf(VECTORS),
      ppsEach: chance.logarithmic(200, 30_000),
      endsAtMs: this.nowMs + 1000 * Math.round(chance.logarithmic(1, 1000)),
    });
  }

  /** Each host stays under its thresholds. */
  #spreadFlood(): void {
    const hosts = SPREAD.map((ip) => this.traffic.of(ip) as Host);
    const endsAtMs = this.nowMs + 1000 * (30 + this.chance.below(300));
    this.#begin({ hosts, direction: "incoming", vector: "udp", ppsEach: 600, endsAtMs });
  }

  #begin(flood: Flood): void {
    const { hosts, direction, vector, ppsEach } = flood;
    this.note(`flooded: ${hosts[0]?.ip} and ${hosts.length - 1}, ${direction} ${vector} ${Math.round(ppsEach)} pps`);
    this.traffic.flood(flood, this.nowMs);
  }

  async #order(): Promise<void> {
    const target = this.#anyAddress();
    try {
      const { ban } = await this.process.service.ban(plainOrder(target));
      this.promises.isOrdered(target, ban);
    } catch (cause) {
      if (!this.process.state.isBroken) throw cause;
    }
  }

  async #unban(): Promise<void> {
    const { floodwall, service } = this.process;
    const banned = [...floodwall.bans.active.values()].map(({ target }) => target);
    const target = banned.length > 0 && !this.chance.oneIn(3) ? this.chance.oneOf(banned) : this.#anyAddress();
    const prefix = `${target}/${target.includes(":") ? 128 : 32}`;
    // In force at once, also on a disk that is full.
    const answer = service.unban(target);
    if (floodwall.bans.active.has(prefix)) this.promises.fail(`${target} is banned after its unban`);
    await answer;
  }

  /** What a neighbor is not sent now. */
  async #orderWhileDeferring(): Promise<void> {
    this.note("order while deferring");
    if (this.chance.oneIn(2)) await this.#order();
    else await this.#unban();
    await this.process.advance(0);
  }

  #anyAddress(): IpAddress {
    return this.chance.oneIn(8) ? FOREIGN : this.chance.oneOf(this.traffic.hosts).ip;
  }

  async #reload(): Promise<void> {
    if (this.chance.oneIn(6)) {
      const outcome = await this.process.reload(`${this.policy.yaml}\nnonsense: 1\n`);
      if (outcome.kind !== "invalid") this.promises.fail("a configuration with an unknown key was taken");
      return;
    }
    this.policy = drawPolicy(this.chance, this.directory);
    this.configuredAtMs = this.nowMs;
    const outcome = await this.process.reload(this.policy.yaml);
    if (outcome.kind === "invalid") this.promises.fail(`a reload was refused: ${outcome.problems.join("; ")}`);
  }

  async #stop(): Promise<void> {
    await this.process.stop((ms) => this.#pass(ms));
    this.#startAgain();
  }

  #startAgain(): void {
    const downMs = this.chance.oneIn(2) ? 0 : 1000 * this.chance.below(60);
    const wallMs = this.process.clock.wallMs() + downMs;
    this.nowMs = 1000 * Math.ceil((this.nowMs + downMs) / 1000);
    this.traffic.pass(this.nowMs);
    if (this.chance.oneIn(3)) this.policy = drawPolicy(this.chance, this.directory);
    this.process = this.#newProcess(wallMs);
  }

  #setClock(): void {
    const { clock } = this.process;
    const byMs = 1000 * Math.round(this.chance.logarithmic(2, 100_000)) * (this.chance.oneIn(2) ? -1 : 1);
    this.note(`clock: by ${byMs / 1000} s`);
    this.promises.clockIsSet();
    this.clockSetAtMs = this.nowMs;
    clock.setWall(new Date(clock.wallMs() + byMs).toISOString());
  }

  /** The machine stands still, and the process with it. */
  async #stall(): Promise<void> {
    await this.#pass(1000 * this.chance.below(30));
    this.stalledAtMs = this.nowMs;
  }

  #loseSessions(indexes: Iterable<number>): void {
    for (const index of indexes) {
      this.#setSession(index, false);
      this.#after(this.#troubleMs(), () => this.#setSession(index, true));
    }
  }

  #setSession(index: number, isUp: boolean): void {
    this.speaker.setSession(index, isUp);
    this.speakerChangedAtMs = this.nowMs;
  }

  /** And another configuration comes in the middle of it: what is to take the place of a route may not be had. */
  async #keepRulesBack(): Promise<void> {
    this.#speakerTrouble("keepsRulesBack", true);
    if (this.chance.oneIn(2)) await this.#reload();
  }

  #speakerTrouble(what: "isRunning" | "isFrozen" | "isRefusing" | "keepsRulesBack", value: boolean): void {
    const { speaker } = this;
    speaker[what] = value;
    this.speakerChangedAtMs = this.nowMs;
    this.#after(this.#troubleMs(), () => {
      speaker[what] = !value;
      this.speakerChangedAtMs = this.nowMs;
    });
  }

  #fillDisk(): void {
    const { state } = this.process;
    state.isBroken = true;
    this.#after(this.#troubleMs(), () => {
      state.isBroken = false;
    });
  }

  #after(ms: number, end: () => void): void {
    this.#ends.push({ atMs: this.nowMs + ms, end });
  }

  #troubleMs(): number {
    return Math.round(1000 * this.chance.logarithmic(0.5, 200));
  }

  #deadline(): Promise<never> {
    const fault = new SpeakerFault("ListPeer", "the simulated speaker does not answer", "silent");
    return new Promise((_, reject) => this.#after(SPEAKER_DEADLINE_MS, () => reject(fault)));
  }
}
