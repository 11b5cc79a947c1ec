/** Floods to all victims, by mirrors and by routers that export flow records. */
import { sendFrom, type TrafficOptions } from "../world.ts";
import { THRESHOLD_PPS, VICTIMS } from "./cluster-config.ts";
import type { ClusterWorld } from "./cluster-world.ts";

const SECONDS_MAX = 300;

export class Floods {
  readonly #world: ClusterWorld;
  readonly #running: readonly Promise<unknown>[];

  /** They begin at once. */
  constructor(world: ClusterWorld) {
    this.#world = world;
    const { mirrored, diverted, exported, first, second } = VICTIMS;
    const mirrors = ["wire1", "wire2"].flatMap((wire) => [this.#send(mirrored, wire), this.#send(diverted, wire)]);
    this.#running = [...mirrors, ...[exported, first, second].map((victim, i) => this.#send(victim, `flow${i}`))];
  }

  /** Resolves when none is sent any more. */
  async stop(): Promise<void> {
    // Nothing else runs there.
    for (const pid of this.#world.network.attacker.pids()) process.kill(pid, "SIGTERM");
    await Promise.all(this.#running);
  }

  /** It is ended by a signal. */
  #send(target: string, dev: string): Promise<unknown> {
    const traffic: TrafficOptions = {
      ...{ profile: "udp", target, pps: 3 * THRESHOLD_PPS, seconds: SECONDS_MAX, dev, path: "socket" },
    };
    return sendFrom(this.#world.network.attacker, traffic).catch(() => null);
  }
}
