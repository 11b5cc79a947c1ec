/**
 * Warns early about what this machine lacks for the configuration: checks at the start and at each reload, in dry run
 * too, and keeps the problems for the status. No problem stops the service.
 */
import { gobgpdExecutable, gobgpdVersion } from "../bgp/speaker/gobgpd-process.ts";
import { type MachineNative, readMachine } from "../dataplane/machine-reader.ts";

import { type Item, itemLine } from "../machine/item.ts";
import { judgeMachine } from "../machine/judge.ts";
import type { GobgpdFindings, MachineFindings } from "../machine/machine.ts";
import type { MachineNeeds } from "../machine/needs.ts";
import type { Log } from "../observability/log.ts";
import { within } from "../system/deadline.ts";
import type { Timers } from "../system/timers.ts";

/** How long a start waits for the machine check, ms; later findings are logged later. */
export const MACHINE_LOOK_MS = 500;

interface MachineWatchOptions {
  /** See readMachine(). */
  readonly loadAddon: () => MachineNative;
  readonly log: Pick<Log, "warn" | "error">;
  readonly timers: Pick<Timers, "after">;
  /** Default: of this machine. */
  readonly readGobgpd?: () => Promise<GobgpdFindings>;
}

/** Everything that this machine has and lacks for a configuration. */
export async function lookAtMachine(
  { loadAddon, readGobgpd = findGobgpd }: Pick<MachineWatchOptions, "loadAddon" | "readGobgpd">,
  needs: MachineNeeds,
  seenBy: () => MachineFindings["seenBy"],
): Promise<Item[]> {
  const [found, gobgpd] = await Promise.all([readMachine(loadAddon, needs), needs.gobgpd ? readGobgpd() : null]);
  return judgeMachine(needs, { ...found, gobgpd, seenBy: seenBy() });
}

export class MachineWatch {
  readonly #options: MachineWatchOptions;
  #problems: readonly Item[] | null = null;
  #looks = 0;

  constructor(options: MachineWatchOptions) {
    this.#options = options;
  }

  /** Warnings and errors of the last check; null: none has finished yet. */
  get problems(): readonly Item[] | null {
    return this.#problems;
  }

  /**
   * Resolves when all problems are logged, or after MACHINE_LOOK_MS; later findings are logged when they are known.
   * Never rejects.
   */
  look(needs: MachineNeeds, seenBy: "start" | "running"): Promise<void> {
    const { log, timers } = this.#options;
    const number = ++this.#looks;
    // The service has started in the meantime: programs that are attached now may be its own.
    let isLate = false;
    const looked = lookAtMachine(this.#options, needs, () => (isLate ? "running" : seenBy)).then(
      (items) => this.#take(number, items),
      (cause: unknown) => log.error({ cause }, "the check of this machine for the configuration failed"),
    );
    return within(looked, MACHINE_LOOK_MS, timers, () => {
      isLate = true;
    });
  }

  /** Problems that were logged before are not logged again. */
  #take(number: number, items: readonly Item[]): void {
    // The result of a later check replaces this one.
    if (number !== this.#looks) return;
    const known = new Set(this.#problems?.map(itemLine));
    this.#problems = items.filter(({ level }) => level !== "ok");
    for (const problem of this.#problems) {
      if (known.has(itemLine(problem))) continue;
      const { about, level, found, remedy } = problem;
      const { log } = this.#options;
      const fields = { about, found, remedy };
      if (level === "error") log.error(fields, "this machine lacks what the configuration needs");
      else log.warn(fields, "this machine does not fit the configuration");
    }
  }
}

async function findGobgpd(): Promise<GobgpdFindings> {
  const path = gobgpdExecutable();
  return { path, version: path === null ? null : await gobgpdVersion(path) };
}
