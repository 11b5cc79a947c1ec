/**
 * Whether the service answers, since when it does not, and what its clock says. Every request to the service reports
 * its outcome here.
 */
import { signal } from "@preact/signals";

type Contact =
  | { readonly kind: "none_yet" }
  | { readonly kind: "in_touch" }
  /** Time of the last answer, milliseconds of the browser's wall clock; null: there was none yet. */
  | { readonly kind: "lost"; readonly sinceMs: number | null };

export const contact = signal<Contact>({ kind: "none_yet" });

/**
 * Time of the last answer if nothing has come for a while, so that all that is shown may be wrong by now; null: the
 * service answers. It is known sooner than that contact is lost, which each failed request says.
 */
export const silentSinceMs = signal<number | null>(null);

/** Silence of this length is one. With the period of the heartbeat, what is old is marked within two seconds. */
export const SILENCE_MS = 1200;

/** Differences below this need no correction: the header has whole seconds, and the answer took time to arrive. */
const SKEW_TOLERATED_MS = 3000;

let answeredMs: number | null = null;
let skewMs = 0;

/** @param date value of the `Date` header. */
export function answered(date: string | null = null): void {
  answeredMs = Date.now();
  if (contact.peek().kind !== "in_touch") contact.value = { kind: "in_touch" };
  silentSinceMs.value = null;
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs - answeredMs;
  skewMs = Math.abs(difference) > SKEW_TOLERATED_MS ? difference : 0;
}

export function unanswered(): void {
  if (contact.peek().kind !== "lost") contact.value = { kind: "lost", sinceMs: answeredMs };
  silentSinceMs.value ??= answeredMs;
}

/**
 * Looks whether the service is silent.
 * @param awakeMs for how long this page has run without a pause: what it did not read in a pause says nothing
 */
export function heed(nowMs: number, awakeMs: number): void {
  if (answeredMs === null || contact.peek().kind === "none_yet") return;
  if (Math.min(nowMs - answeredMs, awakeMs) > SILENCE_MS) silentSinceMs.value ??= answeredMs;
}

/** The service's wall clock, ms. Expiry times set by the service are compared with this clock. */
export function serviceNow(): number {
  return Date.now() + skewMs;
}
