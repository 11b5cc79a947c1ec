/**
 * Carries out reloads requested by the API or by a signal, one after the other. Each file is read off the event loop
 * and then put in force in one step, or refused, and the running configuration stays unchanged.
 */

import type { CheckedConfig } from "../config/check.ts";
import type { Config } from "../config/config.ts";
import { changeTexts, configChanges } from "../config/config-changes.ts";
import { keepRestartKeys, restartKeys } from "../config/reload.ts";
import type { ReloadOutcome, ReloadPreview } from "../http/reload-views.ts";
import type { DisallowedBan } from "../mitigation/admission.ts";
import type { WantedChanges } from "../mitigation/wanted-changes.ts";
import { messageOf } from "../system/error-message.ts";

interface ReloaderOptions<Opened> {
  readonly configPath: string;
  /** The file of settings by the API: of an order in progress that of the order. */
  readonly settings: () => string;
  readonly reader: { read(path: string, settings: string): Promise<CheckedConfig>; abort(why: string): void };
  readonly log: ReloadLog;
  /** Warnings that were logged at the start. */
  readonly warned: readonly string[];
  /** The configuration in force. */
  readonly running: () => Config;
  /** The bans that it would end. */
  readonly endedBy: (next: Config) => readonly DisallowedBan[];
  /** Opens the files that it names. A rejection refuses the reload. */
  readonly open: (next: Config) => Promise<Opened>;
  /** The routes that bans in force would announce and withdraw under it. Nothing is changed. */
  readonly wantedUnder: (next: Config) => WantedChanges;
  /** Puts a configuration in force. Everything that can fail was done before. */
  readonly apply: (next: Config, opened: Opened) => void;
}

interface ReloadLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const STOPPING: Extract<ReloadOutcome, { readonly kind: "invalid" }> = {
  kind: "invalid",
  problems: ["the service is stopping"],
};

export class Reloader<Opened> {
  readonly #options: ReloaderOptions<Opened>;
  /** Settles when the latest requested reload is over. */
  #last: Promise<unknown> = Promise.resolve();
  /** A reload that has not started: it also answers all requests that arrive before it starts. */
  #waiting: Promise<ReloadOutcome> | null = null;
  #isStopped = false;
  /** Warnings about the configuration in force, which are in the log. */
  #warned: ReadonlySet<string>;
  /** Keys of the last successful reload that keep their running values until a restart. */
  needsRestart: readonly string[] = [];

  constructor(options: ReloaderOptions<Opened>) {
    this.#options = options;
    this.#warned = new Set(options.warned);
  }

  /** Rejects on a bug only. */
  reload(): Promise<ReloadOutcome> {
    if (this.#waiting !== null) return this.#waiting;
    const reload = this.#last.then(() => {
      this.#waiting = null;
      return this.#carryOut();
    });
    this.#waiting = reload;
    this.#last = reload.catch(() => {});
    return reload;
  }

  /** The changes of a reload now; nothing is changed. Files that the configuration names are not opened. */
  async preview(): Promise<ReloadPreview> {
    const { configPath, reader, running, endedBy, wantedUnder } = this.#options;
    if (this.#isStopped) return STOPPING;
    const checked = await reader.read(configPath, this.#options.settings());
    if (checked.kind === "invalid") return { kind: "invalid", problems: checked.problems };
    const needsRestart = restartKeys(running(), checked.config);
    const next = keepRestartKeys(running(), checked.config);
    const [changes, routes] = [configChanges(running(), next), wantedUnder(next)];
    return { kind: "preview", changes, needsRestart, warnings: checked.warnings, endedBans: endedBy(next), routes };
  }

  /** No reload takes effect any more; reloads in progress are answered with that reason. */
  stop(): void {
    this.#isStopped = true;
    this.#options.reader.abort("the service is stopping");
  }

  async #carryOut(): Promise<ReloadOutcome> {
    const { configPath, reader, log, running, open, apply, wantedUnder } = this.#options;
    if (this.#isStopped) return STOPPING;
    const checked = await reader.read(configPath, this.#options.settings());
    if (this.#isStopped) return STOPPING;
    if (checked.kind === "invalid") return this.#refuse(checked.problems);
    const needsRestart = restartKeys(running(), checked.config);
    const next = keepRestartKeys(running(), checked.config);
    let opened: Opened;
    try {
      opened = await open(next);
    } catch (cause) {
      return this.#refuse([`${configPath}: ${messageOf(cause)}`]);
    }
    if (this.#isStopped) return STOPPING;
    this.needsRestart = needsRestart;
    const found = configChanges(running(), next);
    const changed = found.map(({ section }) => section);
    const changes = changeTexts(found);
    const routes = wantedUnder(next);
    apply(next, opened);
    logWarnings(
      log,
      checked.warnings.filter((line) => !this.#warned.has(line)),
    );
    this.#warned = new Set(checked.warnings);
    log.info({ dry_run: next.dryRun, changed, changes, needs_restart: needsRestart }, "configuration reloaded");
    return { kind: "reloaded", needsRestart, changed, changes, routes };
  }

  #refuse(problems: readonly string[]): ReloadOutcome {
    this.#options.log.error({ problems }, "reload refused, the running configuration is unchanged");
    return { kind: "invalid", problems };
  }
}

/** At start all of them, at a reload those that are new. */
export function logWarnings(log: Pick<ReloadLog, "warn">, warnings: readonly string[]): void {
  if (warnings.length > 0) log.warn({ warnings }, "the configuration is valid, but some of it may be unintended");
}
