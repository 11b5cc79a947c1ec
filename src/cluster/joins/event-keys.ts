/**
 * Ids of events that are the same at every brain: from what the event is about, and its number among those of its kind.
 * Pure but for the counts. Ids are UUIDs of version 8 (RFC 9562, section 5.8), from a hash.
 */

/** Faults that each brain sees for itself are the same if they are seen within this time. */
export const SAME_FAULT_MS = 60_000;
/** Marks the keys of such faults. */
const BRIEF = "fault ";
/** Subjects whose events are counted; over it the oldest is forgotten. */
const SUBJECTS_MAX = 65_536;
/** Brains that get the same fault from both sides of this boundary give it two ids: it matters in a split only. */
const SLOT_MS = 600_000;

/** Events of an attack in progress. */
const ATTACK_KINDS = ["attack_started", "attack_changed", "attack_lasts", "attack_not_held"];

/** By the id before. */
export type RenamedIds = ReadonlyMap<string, string>;

/** An id is one word of a key. */
export function renamedKey(key: string, ids: RenamedIds): string {
  const words = key.split(" ");
  return words.some((word) => ids.has(word)) ? words.map((word) => ids.get(word) ?? word).join(" ") : key;
}

export class EventKeys {
  readonly #counts = new Map<string, number>();
  /** Keys of other brains, from before this one was started. */
  readonly #before = new Map<string, number>();

  /**
   * The key of the next event of this kind about a subject that has an id, such as an attack.
   * @param isRestored it began before this brain was started, which may have had events of it.
   */
  numbered(kind: string, subject: string, isRestored = false): string {
    const text = `${kind} ${subject}`;
    // The other brain may have said it only after the first events here.
    const before = isRestored ? (this.#before.get(text) ?? 0) : 0;
    const count = Math.max(this.#counts.get(text) ?? 0, before) + 1;
    this.#set(text, count);
    return `${text} ${count}`;
  }

  /** The one that numbered() would give next. */
  next(kind: string, subject: string): string {
    const text = `${kind} ${subject}`;
    return `${text} ${(this.#counts.get(text) ?? 0) + 1}`;
  }

  /** Whether there were events of an attack with this id. */
  hasAttack(id: string): boolean {
    return ATTACK_KINDS.some((kind) => this.#counts.has(`${kind} ${id}`));
  }

  /** These were before this brain was started, as another one says: what is restored goes on after them. */
  wereBefore(keys: readonly string[]): void {
    for (const key of keys) {
      const [, text = "", number = ""] = /^(.*) (\d{1,9})$/.exec(key) ?? [];
      if (this.#before.size >= SUBJECTS_MAX && !this.#before.has(text)) return;
      if (text !== "") this.#before.set(text, Math.max(Number(number), this.#before.get(text) ?? 0));
    }
  }

  /** Subjects are known by other ids from now on. */
  renamed(ids: RenamedIds): void {
    for (const [text, count] of this.#counts) {
      const renamed = renamedKey(text, ids);
      if (renamed === text) continue;
      this.#counts.delete(text);
      this.#set(renamed, Math.max(count, this.#counts.get(renamed) ?? 0));
    }
  }

  #set(text: string, count: number): void {
    this.#counts.delete(text);
    this.#counts.set(text, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > SUBJECTS_MAX && oldest !== undefined) this.#counts.delete(oldest);
  }
}

/** Kinds of faults and of their ends. */
const ENDS: Readonly<Record<string, string>> = {
  exporter_fault: "exporter_fault_over",
  scrub_node_fault: "scrub_node_fault_over",
  scrub_node_lost: "scrub_node_found",
  edge_node_lost: "edge_node_found",
  edge_node_fault: "edge_node_fault_over",
};
const OPPOSITES = new Map(
  Object.entries(ENDS).flatMap(([begin, end]) => [
    [begin, end],
    [end, begin],
  ]),
);

/** The key of the end of a fault, of its begin that of its end; null: it is of neither. */
export function oppositeKey(key: string): string | null {
  if (!key.startsWith(BRIEF)) return null;
  const [kind = "", ...subject] = key.slice(BRIEF.length).split(" ");
  const opposite = OPPOSITES.get(kind);
  return opposite === undefined ? null : faultKey(opposite, subject.join(" "));
}

/** The key of a fault that comes and goes. */
export function faultKey(kind: string, subject: string): string {
  return `${BRIEF}${kind} ${subject}`;
}

/** How long after the event with this key another one is the same, ms; null: for as long as it is known. */
export function sameWithinMs(key: string): number | null {
  return key.startsWith(BRIEF) ? SAME_FAULT_MS : null;
}

/** @param atMs wall clock. */
export function eventId(key: string, atMs: number): string {
  const slot = sameWithinMs(key) === null ? "" : ` ${Math.floor(atMs / SLOT_MS)}`;
  return hashedId(key + slot);
}

/** Whether it is an id of hashedId(). */
export function isHashedId(id: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id);
}

/** A UUID that is the same for the same text. */
export function hashedId(text: string): string {
  const hex = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}
