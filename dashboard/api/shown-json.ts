/**
 * Reads the service's JSON. Characters of texts that turn the direction of writing, or control a terminal, are shown by
 * their number: they could make a text of a node or a caller look like another one.
 */

/** Those that JSON has as they are. Unicode: Bidi_Control (UAX #9), line separators, and C1. */
const UNSHOWN = /[\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function readShown(json: string): unknown {
  return JSON.parse(
    json.replace(UNSHOWN, (character) => `\\\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}
