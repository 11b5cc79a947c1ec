/**
 * What a BIRD had at each moment, from its own record of every change of its table: a look, however frequent, misses what
 * is shorter than the time between two of them, and a hundred looks a second cost a core.
 */
import { appendFileSync, readFileSync } from "node:fs";

/** Of the process, which ends without a word of its own. */
const STOPPED = "<LAB> stopped";
const LINE = /^(\S+ \S+) <(?:TRACE> \S+ > (added|removed) \[(\w+)\] (\S+) |LAB> stopped)/;

interface Change {
  readonly atMs: number;
  /** null: all. */
  readonly prefix: string | null;
  readonly isThere: boolean;
}

export class RouteLog {
  constructor(readonly path: string) {}

  /** The BIRD was killed, and all routes with it. */
  stopped(): void {
    const now = new Date();
    const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
    appendFileSync(this.path, `${local.toISOString().replace("T", " ").replace("Z", "")} ${STOPPED}\n`);
  }

  /** Whether the route was there then, wall clock ms. */
  isThere(prefix: string, atMs: number): boolean {
    return (
      this.#of(prefix)
        .filter((change) => change.atMs <= atMs)
        .at(-1)?.isThere ?? false
    );
  }

  /** The longest time between two moments in which the route was missing, ms. */
  longestGapMs(prefix: string, fromMs: number, toMs: number): number {
    let [missingSinceMs, longestMs] = [this.isThere(prefix, fromMs) ? null : fromMs, 0];
    for (const { atMs, isThere } of this.#of(prefix)) {
      if (atMs <= fromMs || atMs >= toMs) continue;
      if (isThere) {
        if (missingSinceMs !== null) longestMs = Math.max(longestMs, atMs - missingSinceMs);
        missingSinceMs = null;
      } else missingSinceMs ??= atMs;
    }
    return Math.max(longestMs, missingSinceMs === null ? 0 : toMs - missingSinceMs);
  }

  /** When the route went for the last time; null: it is there, or never was. */
  goneAtMs(prefix: string): number | null {
    const last = this.#of(prefix).at(-1);
    return last === undefined || last.isThere ? null : last.atMs;
  }

  #of(prefix: string): readonly Change[] {
    const text = readFileSync(this.path, "utf8");
    return text.split("\n").flatMap((line) => {
      const change = changeOf(line);
      return change !== null && (change.prefix === null || change.prefix === prefix) ? [change] : [];
    });
  }
}

function changeOf(line: string): Change | null {
  const [, at = "", verb, which, prefix] = LINE.exec(line) ?? [];
  if (at === "") return null;
  const atMs = Date.parse(at.replace(" ", "T"));
  if (verb === undefined) return { atMs, prefix: null, isThere: false };
  // `removed [replaced]`: a route of another session is still there.
  if (verb === "removed" && which !== "sole") return null;
  return { atMs, prefix: prefix as string, isThere: verb === "added" };
}
