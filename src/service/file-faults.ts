/**
 * The files of others that the configuration names and that cannot be used now. The service goes on without them, and says
 * so here: in the log, the status, the metrics and the notifications.
 */
import type { Log } from "../observability/log.ts";
import type { FileFault, FileFaultView, FileKind } from "../system/file-fault.ts";

interface FileFaultsOptions {
  readonly log: Pick<Log, "error" | "info">;
  readonly wallMs: () => number;
}

const NONE: readonly FileFaultView[] = [];

type Listener = (turn: "begun" | "over", fault: FileFaultView) => void;

export class FileFaults {
  readonly #options: FileFaultsOptions;
  readonly #faults = new Map<string, FileFaultView>();
  readonly #listeners: Listener[] = [];

  constructor(options: FileFaultsOptions) {
    this.#options = options;
  }

  list(): readonly FileFaultView[] {
    return this.#faults.size === 0 ? NONE : [...this.#faults.values()];
  }

  /** Also called at once for those that are there. */
  onChange(listener: Listener): void {
    this.#listeners.push(listener);
    for (const fault of this.#faults.values()) listener("begun", fault);
  }

  /** All faults of this kind; those before that are not among them are over. */
  replace(kind: FileKind, faults: readonly FileFault[]): void {
    const { log, wallMs } = this.#options;
    const keys = new Set(faults.map(({ key }) => key));
    for (const [key, fault] of this.#faults) {
      if (fault.kind !== kind || keys.has(key)) continue;
      this.#faults.delete(key);
      log.info({ key }, "a file that the configuration names can be used again");
      for (const listener of this.#listeners) listener("over", fault);
    }
    for (const fault of faults) {
      const before = this.#faults.get(fault.key);
      const view = { ...fault, kind, sinceMs: before?.sinceMs ?? wallMs() };
      this.#faults.set(fault.key, view);
      const isSame = before?.error === fault.error && before.effect === fault.effect;
      if (!isSame) log.error({ ...fault }, "a file that the configuration names cannot be used");
      if (before === undefined) for (const listener of this.#listeners) listener("begun", view);
    }
  }
}
