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

/** Characters that are read at once: a millisecond. */
const STEP_CHARACTERS = 65_536;
const LIST = /^\{"\w+":\[/;

/** The same in steps, where the text is a long list in an object: ten thousand bans are five megabytes. */
export function* readShownInSteps(json: string): Generator<void, unknown, void> {
  const [head] = LIST.exec(json) ?? [];
  if (head === undefined || json.length <= STEP_CHARACTERS) return readShown(json);
  const items: unknown[] = [];
  let from = head.length;
  for (let to = endOfItems(json, from); ; to = endOfItems(json, from)) {
    items.push(...(readShown(`[${json.slice(from, to)}]`) as unknown[]));
    if (json.charAt(to) !== ",") {
      const rest = readShown(head + json.slice(to)) as Record<string, unknown>;
      return { ...rest, [head.slice(2, -3)]: items };
    }
    from = to + 1;
    yield;
  }
}

/** The first comma between two items after a step, or the end of the list. */
function endOfItems(json: string, from: number): number {
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) at = endOfText(json, at);
    else if (character === OPEN_OBJECT || character === OPEN_LIST) depth++;
    else if (character === CLOSE_OBJECT || character === CLOSE_LIST) {
      if (depth === 0) return at;
      depth--;
    } else if (character === COMMA && depth === 0 && at - from >= STEP_CHARACTERS) return at;
  }
  throw new SyntaxError("the list has no end");
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

function endOfText(json: string, from: number): number {
  for (let at = json.indexOf('"', from + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((at - before) % 2 === 0) return at;
  }
  throw new SyntaxError("a text has no end");
}
