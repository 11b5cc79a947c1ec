/**
 * Changes of the state database that wait for the disk, in the order in which they were decided. Bounded by the tables:
 * of each record only the newest change waits, and nothing of a record that began and ended while it waited.
 */
import { keyOf, noRows, type StateChange, type StateTable, type StoredState, TABLE_NAMES } from "./state-change.ts";

/** A record that is not in force before it is written. */
interface QueuedCommand {
  /** `isNewest`: no other change of the record was decided since. */
  readonly written: (isNewest: boolean) => void;
  readonly failed: (cause: unknown) => void;
}

type OnSaved = (isSaved: boolean) => void;

interface Entry {
  readonly change: StateChange;
  /** null: the change is in force, and waits until it is written. */
  readonly command: QueuedCommand | null;
  /** Callers that wait for this change or a newer one of the record. */
  readonly waiting: Set<OnSaved>;
}

export class StateQueue {
  readonly #entries = new Set<Entry>();
  /** The entries of each record, the newest last: several if a command or a write in progress is among them. */
  readonly #byName = new Map<string, Entry[]>();
  /** Names of the records in the file. */
  readonly #stored: Set<string>;
  readonly #unsaved = noRows();
  /** Being written. */
  #batch: ReadonlySet<Entry> = new Set();

  constructor(stored: StoredState) {
    this.#stored = new Set(
      TABLE_NAMES.flatMap((table) => stored[table].map((record) => nameOf(table, keyOf(table, record)))),
    );
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Number of changes in force, by table. */
  get unsaved(): Readonly<Record<StateTable, number>> {
    return this.#unsaved;
  }

  /** A change in force; null: nothing is to be written, since the file has nothing of the record. */
  keep(change: StateChange): Entry | null {
    const name = nameOf(change.table, change.key);
    const older = this.#byName.get(name)?.at(-1);
    const isReplaced = older !== undefined && older.command === null && !this.#batch.has(older);
    if (isReplaced) this.#remove(older);
    const waiting = isReplaced ? older.waiting : new Set<OnSaved>();
    if (change.record === null && !this.#byName.has(name) && !this.#stored.has(name)) {
      for (const onSaved of waiting) onSaved(true);
      return null;
    }
    return this.#add({ change, command: null, waiting });
  }

  command(change: StateChange, command: QueuedCommand): Entry {
    return this.#add({ change, command, waiting: new Set() });
  }

  /** Does nothing while the entry is being written, or after. */
  withdraw(entry: Entry): void {
    if (this.#entries.has(entry) && !this.#batch.has(entry)) this.#remove(entry);
  }

  /** The oldest changes; written() or refused() must follow before the next call. */
  take(max: number): readonly StateChange[] {
    this.#batch = new Set(this.#entries.values().take(max));
    return [...this.#batch].map(({ change }) => change);
  }

  written(): void {
    const batch = this.#batch;
    this.#batch = new Set();
    const newest = new Set([...batch].filter((entry) => this.#byName.get(nameOfEntry(entry))?.at(-1) === entry));
    for (const entry of batch) {
      this.#remove(entry);
      if (entry.change.record === null) this.#stored.delete(nameOfEntry(entry));
      else this.#stored.add(nameOfEntry(entry));
    }
    for (const entry of batch) {
      for (const onSaved of entry.waiting) onSaved(true);
      entry.command?.written(newest.has(entry));
    }
  }

  /** The disk took nothing: all commands fail, and all other changes stay. */
  refused(cause: unknown): void {
    this.#batch = new Set();
    const entries = [...this.#entries];
    this.#entries.clear();
    this.#byName.clear();
    for (const table of Object.keys(this.#unsaved) as StateTable[]) this.#unsaved[table] = 0;
    for (const { change, command } of entries) if (command === null) this.keep(change);
    for (const { command, waiting } of entries) {
      command?.failed(cause);
      for (const onSaved of waiting) onSaved(false);
    }
  }

  #add(entry: Entry): Entry {
    const name = nameOfEntry(entry);
    const entries = this.#byName.get(name) ?? [];
    this.#byName.set(name, entries);
    entries.push(entry);
    this.#entries.add(entry);
    if (entry.command === null) this.#unsaved[entry.change.table]++;
    return entry;
  }

  #remove(entry: Entry): void {
    const name = nameOfEntry(entry);
    const others = (this.#byName.get(name) ?? []).filter((other) => other !== entry);
    if (others.length === 0) this.#byName.delete(name);
    else this.#byName.set(name, others);
    this.#entries.delete(entry);
    if (entry.command === null) this.#unsaved[entry.change.table]--;
  }
}

function nameOf(table: StateTable, key: string): string {
  return `${table} ${key}`;
}

function nameOfEntry({ change }: Entry): string {
  return nameOf(change.table, change.key);
}
