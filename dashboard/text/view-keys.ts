/** The single keys of the views: g, then the letter of the view. Pure. */

/** By the name of the view; the overview has no name. */
const LETTERS: Readonly<Record<string, string>> = {
  "": "o",
  attacks: "a",
  incidents: "i",
  mitigation: "m",
  hosts: "h",
  explorer: "x",
  scrub: "n",
  edge: "e",
  telemetry: "t",
  audit: "u",
  settings: "c",
  wall: "w",
};

/** After this time the first key is forgotten. */
export const SECOND_KEY_MS = 1500;

export function letterOf(view: string): string | undefined {
  return LETTERS[view];
}

interface KeyStep {
  /** When g was pressed; null: it was not. */
  readonly pressedMs: number | null;
  /** The view to go to; null: stay. */
  readonly view: string | null;
}

/** @param pressedMs of the step before. */
export function keyStep(
  pressedMs: number | null,
  { key, atMs }: { readonly key: string; readonly atMs: number },
): KeyStep {
  if (pressedMs !== null && atMs - pressedMs <= SECOND_KEY_MS) {
    const found = Object.entries(LETTERS).find(([, letter]) => letter === key);
    return { pressedMs: null, view: found === undefined ? null : found[0] };
  }
  return { pressedMs: key === "g" ? atMs : null, view: null };
}
