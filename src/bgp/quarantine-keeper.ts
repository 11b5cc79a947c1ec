/** The effects of rules that are kept back: log, count, the file over a restart, and listeners such as other brains. */
import { messageOf } from "../system/error-message.ts";
import { QuarantineFile } from "./quarantine-file.ts";
import { KEPT_BACK_MS, type KeptBack, type QuarantineEvent } from "./route-quarantine.ts";
import type { SpeakerLog } from "./speaker/managed-speaker.ts";

interface QuarantineKeeperOptions {
  readonly stateDir: string;
  readonly log: Pick<SpeakerLog, "warn">;
  /** Counts a fault. */
  readonly fault: (operation: "quarantine" | "quarantine_full") => void;
  /** All that is kept back, and what another process or brain kept back: times are wall times. */
  readonly quarantined: () => readonly KeptBack[];
  readonly restore: (entries: readonly KeptBack[]) => void;
}

/** Maximum number of routes in one log line. */
const ROUTES_LOGGED = 20;

export class QuarantineKeeper {
  readonly #options: QuarantineKeeperOptions;
  readonly #file: QuarantineFile;
  readonly #listeners: ((entries: readonly KeptBack[]) => void)[] = [];

  constructor(options: QuarantineKeeperOptions) {
    this.#options = options;
    this.#file = new QuarantineFile(options.stateDir);
  }

  /** Called with all that is kept back, whenever a rule is. */
  onKeptBack(listener: (entries: readonly KeptBack[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Wall times. */
  get entries(): readonly KeptBack[] {
    return this.#options.quarantined();
  }

  load(): void {
    try {
      this.#options.restore(this.#file.load());
    } catch (error) {
      this.#fileFault("read", error);
    }
  }

  /** Takes what another brain learned of the same routers: in force with the next look at the sessions. */
  take(entries: readonly KeptBack[]): void {
    const known = new Set(this.entries.map(({ rule, neighbor }) => `${neighbor} ${rule}`));
    const others = entries.filter(({ rule, neighbor }) => !known.has(`${neighbor} ${rule}`));
    if (others.length === 0) return;
    this.#options.restore(others);
    this.#save();
    const { log } = this.#options;
    const routes = others.slice(0, ROUTES_LOGGED).map(({ rule }) => rule);
    log.warn(
      { routes, count: others.length },
      "another brain keeps rules back that neighbors refuse: so does this one",
    );
  }

  happened(event: QuarantineEvent): void {
    const { log, fault } = this.#options;
    const routes = { routes: event.routes.slice(0, ROUTES_LOGGED), count: event.routes.length };
    switch (event.kind) {
      case "suspected":
        log.warn({ neighbor: event.neighbor, ...routes }, "bgp session broke right after rules were announced");
        return;
      case "kept_back":
        fault("quarantine");
        this.#save();
        for (const listener of this.#listeners) listener(this.entries);
        log.warn(
          { neighbor: event.neighbor, seconds: KEPT_BACK_MS / 1000, ...routes },
          "bgp session broke again over the same rules, keeping them back",
        );
        return;
      case "released":
        fault("quarantine_full");
        this.#save();
        log.warn(routes, "too many rules are kept back, releasing the oldest");
        return;
      default:
        event satisfies never;
    }
  }

  /** Resolves when nothing waits to be written. */
  settled(): Promise<void> {
    return this.#file.settled();
  }

  #save(): void {
    this.#file.save(this.entries).catch((error: unknown) => this.#fileFault("write", error));
  }

  #fileFault(operation: "read" | "write", error: unknown): void {
    const fields = { path: this.#file.path, operation, cause: messageOf(error) };
    this.#options.log.warn(fields, "rules that are kept back do not survive this restart");
  }
}
