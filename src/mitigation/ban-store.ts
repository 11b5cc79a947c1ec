/** Where bans survive the process, and their changes on the way there. */
import { UnsavedRecords, type WriteBehindOptions } from "../system/unsaved-records.ts";
import type { Ban } from "./ban.ts";

export interface BanStore {
  saveBan(ban: Ban): void;
  removeBan(id: string): void;
  /** Returns when all that `writes` did is on disk, or throws and none of it is: one wait, however many bans. */
  atOnce(writes: () => void): void;
}

export interface StoredBansOptions extends WriteBehindOptions {
  readonly store: BanStore;
}

/** By id; null: forgotten, to be removed from the store. */
export function unsavedBans({ store, onUnsaved, onStoreFault }: StoredBansOptions): UnsavedRecords<Ban | null> {
  return new UnsavedRecords({
    write: (ban, id) => (ban === null ? store.removeBan(id) : store.saveBan(ban)),
    atOnce: (writes) => store.atOnce(writes),
    onUnsaved,
    onStoreFault,
  });
}
