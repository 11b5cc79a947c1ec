/**
 * Bounds the nesting and the number of values of a JSON text before it is parsed: a parsed document takes up to 40 times
 * the memory of its text. Does not check the syntax. Pure.
 */
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

interface ScanBounds {
  /** Lists and objects inside each other. */
  readonly depthMax: number;
  /** Lists, objects, and their further elements. */
  readonly valuesMax: number;
}

/** null: within the bounds. */
export function excessIn(text: string, { depthMax, valuesMax }: ScanBounds): "depth" | "values" | null {
  let [depth, values] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (++depth > depthMax) return "depth";
        if (++values > valuesMax) return "values";
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--;
        break;
      case COMMA:
        if (++values > valuesMax) return "values";
        break;
      default:
    }
  }
  return null;
}

/** The index of the closing quote; the length of the text if there is none. */
function endOfString(text: string, opening: number): number {
  for (let at = text.indexOf('"', opening + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
