/**
 * Texts of callers and nodes that people read. Control characters and those that turn the direction of writing could make
 * a text look like another one, or like several lines.
 */

/** Unicode: Cc, line and paragraph separators, and Bidi_Control (UAX #9). */
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

export function hasUnshown(text: string): boolean {
  return text.search(UNSHOWN) >= 0;
}

/** With `\u202e` in place of such a character. */
export function shown(text: string): string {
  return text.replace(UNSHOWN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
