/**
 * Sets and takes back what operators set for hostgroups by the API. The settings of an order are in a file beside
 * (config/group-settings.ts) until the configuration has taken them, and then in place of those before: a service that is
 * killed meanwhile starts with settings that were valid.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Holder } from "../access/shares.ts";
import { readSettings, settingsPath } from "../config/group-settings.ts";
import { BackendFault } from "../http/backend.ts";
import type { ReloadOutcome, SettingsOutcome } from "../http/reload-views.ts";
import type { GroupSettings } from "../mitigation/group-settings.ts";
import { timestamp } from "../schema/timestamp.ts";
import { messageOf } from "../system/error-message.ts";

interface GroupSettingsOptions {
  readonly stateDir: string;
  readonly reload: () => Promise<ReloadOutcome>;
  readonly wallMs: () => number;
}

type ByGroup = Readonly<Record<string, GroupSettings>>;

export class GroupSettingsStore {
  readonly #path: string;
  readonly #options: GroupSettingsOptions;
  /** Settles when the latest order is over: the file has one writer. */
  #last: Promise<unknown> = Promise.resolve();
  #isOrdering = false;
  /** The settings of the file when it was read, and how it looked then. */
  #read: { readonly look: string; readonly settings: ByGroup } | null = null;

  constructor(options: GroupSettingsOptions) {
    this.#options = options;
    this.#path = settingsPath(options.stateDir);
  }

  /** The file that a reading of the configuration takes now. */
  get path(): string {
    return this.#isOrdering ? this.#ordered : this.#path;
  }

  get #ordered(): string {
    return `${this.#path}.ordered`;
  }

  /** Also of hostgroups that are no more. Empty too if the file has errors, which a reload names. */
  all(): ByGroup {
    const status = statSync(this.#path, { throwIfNoEntry: false });
    if (status === undefined) return {};
    const look = `${status.ino} ${status.size} ${status.mtimeMs}`;
    if (this.#read?.look !== look) this.#read = { look, settings: readSettings(this.#path) ?? {} };
    return this.#read.settings;
  }

  /** @param settings null: what was set is taken back. Rejects with a BackendFault if the file cannot be read or written. */
  set(name: string, settings: GroupSettings | null, by: Holder): Promise<SettingsOutcome> {
    const order = this.#last.then(() => this.#carryOut(name, settings, by));
    this.#last = order.catch(() => {});
    return order;
  }

  async #carryOut(name: string, settings: GroupSettings | null, by: Holder): Promise<SettingsOutcome> {
    const before = readSettings(this.#path);
    if (before === null) throw new BackendFault(`${this.#path} cannot be read: mend it, or remove it`);
    if (settings === null && before[name] === undefined) return { kind: "none" };
    const at = timestamp(this.#options.wallMs());
    const own = settings === null ? null : { ...settings, ...(by.operator !== "" && { by: by.operator }), at };
    const { [name]: _, ...others } = before;
    this.#write(own === null ? others : { ...others, [name]: own });
    this.#isOrdering = true;
    try {
      const outcome = await this.#options.reload();
      if (outcome.kind === "invalid") return { kind: "invalid", problems: outcome.problems };
      this.#accept();
      return { kind: "done", settings: own, changes: outcome.changes };
    } finally {
      this.#isOrdering = false;
      rmSync(this.#ordered, { force: true });
    }
  }

  #write(hostgroups: ByGroup): void {
    try {
      mkdirSync(dirname(this.#path), { recursive: true });
      writeFileSync(this.#ordered, `${JSON.stringify({ hostgroups }, null, 2)}\n`, { mode: 0o640, flush: true });
    } catch (cause) {
      throw new BackendFault(`${this.#ordered} cannot be written: ${messageOf(cause)}`);
    }
  }

  #accept(): void {
    try {
      renameSync(this.#ordered, this.#path);
      syncFolder(dirname(this.#path));
    } catch (cause) {
      throw new BackendFault(`${this.#path} cannot be written, and is lost with the next reload: ${messageOf(cause)}`);
    }
  }
}

/** Makes a rename in it durable. */
function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
