/**
 * Says before it matters what this machine lacks for the configuration: looks at the start and at each reload, in dry run
 * too, and keeps what is wrong for the status. Nothing of it stops the service.
 */
import { gobgpdExecutable, gobgpdVersion } from "../bgp/gobgpd-process.ts";
import { type MachineNative, readMachine } from "../dataplane/machine-reader.ts";
import { MACHINE_LOOK_MS } from "../limits.ts";
import { type Item, itemLine } from "../machine/item.ts";
import { judgeMachine } from "../machine/judge.ts";
import type { GobgpdFindings, MachineFindings } from "../machine/machine.ts";
import type { MachineNeeds } from "../machine/needs.ts";
import type { Log } from "../observability/log.ts";
import { within } from "../system/deadline.ts";
import type { Timers } from "../system/timers.ts";

export interface MachineWatchOptions {
  /** See readMachine(). */
  readonly loadAddon: () => MachineNative;
  readonly log: Pick<Log, "warn" | "error">;
  readonly timers: Pick<Timers, "after">;
  /** Default: of this machine. */
  readonly readGobgpd?: () => Promise<GobgpdFindings>;
}

/** All that this machine has for a configuration, and lacks. */
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

  /** Warnings and errors of the last look; null: there was none yet. */
  get problems(): readonly Item[] | null {
    return this.#problems;
  }

  /** Resolves when all is told, or after MACHINE_LOOK_MS: what takes longer is told when it is known. Never rejects. */
  look(needs: MachineNeeds, seenBy: "start" | "running"): Promise<void> {
    const { log, timers } = this.#options;
    const number = ++this.#looks;
    // Whoever waited for it has gone on: what is attached may be its own by now.
    let isLate = false;
    const looked = lookAtMachine(this.#options, needs, () => (isLate ? "running" : seenBy)).then(
      (items) => this.#take(number, items),
      (cause: unknown) => log.error({ cause }, "what this machine lacks for the configuration is not known"),
    );
    return within(looked, MACHINE_LOOK_MS, timers, () => {
      isLate = true;
    });
  }

  /** What was told before is not told again. */
  #take(number: number, items: readonly Item[]): void {
    // A later look knows better.
    if (number !== this.#looks) return;
    const known = new Set(this.#problems?.map(itemLine));
    this.#problems = items.filter(({ level }) => level !== "ok");
    for (const problem of this.#problems) {
      if (known.has(itemLine(problem))) continue;
      const { about, level, found, remedy } = problem;
      const { log } = this.#options;
      const fields = { about, found, remedy };
      if (level === "error") log.error(fields, "this machine lacks what the configuration needs");
      else log.warn(fields, "this machine is not as the configuration would have it");
    }
  }
}

async function findGobgpd(): Promise<GobgpdFindings> {
  const path = gobgpdExecutable();
  return { path, version: path === null ? null : await gobgpdVersion(path) };
}
