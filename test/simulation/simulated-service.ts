/**
 * One process of the service in the simulation: all of Floodwall as `serve` builds it, on a clock that is moved by hand,
 * with a real state database. It is killed, stopped and started again on the same folder.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Speaker } from "../../src/bgp/speaker/speaker.ts";
import { loadConfig } from "../../src/config/load/load.ts";
import type { FilterOpener } from "../../src/dataplane/data-plane.ts";
import type { Native } from "../../src/dataplane/native.d.ts";
import type { LearnedRates } from "../../src/detection/baseline/learned-rates.ts";
import type { BaselineKeeper } from "../../src/detection/baseline/learning-loop.ts";
import { openLog } from "../../src/observability/log.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import { ServiceBackend } from "../../src/service/backend.ts";
import { Floodwall } from "../../src/service/floodwall.ts";
import { BaselineFile } from "../../src/storage/baseline-file.ts";
import type { StateChange } from "../../src/storage/state-change.ts";
import { StateDatabase, StateDatabaseError } from "../../src/storage/state-database.ts";
import { nextTurn } from "../../src/system/timers.ts";
import { TestEdge } from "../fixtures/edge/edge.ts";
import { ManualClock, ManualTimers } from "../fixtures/manual-clock.ts";
import { localStore } from "../fixtures/storage/memory-state.ts";
import type { SimulatedSpeaker } from "./simulated-speaker.ts";

export interface SimulatedServiceOptions {
  readonly directory: string;
  readonly yaml: string;
  readonly wallMs: number;
  readonly native: Native;
  readonly speaker: SimulatedSpeaker;
  /** Default: no packets are dropped on this machine. */
  readonly filterOpener?: FilterOpener;
  /** Throws if the file of baselines cannot be opened now. Default: it can. */
  readonly opening?: () => void;
  /** Lines of the log at level error. */
  readonly onError: (line: string) => void;
}

export class SimulatedService {
  readonly clock: ManualClock;
  readonly floodwall: Floodwall;
  readonly service: ServiceBackend;
  readonly state: BreakableState;
  readonly #options: SimulatedServiceOptions;
  readonly #keeper: WaitedKeeper;
  #isGone = false;

  /** A process that starts. */
  constructor(options: SimulatedServiceOptions) {
    this.#options = options;
    const { directory, wallMs, native, speaker, filterOpener = null, opening = () => {}, onError } = options;
    this.clock = new ManualClock(new Date(wallMs).toISOString());
    const { clock } = this;
    this.#writeConfig(options.yaml);
    const loaded = loadConfig(this.#configPath);
    if (loaded.kind === "invalid") throw new Error(loaded.problems.map(({ line, rule }) => `${line}: ${rule}`).join());
    this.state = new BreakableState(directory);
    this.#keeper = new WaitedKeeper(new BaselineFile(directory), opening);
    const timers = new ManualTimers(clock);
    this.floodwall = new Floodwall({
      config: loaded.config,
      configPath: this.#configPath,
      state: localStore(this.state, timers, () => this.state.delay(timers)),
      native,
      filterOpener,
      clock,
      timers,
      environment: { read: () => null },
      log: openLog({ level: "error", clock, destination: { write: onError } }),
      metrics: unscrapedMetrics,
      speaker: this.#reachable(speaker),
      baselineKeeper: this.#keeper,
      profileKeeper: { load: async () => 0, save: async () => {} },
    });
    const edge = new TestEdge(clock, new ManualTimers(clock));
    this.service = new ServiceBackend(this.floodwall, "simulation", { edge });
    this.floodwall.start();
  }

  /** Lets time pass, and all that is due in it happen. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await nextTurn();
    await this.#keeper.idle();
  }

  reload(yaml: string) {
    this.#writeConfig(yaml);
    return this.service.reload();
  }

  /** As by SIGKILL: what was not on disk is lost, and no connection is closed properly. */
  async kill(): Promise<void> {
    this.#isGone = true;
    await this.#keeper.idle();
    this.#options.speaker.disconnect();
    this.state.close();
  }

  /** As by SIGTERM. @param pass lets time pass, with advance(). */
  async stop(pass: (ms: number) => Promise<void>): Promise<void> {
    let isStopped = false;
    void this.floodwall.stop().then(() => {
      isStopped = true;
    });
    // It waits for the speaker, and no longer than for its own deadline.
    for (let i = 0; i < 100 && !isStopped; i++) await pass(100);
    if (!isStopped) throw new Error("the service does not stop");
    this.#options.speaker.disconnect();
  }

  /** What a killed process waited for may still come: it must not connect again. */
  #reachable(speaker: SimulatedSpeaker): Speaker {
    return {
      ...speaker.forProcess(this.clock),
      connect: () => (this.#isGone ? new Promise<never>(() => {}) : speaker.connect()),
    };
  }

  get #configPath(): string {
    return join(this.#options.directory, "floodwall.yaml");
  }

  #writeConfig(yaml: string): void {
    writeFileSync(this.#configPath, yaml);
  }
}

/** Nothing scrapes here, and what would read the gauges of a process that is gone must not keep it in memory. */
const unscrapedMetrics = new Metrics("simulation");
unscrapedMetrics.beforeScrape = () => {};

/** On a disk that refuses or is slow. */
export class BreakableState extends StateDatabase {
  isBroken = false;
  /** Time that each write takes from now on. */
  delayMs = 0;
  #delayed = 0;

  /** Whether a write waits, or the next one would. */
  get isSlow(): boolean {
    return this.delayMs > 0 || this.#delayed > 0;
  }

  /** null: the disk is fast. */
  delay(timers: Pick<ManualTimers, "after">): Promise<void> | null {
    if (this.delayMs === 0) return null;
    this.#delayed++;
    return new Promise((resolve) =>
      timers.after(this.delayMs, () => {
        this.#delayed--;
        resolve();
      }),
    );
  }

  override write(changes: readonly StateChange[]): void {
    if (this.isBroken) throw new StateDatabaseError("the simulated disk is full");
    super.write(changes);
  }
}

/** A file is read and written in real time, during which simulated time stands still. */
class WaitedKeeper implements BaselineKeeper {
  readonly #keeper: BaselineKeeper;
  readonly #opening: () => void;
  #work: Promise<unknown> | null = null;

  constructor(keeper: BaselineKeeper, opening: () => void) {
    this.#keeper = keeper;
    this.#opening = opening;
  }

  async load(rates: LearnedRates, nowSeconds: number): Promise<number> {
    this.#opening();
    return this.#waited(this.#keeper.load(rates, nowSeconds));
  }

  async save(rates: LearnedRates, nowSeconds: number): Promise<void> {
    this.#opening();
    return this.#waited(this.#keeper.save(rates, nowSeconds));
  }

  async idle(): Promise<void> {
    if (this.#work === null) return;
    await this.#work.catch(() => {});
    this.#work = null;
    // What waited for it goes on, perhaps to the next piece of work.
    await nextTurn();
    await nextTurn();
    await this.idle();
  }

  #waited<T>(work: Promise<T>): Promise<T> {
    this.#work = work;
    return work;
  }
}
