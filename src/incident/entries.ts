/** The incidents that are kept, by their ids and by their customers. The ids that one had before find it, too. */
import { ByCustomer } from "./by-customer.ts";
import { customerOf, type Incident, type IncidentKey } from "./incident.ts";
import type { IncidentAttacks } from "./incident-attacks.ts";
import type { Work } from "./work.ts";

export interface Entry {
  id: string;
  /** Other ids of it, of this brain or of others, the oldest first. */
  aliases: readonly string[];
  key: IncidentKey;
  customer: string;
  readonly startedAt: number;
  attacks: IncidentAttacks;
  work: Work;
  /** Changed since it was stored, and since listeners were called. */
  isUnsaved: boolean;
  isUnseen: boolean;
}

/** Several brains form few incidents of one attack. */
const ALIASES_MAX = 8;

export class Entries {
  /** Oldest first. */
  #entries = new Map<string, Entry>();
  readonly #byAlias = new Map<string, Entry>();
  readonly #ofCustomer = new ByCustomer<Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Oldest first. */
  all(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** Those of a customer, the oldest first. */
  of(customer: string): readonly Entry[] {
    return this.#ofCustomer.of(customer);
  }

  /** By customer, those with the most first. */
  bySize(): readonly (readonly Entry[])[] {
    return this.#ofCustomer.bySize();
  }

  get(id: string): Entry | null {
    return this.#entries.get(id) ?? this.#byAlias.get(id) ?? null;
  }

  /** The one of an attack that stays with it; null: none. */
  withAttack(id: string, wallMs: number): Entry | null {
    return this.#entries.values().find(({ attacks }) => attacks.isSettled(id, wallMs)) ?? null;
  }

  add(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    this.#ofCustomer.add(entry);
    for (const alias of entry.aliases) this.#byAlias.set(alias, entry);
  }

  remove(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.#ofCustomer.remove(entry);
    for (const alias of entry.aliases) if (this.#byAlias.get(alias) === entry) this.#byAlias.delete(alias);
  }

  /** It belongs to another tenant. */
  give(entry: Entry, tenant: string | null): void {
    this.#ofCustomer.remove(entry);
    entry.key = { ...entry.key, tenant };
    entry.customer = customerOf(entry.key);
    this.#ofCustomer.add(entry);
    changed(entry);
  }

  /**
   * It is known by this id, too, and has the smaller of both. Returns the id that it had, if that is another one now; null: it
   * has the same one.
   */
  alias(entry: Entry, id: string): string | null {
    if (this.get(id) !== null) return null;
    const before = entry.id;
    this.remove(entry);
    const [smaller, larger] = id < before ? [id, before] : [before, id];
    entry.id = smaller;
    entry.aliases = [...entry.aliases, larger].slice(-ALIASES_MAX);
    this.add(entry);
    if (smaller !== before) this.#entries = new Map([...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1)));
    changed(entry);
    return smaller === before ? null : before;
  }
}

export function changed(entry: Entry): void {
  entry.isUnsaved = true;
  entry.isUnseen = true;
}

export function figuresOf({ attacks: { active, lastEndedAt } }: Entry) {
  return { active, lastEndedAt };
}

export function recordOf({ id, aliases, key, startedAt, attacks, work }: Entry): Incident {
  return { id, ...(aliases.length > 0 && { aliases }), ...key, startedAt, ...attacks.record(), work };
}
