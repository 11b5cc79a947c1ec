/** Whether the service answers, since when it does not, and what time it has. Whoever asks it anything tells so here. */
import { signal } from "@preact/signals";

export type Contact =
  | { readonly kind: "none_yet" }
  | { readonly kind: "in_touch" }
  /** Since the last answer, milliseconds of the wall clock here; null: there never was one. */
  | { readonly kind: "lost"; readonly sinceMs: number | null };

export const contact = signal<Contact>({ kind: "none_yet" });

/** Clocks that agree within this need no correction: the header has whole seconds, and was under way. */
const SKEW_TOLERATED_MS = 3000;

let answeredMs: number | null = null;
let skewMs = 0;

/** @param date the header of that name. */
export function answered(date: string | null = null): void {
  answeredMs = Date.now();
  if (contact.peek().kind !== "in_touch") contact.value = { kind: "in_touch" };
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs - answeredMs;
  skewMs = Math.abs(difference) > SKEW_TOLERATED_MS ? difference : 0;
}

export function unanswered(): void {
  if (contact.peek().kind !== "lost") contact.value = { kind: "lost", sinceMs: answeredMs };
}

/** The service's wall clock, ms: what lasts until a time of its making ends when it says so. */
export function serviceNow(): number {
  return Date.now() + skewMs;
}
