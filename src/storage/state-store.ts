/**
 * The state that a restart must not lose, written without blocking the event loop: changes wait in the order in which they were
 * decided, and all that wait go to disk together, in one transaction at a time. A disk that is slow, full or hangs
 * delays and refuses commands, and nothing else.
 */
import { STATE_ORDERS_MAX, STOP_STEP_MS } from "../limits.ts";
import { within } from "../system/deadline.ts";
import type { RecordTable, TableSharing } from "../system/record-table.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { StateChange, StateRecords, StateTable, StoredState } from "./state-change.ts";
import { StateDatabaseError } from "./state-database.ts";
import { StateQueue } from "./state-queue.ts";

/** How long an order waits for the disk, ms: longer than two writes to a disk that takes 3 s for each. */
export const STATE_WAIT_MS = 8000;

/** Changes of the state database in one transaction. */
const STATE_BATCH_MAX = 2048;

/** The file, owned by a thread. */
export interface StateFile {
  /** Resolves when all changes are on disk. Rejects with a StateDatabaseError if none is. */
  write(changes: readonly StateChange[]): Promise<void>;
  /** Resolves when the file is closed. */
  close(): Promise<void>;
  /** Ends the thread in any state. */
  end(): void;
}

interface StateStoreOptions {
  readonly file: StateFile;
  /** The contents of the file. */
  readonly stored: StoredState;
  readonly timers: Pick<Timers, "after">;
  /** Resolves in a turn that has time for what callers do next: a write ends the waits of many. Default: at once. */
  readonly goOn?: () => Promise<void>;
}

/** The way by which orders of a table reach the other brains of a cluster. */
type SharingOf = (table: StateTable) => TableSharing<object> | null;

/** A write failed: commands are refused, and what is in force stays queued. */
type StateFaultListener = (cause: unknown) => void;

/** Time from an automatic change to its write, ms: by then its announcement has been sent. */
const GATHER_MS = 20;
/** After a failed write. */
const AGAIN_MS = 1000;

export class StateStore {
  readonly #options: StateStoreOptions;
  readonly #queue: StateQueue;
  readonly #listeners: StateFaultListener[] = [];
  #writing: Promise<void> | null = null;
  #cancelTimer: Cancel | null = null;
  /** Callers that wait for the disk. */
  #callers = 0;
  #isStopping = false;
  #sharing: SharingOf = () => null;

  constructor(options: StateStoreOptions) {
    this.#options = options;
    this.#queue = new StateQueue(options.stored);
  }

  /** The state that an earlier process left. */
  get stored(): StoredState {
    return this.#options.stored;
  }

  onFault(listener: StateFaultListener): void {
    this.#listeners.push(listener);
  }

  /** Call this before the tables are given to their owners. @param sharing null: the table is of this brain alone. */
  shareBy(sharing: SharingOf): void {
    this.#sharing = sharing;
  }

  table<T extends StateTable>(table: T): RecordTable<StateRecords[T]> {
    const changeOf = (key: string, record: StateRecords[T] | null) => ({ table, key, record }) as StateChange;
    const unsaved = () => this.unsaved[table];
    const sharing = this.#sharing(table);
    return {
      ...(sharing && { sharing }),
      queue: (key, record) => this.#keep(changeOf(key, record)),
      save: (key, record) => this.#save(changeOf(key, record)),
      saveAll: (records) => this.#saveAll(records.map(([key, record]) => changeOf(key, record))),
      write: (key, record, present) => this.#write(changeOf(key, record), () => changeOf(key, present())),
      get unsaved() {
        return unsaved();
      },
    };
  }

  /** Number of changes in force that are not on disk yet, by table. */
  get unsaved(): Readonly<Record<StateTable, number>> {
    return this.#queue.unsaved;
  }

  /** The number of such records in all tables. */
  get unsavedInAll(): number {
    let sum = 0;
    for (const table in this.unsaved) sum += this.unsaved[table as StateTable];
    return sum;
  }

  /** Writes what waits and closes the file, within STOP_STEP_MS. */
  async stop(): Promise<void> {
    const { file, timers } = this.#options;
    this.#isStopping = true;
    await within(this.#drain(), STOP_STEP_MS / 2, timers, () => {});
    this.#cancelTimer?.();
    await within(file.close(), STOP_STEP_MS / 2, timers, () => {});
    file.end();
  }

  /** Resolves when nothing waits, or when a write fails. */
  async #drain(): Promise<void> {
    for (let before = Number.POSITIVE_INFINITY; this.#queue.size > 0 && this.#queue.size < before; ) {
      before = this.#queue.size;
      this.#send();
      await this.#writing;
    }
  }

  #keep(change: StateChange) {
    const entry = this.#queue.keep(change);
    if (entry !== null) this.#schedule(GATHER_MS);
    return entry;
  }

  async #save(change: StateChange): Promise<boolean> {
    const entry = this.#keep(change);
    if (entry === null) return true;
    if (this.#callers >= STATE_ORDERS_MAX) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    entry.waiting.add(resolve);
    this.#send();
    return this.#wait(promise, () => {
      entry.waiting.delete(resolve);
      return false;
    });
  }

  #saveAll(changes: readonly StateChange[]): Promise<boolean> {
    const saved = changes.map((change) => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const entry = this.#keep(change);
      if (entry === null) resolve(true);
      else entry.waiting.add(resolve);
      return promise;
    });
    this.#send();
    const all = Promise.all(saved).then((each) => each.every((isSaved) => isSaved));
    return within(all, STATE_WAIT_MS, this.#options.timers, () => false);
  }

  async #write(change: StateChange, present: () => StateChange): Promise<boolean> {
    if (this.#callers >= STATE_ORDERS_MAX) throw new StateDatabaseError("too many commands wait for the disk");
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let isGivenUp = false;
    const written = (isNewest: boolean) => {
      if (!isGivenUp) resolve(isNewest);
      else if (isNewest) this.#keep(present());
    };
    const entry = this.#queue.command(change, { written, failed: reject });
    this.#send();
    return this.#wait(promise, () => {
      isGivenUp = true;
      this.#queue.withdraw(entry);
      throw new StateDatabaseError(`the disk has not taken the command within ${STATE_WAIT_MS / 1000} s`);
    });
  }

  async #wait(promise: Promise<boolean>, late: () => boolean): Promise<boolean> {
    this.#callers++;
    try {
      return await within(promise, STATE_WAIT_MS, this.#options.timers, late);
    } finally {
      this.#callers--;
      await this.#options.goOn?.();
    }
  }

  #schedule(ms: number): void {
    if (this.#isStopping) return;
    this.#cancelTimer ??= this.#options.timers.after(ms, () => {
      this.#cancelTimer = null;
      this.#send();
    });
  }

  /** Writes all that waits; what is decided meanwhile goes with the next write. */
  #send(): void {
    if (this.#writing !== null || this.#queue.size === 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#writing = this.#options.file.write(this.#queue.take(STATE_BATCH_MAX)).then(
      () => this.#written(),
      (cause: unknown) => this.#refused(cause),
    );
  }

  #written(): void {
    this.#writing = null;
    this.#queue.written();
    if (this.#callers > 0) this.#send();
    else if (this.#queue.size > 0) this.#schedule(GATHER_MS);
  }

  #refused(cause: unknown): void {
    this.#writing = null;
    this.#queue.refused(cause);
    for (const listener of this.#listeners) listener(cause);
    if (this.#queue.size > 0) this.#schedule(AGAIN_MS);
  }
}
