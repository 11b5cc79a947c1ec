/**
 * Sets and takes back what operators set for hostgroups by the API: writes the file (config/group-settings.ts) and reads the
 * configuration again with it. What the configuration refuses is taken out of the file again.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Holder } from "../access/shares.ts";
import { readSettings, settingsPath } from "../config/group-settings.ts";
import { BackendFault } from "../http/backend.ts";
import type { ReloadOutcome, SettingsOutcome } from "../http/reload-views.ts";
import type { GroupSettings } from "../mitigation/group-settings.ts";
import { timestamp } from "../schema/timestamp.ts";
import { messageOf } from "../system/error-message.ts";

export interface GroupSettingsOptions {
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

  constructor(options: GroupSettingsOptions) {
    this.#options = options;
    this.#path = settingsPath(options.stateDir);
  }

  /** Also of hostgroups that are no more. */
  all(): ByGroup {
    return readSettings(this.#options.stateDir);
  }

  /** @param settings null: what was set is taken back. Rejects with a BackendFault if the file cannot be written. */
  set(name: string, settings: GroupSettings | null, by: Holder): Promise<SettingsOutcome> {
    const order = this.#last.then(() => this.#carryOut(name, settings, by));
    this.#last = order.catch(() => {});
    return order;
  }

  async #carryOut(name: string, settings: GroupSettings | null, by: Holder): Promise<SettingsOutcome> {
    const before = this.all();
    if (settings === null && before[name] === undefined) return { kind: "none" };
    const at = timestamp(this.#options.wallMs());
    const own = settings === null ? null : { ...settings, ...(by.operator !== "" && { by: by.operator }), at };
    const { [name]: _, ...others } = before;
    this.#write(own === null ? others : { ...others, [name]: own });
    const outcome = await this.#options.reload();
    if (outcome.kind === "reloaded") return { kind: "done", settings: own, changes: outcome.changes };
    this.#write(before);
    return { kind: "invalid", problems: outcome.problems };
  }

  /** As a whole or not at all. */
  #write(hostgroups: ByGroup): void {
    const next = `${this.#path}.next`;
    try {
      if (Object.keys(hostgroups).length === 0) {
        rmSync(this.#path, { force: true });
        return;
      }
      mkdirSync(dirname(this.#path), { recursive: true });
      writeFileSync(next, `${JSON.stringify({ hostgroups }, null, 2)}\n`, { mode: 0o640, flush: true });
      renameSync(next, this.#path);
    } catch (cause) {
      throw new BackendFault(`${this.#path} cannot be written: ${messageOf(cause)}`);
    }
  }
}
