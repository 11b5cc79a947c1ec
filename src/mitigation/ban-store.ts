/** Stores bans, and queues their automatic changes until the next flush. */
import { UnsavedRecords, type WriteBehindOptions } from "../system/unsaved-records.ts";
import type { Ban } from "./ban.ts";

export interface BanStore {
  saveBan(ban: Ban): void;
  removeBan(id: string): void;
  /** Returns when all writes of `writes` are on disk, or throws and none is: one disk sync for any number of bans. */
  atOnce(writes: () => void): void;
}

export interface StoredBansOptions extends WriteBehindOptions {
  readonly store: BanStore;
}

/** By id; null: to be removed from the store. */
export function unsavedBans({ store, onUnsaved, onStoreFault }: StoredBansOptions): UnsavedRecords<Ban | null> {
  return new UnsavedRecords({
    write: (ban, id) => (ban === null ? store.removeBan(id) : store.saveBan(ban)),
    atOnce: (writes) => store.atOnce(writes),
    onUnsaved,
    onStoreFault,
  });
}
