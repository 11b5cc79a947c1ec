/**
 * `floodwall replay`: what would have happened with a capture, told in lines for people or as JSON Lines. Knows the exit
 * codes; what happens is found out by the run.
 */
import type { Config } from "../config/config.ts";
import type { Native } from "../dataplane/native.d.ts";
import type { OriginOf } from "../detection/attack/sample-origins.ts";
import { ReplayLines } from "../replay/json.ts";
import { runReplay } from "../replay/run.ts";
import { eventLines, totalsLines } from "../replay/text.ts";

export interface ReplayOptions {
  readonly native: Native;
  readonly config: Config;
  /** Where sources are; null: nobody knows. */
  readonly originOf: OriginOf | null;
  readonly capture: string;
  readonly format: "text" | "json";
  readonly print: (line: string) => void;
}

/** Of a capture that turns out to be damaged: what came before was replayed and told. */
export const EXIT_DAMAGED = 3;

/** Returns the exit code. Throws when the capture cannot be opened; the message names it and the remedy. */
export function replay({ native, config, originOf, capture, format, print }: ReplayOptions): 0 | typeof EXIT_DAMAGED {
  const json = new ReplayLines(config);
  const totals = runReplay({
    native,
    config,
    originOf,
    capture,
    onEvent: (event, timeMs) => {
      if (format === "text") for (const line of eventLines(event, timeMs)) print(line);
      else for (const line of json.ofEvent(event, timeMs)) print(JSON.stringify(line));
    },
  });
  if (format === "text") for (const line of totalsLines(totals)) print(line);
  else for (const line of json.ofTotals(totals, capture)) print(JSON.stringify(line));
  return totals.error === null ? 0 : EXIT_DAMAGED;
}
