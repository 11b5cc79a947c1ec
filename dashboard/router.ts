/**
 * The current view, in the part of the URL after #: `#/attacks/ID?q=…`. Browsers do not send this part to the service.
 */
import { signal } from "@preact/signals";

interface Place {
  /** `["attacks", "ID"]`, decoded; empty for the overview. */
  readonly steps: readonly string[];
  readonly query: URLSearchParams;
}

interface Seen {
  readonly isSeen: true;
}

/** Kept with an entry of the browser's history. */
const SEEN: Seen = { isSeen: true };

export const place = signal<Place>(parsePlace(location.hash));

addEventListener("hashchange", () => {
  const before = place.peek().steps.join("/");
  place.value = parsePlace(location.hash);
  // A place that was seen before is gone back to, and the browser restores how far it was scrolled.
  const isBack = (history.state as Seen | null)?.isSeen === true;
  history.replaceState(SEEN, "");
  if (!isBack && place.peek().steps.join("/") !== before) scrollTo(0, 0);
});
history.replaceState(SEEN, "");

/** For links: `linkTo(["attacks", id])`. */
export function linkTo(steps: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams(query).toString();
  const path = steps.map(encodeURIComponent).join("/");
  return `#/${path}${parameters === "" ? "" : `?${parameters}`}`;
}

/**
 * Changes the filters of the same view; null removes a filter.
 * @param isStep whether the browser's way back leads to the filters before; default: it leads to the view before
 */
export function setQuery(changes: Readonly<Record<string, string | null>>, { isStep = false } = {}): void {
  const { steps, query } = place.value;
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(key);
    else next.set(key, value);
  }
  const link = linkTo(steps, Object.fromEntries(next));
  if (isStep) history.pushState(SEEN, "", link);
  else history.replaceState(SEEN, "", link);
  place.value = { steps, query: next };
}

function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const steps = path.split("/").filter((step) => step !== "");
  return { steps: steps.map(decode), query: new URLSearchParams(query) };
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
