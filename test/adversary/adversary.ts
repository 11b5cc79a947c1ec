/**
 * The world of an attacker who knows the code: pulses, decoys, spoofed sources and traffic just below the limits, while
 * speaker, disk, descriptors and processes fail; then a large flood. One or two services see it, on simulated time.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SpeakerFault } from "../../src/bgp/speaker/speaker-fault.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { address } from "../fixtures/host-rows.ts";
import { Chance, seededRandom } from "../fixtures/seeded-random.ts";
import { drawDeferralMs, SimulatedSpeaker } from "../simulation/simulated-speaker.ts";
import {
  type AdversaryPlan,
  drawPlan,
  FLOOD_PPS,
  HOSTILE_ORDER,
  OWN,
  OWN_FLOOD,
  type Trouble,
  VICTIM,
} from "./adversary-plan.ts";
import { AdversaryPromises } from "./adversary-promises.ts";
import { AdversaryService } from "./adversary-service.ts";
import { DecoyTraffic } from "./decoy-traffic.ts";
import { Hugger } from "./hugger.ts";

/** Power is never lost here: in memory, where that can be had. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const SPEAKER_DEADLINE_MS = 2000;
/** Of the slowest disk: longer than an order waits. */
const SLOW_WRITE_MS = 20_000;
/** All ends, expiries and retries after the last attack: a hysteresis, a repeat hold, a comparison of all routes. */
const QUIET_SECONDS = 110;

export class Adversary {
  readonly plan: AdversaryPlan;
  readonly traffic: DecoyTraffic;
  readonly speaker: SimulatedSpeaker;
  readonly services: readonly AdversaryService[];
  readonly promises: AdversaryPromises;
  /** Of those whose mitigation is judged, beside the flooded one. */
  readonly pulsed: readonly IpAddress[];
  readonly hugger: Hugger;
  nowMs = 0;
  /** When the speaker, or the end of a process, last disturbed the link between them. */
  troubleAtMs = 0;
  /** When the link last broke, and since when no descriptors were left. */
  brokenAtMs = 0;
  fullAtMs = 0;
  /** Counts of what happened. */
  readonly happened = new Map<string, number>();
  readonly #chance: Chance;
  readonly #directory = mkdtempSync(join(FOLDER, `floodwall-adversary-${process.pid}-`));
  readonly #ends: { readonly atMs: number; readonly end: () => void }[] = [];
  #decoyDueMs = 0;
  #decoys = 0;
  #isQuiet = false;

  constructor(seed: number) {
    // Neighboring seeds would begin with nearly the same numbers.
    this.#chance = new Chance(seededRandom(Math.imul(seed, 0x9e3779b1)));
    this.plan = drawPlan(this.#chance);
    const { plan } = this;
    this.traffic = new DecoyTraffic(plan.stepMs);
    this.pulsed = Array.from({ length: plan.pulsed }, (_, i) => address(`198.18.4.${i + 1}`));
    this.hugger = new Hugger(this, VICTIM);
    this.promises = new AdversaryPromises(this);
    this.speaker = new SimulatedSpeaker({
      wallMs: () => Date.UTC(2026, 0, 1) + this.nowMs,
      deadline: () => this.#deadline(),
      onPath: (path) => this.promises.pathIsTaken(path),
      deferrals: { nowMs: () => this.nowMs, drawMs: () => drawDeferralMs(this.#chance) },
    });
    this.services = Array.from({ length: plan.services }, (_, i) => this.#newService(i + 1));
  }

  /** Returns the broken promises. */
  async run(): Promise<readonly string[]> {
    const { leadMs, floodMs, pulse, pulsePps } = this.plan;
    const endsAtMs = leadMs + floodMs;
    // Packets of an attack are sampled: without, a rule for all traffic of the victim waits for them.
    for (const ip of this.pulsed) this.#begin(ip, { pps: pulsePps, endsAtMs, pulse, isSpoofed: true });
    while (this.nowMs < leadMs && !this.promises.areBroken) await this.#step();
    this.#begin(VICTIM, { pps: FLOOD_PPS, endsAtMs, isSpoofed: true });
    while (this.nowMs < endsAtMs && !this.promises.areBroken) await this.#step();
    await this.#quiet();
    return this.promises.broken;
  }

  close(): void {
    for (const { process } of this.services) process?.state.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** All attacks and troubles end. */
  async #quiet(): Promise<void> {
    this.#isQuiet = true;
    for (const { end } of this.#ends.splice(0)) end();
    const endsAtMs = this.nowMs + 1000 * QUIET_SECONDS;
    while (this.nowMs < endsAtMs && !this.promises.areBroken) {
      await this.#step();
      for (const service of this.services) await service.unbanAll();
    }
    if (!this.promises.areBroken) this.promises.nothingIsLeft();
  }

  async #step(): Promise<void> {
    const beforeMs = this.nowMs;
    // Nothing but time is left to pass.
    this.nowMs += this.#isQuiet ? 1000 : this.plan.stepMs;
    for (const due of this.#ends.filter(({ atMs }) => atMs <= this.nowMs)) {
      this.#ends.splice(this.#ends.indexOf(due), 1);
      due.end();
    }
    if (!this.#isQuiet) this.#attack();
    const { stepMs } = this.plan;
    for (let ms = beforeMs + stepMs; ms <= this.nowMs; ms += stepMs) this.traffic.pass(ms, () => false);
    for (const service of this.services) await service.advanceTo(this.nowMs);
    if (!this.#isQuiet) await this.#trouble();
    // What it set off, as far as no time must pass for it.
    for (const { process } of this.services) await process?.advance(0);
    this.promises.look();
  }

  #attack(): void {
    const { plan } = this;
    const endsAtMs = this.nowMs + plan.stepMs;
    for (let i = 0; i < plan.sprayed; i++) this.#begin(this.#anyOf("198.19"), { pps: 10, endsAtMs });
    if (plan.hugs && this.nowMs < plan.leadMs) this.hugger.send();
    for (; plan.decoyEveryMs !== null && this.#decoyDueMs <= this.nowMs; this.#decoyDueMs += plan.decoyEveryMs) {
      const decoy = address(`198.18.${64 + ((this.#decoys >> 8) % 64)}.${this.#decoys & 255}`);
      this.#decoys++;
      this.#begin(decoy, { pps: this.#chance.logarithmic(1e5, FLOOD_PPS / 2), endsAtMs: this.nowMs + 1000 });
    }
    if (!plan.floodsOwn || !this.#chance.oneIn(50)) return;
    this.#happens(OWN_FLOOD);
    for (let i = 0; i < 14; i++)
      this.#begin(address(`198.18.0.${i + 1}`), { pps: 60_000, endsAtMs: this.nowMs + 5000 });
    this.#begin(address(this.#chance.oneOf(OWN)), { pps: 1e6, endsAtMs: this.nowMs + 5000 });
  }

  #begin(ip: IpAddress, stream: Partial<Parameters<DecoyTraffic["begin"]>[0]> & { pps: number; endsAtMs: number }) {
    this.traffic.begin({ ip, packetBytes: 64, linger: null, ...stream });
  }

  #anyOf(start: string): IpAddress {
    return address(`${start}.${this.#chance.below(256)}.${this.#chance.below(256)}`);
  }

  async #trouble(): Promise<void> {
    const { troubles, troubleEveryMs, stepMs } = this.plan;
    await this.#hostileTenant();
    const isOrdered = this.speaker.isDeferring || this.#chance.oneIn(40);
    if (isOrdered) await this.#chance.oneOf(this.services).order(this.#chance);
    if (troubles.length === 0 || this.#chance.random() > stepMs / troubleEveryMs) return;
    const trouble = this.#chance.oneOf(troubles);
    this.#happens(trouble);
    await this.#begins(trouble, this.#chance.oneOf(this.services), this.#chance.logarithmic(200, 20_000));
  }

  async #hostileTenant(): Promise<void> {
    const { hostileOrders } = this.plan;
    if (hostileOrders === 0) return;
    for (const service of this.services) await service.hostileOrders(hostileOrders, this.#chance);
    this.happened.set(HOSTILE_ORDER, (this.happened.get(HOSTILE_ORDER) ?? 0) + hostileOrders);
  }

  async #begins(trouble: Trouble, service: AdversaryService, forMs: number): Promise<void> {
    const { nowMs } = this;
    const state = service.process?.state;
    switch (trouble) {
      case "speaker dies":
        this.#speakerIs("isRunning", false, forMs);
        return;
      case "speaker freezes":
        this.#speakerIs("isFrozen", true, forMs);
        return;
      case "disk full":
        if (state === undefined) return;
        state.isBroken = true;
        this.#after(forMs, () => Object.assign(state, { isBroken: false }));
        return;
      case "disk slow":
        if (state === undefined) return;
        state.delayMs = Math.round(this.#chance.logarithmic(100, SLOW_WRITE_MS));
        this.#after(forMs, () => Object.assign(state, { delayMs: 0 }));
        return;
      case "no descriptors":
        service.hasNoDescriptors = true;
        this.#speakerIs("isFull", true, forMs);
        this.#after(forMs, () => {
          service.hasNoDescriptors = false;
        });
        return;
      case "kill":
      case "stop":
        this.troubleAtMs = nowMs;
        this.brokenAtMs = nowMs;
        await service.end({ isClean: trouble === "stop", nowMs, downMs: this.#chance.oneIn(2) ? 0 : forMs });
        return;
      default:
        trouble satisfies never;
    }
  }

  #speakerIs(what: "isRunning" | "isFrozen" | "isFull", value: boolean, forMs: number): void {
    this.speaker[what] = value;
    this.troubleAtMs = this.nowMs;
    if (what === "isFull") this.fullAtMs = this.nowMs;
    else this.brokenAtMs = this.nowMs;
    this.#after(forMs, () => {
      this.speaker[what] = !value;
      this.troubleAtMs = this.nowMs;
    });
  }

  #after(ms: number, end: () => void): void {
    this.#ends.push({ atMs: this.nowMs + ms, end });
  }

  #happens(what: string): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1);
  }

  #newService(instance: number): AdversaryService {
    const { plan, traffic, speaker } = this;
    const directory = join(this.#directory, `${instance}`);
    const onError = (line: string) => this.promises.errorIsLogged(line);
    return new AdversaryService({ plan, instance, directory, traffic, speaker, onError });
  }

  #deadline(): Promise<never> {
    const fault = new SpeakerFault("ListPeer", "the simulated speaker does not answer", "silent");
    return new Promise((_, reject) => this.#after(SPEAKER_DEADLINE_MS, () => reject(fault)));
  }
}
