/**
 * Ids of events that are the same at every brain: from what the event is about, and its number among those of its kind. Pure
 * but for the counts. Ids are UUIDs of version 8 (RFC 9562, section 5.8), from a hash.
 */

/** Faults that each brain sees for itself are the same if they are seen within this time. */
export const SAME_FAULT_MS = 60_000;
/** Marks the keys of such faults. */
const BRIEF = "fault ";
/** Subjects whose events are counted; over it the oldest is forgotten. */
const SUBJECTS_MAX = 8192;
/** Brains that get the same fault from both sides of this boundary give it two ids: it matters in a split only. */
const SLOT_MS = 600_000;

export class EventKeys {
  readonly #counts = new Map<string, number>();

  /** Of the next event of this kind about a subject that has an id, such as an attack. */
  numbered(kind: string, subject: string): string {
    const text = `${kind} ${subject}`;
    const count = (this.#counts.get(text) ?? 0) + 1;
    this.#counts.delete(text);
    this.#counts.set(text, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > SUBJECTS_MAX && oldest !== undefined) this.#counts.delete(oldest);
    return `${text} ${count}`;
  }
}

/** Of a fault that comes and goes. */
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
