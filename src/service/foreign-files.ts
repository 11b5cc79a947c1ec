/**
 * The files of others that the configuration names, together: what is in use of them, what a reload takes of them, and
 * what is kept of them for the next start. A start depends on none of them.
 */
import type { Config } from "../config/config.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import type { PrefixSets } from "../prefixset/prefix-sets.ts";
import type { Environment } from "../system/environment.ts";
import type { FileFault, FileFaultView } from "../system/file-fault.ts";
import { type Cancel, nextTurn } from "../system/timers.ts";
import type { FileFaults } from "./file-faults.ts";
import { KeptZones } from "./kept-zones.ts";
import { OriginWatch } from "./origin-files.ts";
import { openPrefixSets, type PrefixSetParts, wantedSets } from "./prefix-sets.ts";
import { secretFaults } from "./secret-faults.ts";

interface ForeignFilesParts extends Omit<PrefixSetParts, "users" | "metrics"> {
  readonly environment: Pick<Environment, "read">;
  readonly metrics: PrefixSetParts["metrics"] & { readonly files: { set(faults: readonly FileFaultView[]): void } };
}

/** How often it is looked whether secrets are missing, ms. */
const SECRETS_LOOK_MS = 10_000;
const NO_USERS = new Uint8Array(0);

export class ForeignFiles {
  readonly prefixSets: PrefixSets;
  readonly faults: FileFaults;
  readonly #origins: OriginWatch;
  readonly #parts: ForeignFilesParts;
  readonly #zones: KeptZones;
  readonly #users: UsersHolder;
  #config: Config;
  #cancel: Cancel = () => {};

  private constructor(config: Config, parts: ForeignFilesParts, opened: Opened) {
    this.#config = config;
    this.#parts = parts;
    this.faults = parts.faults;
    this.prefixSets = opened.prefixSets;
    this.#origins = opened.origins;
    this.#users = opened.users;
    this.#zones = new KeptZones(config.stateDir, nextTurn);
  }

  static async open(config: Config, parts: ForeignFilesParts): Promise<ForeignFiles> {
    const { faults, timers, metrics } = parts;
    metrics.beforeScrape(() => metrics.files.set(faults.list()));
    const users: UsersHolder = { read: () => NO_USERS };
    const origins = await OriginWatch.open(config.samples, { timers, faults });
    const prefixSets = await openPrefixSets(config, { ...parts, users: () => users.read() });
    return new ForeignFiles(config, parts, { origins, prefixSets, users });
  }

  /** The contents in use. */
  get inUse(): { readonly originOf: OriginOf | null; readonly prefixSets: PrefixSets } {
    return { originOf: this.#origins.originOf, prefixSets: this.prefixSets };
  }

  /** For the API. */
  get views() {
    return { prefixSets: () => this.prefixSets.views(), faultyFiles: () => this.faults.list() };
  }

  /** @param users of the last minute; null: unknown. */
  setUsers(users: () => Uint8Array | null): void {
    this.#users.read = () => users() ?? NO_USERS;
  }

  start(): void {
    this.prefixSets.start();
    this.#origins.start();
    this.#keepZones();
    this.#lookAtSecrets();
    this.#cancel = this.#parts.timers.every(SECRETS_LOOK_MS, () => this.#lookAtSecrets());
  }

  stop(): void {
    this.#cancel();
    this.#origins.stop();
    this.prefixSets.stop();
  }

  /** The part of a reload that may fail; nothing changes until it is applied. */
  async prepare(next: Config): Promise<OriginOf | null> {
    await this.prefixSets.prepare(wantedSets(next));
    return this.#origins.prepare(next.samples);
  }

  /** After the sets were applied. */
  reloaded(next: Config): void {
    this.#config = next;
    this.#origins.apply();
    // With errors in it the zones file would have refused the reload.
    this.faults.replace("zones", []);
    this.#keepZones();
    this.#lookAtSecrets();
  }

  /** @param isOpen the port, with the certificate before. */
  tlsRead(error: string | null, isOpen: boolean): void {
    this.faults.replace("tls", error === null ? [] : [tlsFault(error, isOpen)]);
  }

  #lookAtSecrets(): void {
    this.faults.replace("secrets", secretFaults(this.#config, this.#parts.environment));
  }

  #keepZones(): void {
    const { edge } = this.#config;
    const { limiter, log } = this.#parts;
    if (edge === null) return;
    this.#zones
      .keep(edge)
      .catch((cause: unknown) =>
        limiter.pass("kept zones", (suppressed) =>
          log.error(
            { cause, suppressed },
            "the zones cannot be kept in state_dir: a start would depend on the zones file",
          ),
        ),
      );
  }
}

interface UsersHolder {
  read: () => Uint8Array;
}

interface Opened {
  readonly origins: OriginWatch;
  readonly prefixSets: PrefixSets;
  readonly users: UsersHolder;
}

function tlsFault(error: string, isOpen: boolean): FileFault {
  const effect = isOpen
    ? "the certificate before stays in use"
    : "the API is closed, and opens as soon as the files are good: they are looked at every 5 s";
  return { key: "api.tls", error, effect };
}
