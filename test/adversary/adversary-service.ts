/** One of the services that an adversary attacks: its process comes and goes, its files and kernel maps stay. */
import { mkdirSync } from "node:fs";
import { keyOf, type RouteKey } from "../../src/bgp/route-path.ts";
import type { FilterOpener } from "../../src/dataplane/data-plane.ts";
import { type Ban, wantedRoutes } from "../../src/mitigation/ban.ts";
import { plainOrder } from "../../src/mitigation/order/ban-order.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { TableFilters } from "../fixtures/dataplane/table-filter.ts";
import { address } from "../fixtures/host-rows.ts";
import type { Chance } from "../fixtures/seeded-random.ts";
import { type CountedTraffic, simulatedNative } from "../simulation/simulated-counter.ts";
import { SimulatedService } from "../simulation/simulated-service.ts";
import type { SimulatedSpeaker } from "../simulation/simulated-speaker.ts";
import { type AdversaryPlan, adversaryYaml, HOSTILE, HOSTILE_ADDRESSES } from "./adversary-plan.ts";

const WALL_MS = Date.UTC(2026, 0, 1);

export interface AdversaryServiceOptions {
  readonly plan: AdversaryPlan;
  readonly instance: number;
  readonly directory: string;
  readonly traffic: CountedTraffic;
  readonly speaker: SimulatedSpeaker;
  readonly onError: (line: string) => void;
}

export class AdversaryService {
  readonly instance: number;
  readonly filters = new TableFilters();
  /** null: it does not run now. */
  process: SimulatedService | null = null;
  startedAtMs = 0;
  hasNoDescriptors = false;
  /** The process did not run, last at this time. */
  idleAtMs = 0;
  /** What an operator ordered, and was acknowledged. */
  readonly banned = new Set<IpAddress>();
  readonly unbanned = new Set<IpAddress>();
  /** What the hostile tenant ordered, and perhaps ended. */
  readonly hostile = new Set<IpAddress>();
  readonly blocked = new Set<string>();
  /** Those that were in the kernel. */
  readonly installed = new Set<string>();
  readonly #options: AdversaryServiceOptions;
  /** The process starts again then. */
  #upAtMs = 0;
  /** A process that has not ended yet. */
  #ending: SimulatedService | null = null;

  constructor(options: AdversaryServiceOptions) {
    this.#options = options;
    this.instance = options.instance;
    mkdirSync(options.directory, { recursive: true });
  }

  get bans(): Ban[] {
    return [...((this.process ?? this.#ending)?.floodwall.bans.active.values() ?? [])];
  }

  get wanted(): Set<RouteKey> {
    return new Set(this.bans.flatMap((ban) => wantedRoutes(ban).map(keyOf)));
  }

  /** Time passes until `nowMs`. */
  async advanceTo(nowMs: number): Promise<void> {
    const running = this.process ?? this.#ending;
    if (this.process === null) this.idleAtMs = nowMs;
    if (running === null) {
      if (nowMs >= this.#upAtMs) this.#start(nowMs);
      return;
    }
    await running.advance(nowMs - this.startedAtMs - running.clock.monotonicMs());
  }

  /** @param isClean as by SIGTERM, or else by SIGKILL. */
  async end({ isClean, nowMs, downMs }: { isClean: boolean; nowMs: number; downMs: number }): Promise<void> {
    const { process } = this;
    if (process === null) return;
    this.process = null;
    this.#upAtMs = nowMs + downMs;
    this.#ending = process;
    if (!isClean) {
      await process.kill();
      this.#ending = null;
      return;
    }
    void process.floodwall.stop().then(() => {
      this.#options.speaker.disconnect();
      this.#ending = null;
    });
  }

  /** A command of an operator, on addresses and sources without traffic. */
  async order(chance: Chance): Promise<void> {
    const { process } = this;
    // On a full or slow disk an order waits for time to pass: ban-simulation.test.ts has these.
    if (process === null || process.state.isBroken || process.state.isSlow) return;
    const target = address(`198.18.200.${1 + chance.below(20)}`);
    const source = address(`192.0.2.${1 + chance.below(100)}`);
    const ttlSeconds = 86_400;
    try {
      if (chance.oneIn(3)) {
        await process.service.unban(target);
        this.banned.delete(target);
        this.unbanned.add(target);
      } else if (chance.oneIn(2)) {
        if ((await process.service.ban(plainOrder(target))).ban.state !== "active") return;
        this.banned.add(target);
        this.unbanned.delete(target);
      } else {
        const { kind } = await process.service.blockSource({ source, victim: target, ttlSeconds, reason: "" });
        if (kind === "done") this.blocked.add(`${source}->${target}`);
      }
    } catch (cause) {
      // The filter may not be open yet: all blocks of the source end (docs/interface.md#source-block-install-failure).
      if (process.floodwall.dataPlane?.isUp() !== false) throw cause;
      for (const pair of [...this.blocked].filter((one) => one.startsWith(`${source}->`))) {
        this.blocked.delete(pair);
        this.installed.delete(pair);
      }
    }
  }

  /** Of the tenant that has turned hostile: bans and unbans of its own addresses, as many as it gets. */
  async hostileOrders(count: number, chance: Chance): Promise<void> {
    const { process } = this;
    for (let i = 0; i < count && process !== null; i++) {
      if (process.state.isBroken || process.state.isSlow) return;
      const target = address(`${HOSTILE_ADDRESSES}.${chance.below(256)}`);
      if (chance.oneIn(3)) await process.service.unban(target);
      else if ((await process.service.ban(plainOrder(target), HOSTILE)).ban.state === "active")
        this.hostile.add(target);
    }
  }

  async unbanAll(): Promise<void> {
    const { process } = this;
    if (process === null || process.state.isSlow) return;
    for (const target of [...this.banned, ...this.hostile]) await process.service.unban(target);
    this.banned.clear();
    this.hostile.clear();
  }

  #start(nowMs: number): void {
    const { plan, instance, directory, traffic, speaker, onError } = this.#options;
    this.startedAtMs = nowMs;
    this.process = new SimulatedService({
      directory,
      yaml: adversaryYaml(plan, { stateDir: directory, instance }),
      wallMs: WALL_MS + nowMs,
      native: simulatedNative(traffic, () => this.#opening()),
      speaker,
      filterOpener: this.#opener(),
      opening: () => this.#opening(),
      onError,
    });
  }

  #opening(): void {
    if (this.hasNoDescriptors) throw new Error("EMFILE: too many open files");
  }

  #opener(): FilterOpener {
    const { readPinned, open } = this.filters;
    return {
      readPinned,
      open: (options) => {
        this.#opening();
        return open(options);
      },
    };
  }
}
