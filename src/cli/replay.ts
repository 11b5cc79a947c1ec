/**
 * `floodwall replay`: prints what would have happened with a capture, or the thresholds that it suggests, as text or as
 * JSON. Owns the exit codes; the run and the suggestion are computed elsewhere.
 */
import type { Config } from "../config/config.ts";
import { ConfigError, loadConfigOrThrow } from "../config/load/load.ts";
import { loadAddon } from "../dataplane/addon.ts";
import { openOrigins } from "../geo/origins.ts";
import { ReplayLines } from "../replay/json.ts";
import { runReplay } from "../replay/run.ts";
import { suggest } from "../replay/suggest.ts";
import { suggestionJson, suggestionLines } from "../replay/suggest-text.ts";
import { eventLines, totalsLines } from "../replay/text.ts";
import { messageOf } from "../system/error-message.ts";

interface ReplayOptions {
  readonly configPath: string;
  readonly capture: string;
  readonly format: "text" | "json";
  readonly isSuggesting: boolean;
  /** Seed of the choice of sampled packets. */
  readonly seed: number;
  readonly print: (line: string) => void;
}

/** For a damaged capture: the part before the damage was replayed and printed. */
const EXIT_DAMAGED = 3;

/** Returns the exit code. */
export async function replay(options: ReplayOptions): Promise<number> {
  try {
    return await replayOrThrow(options);
  } catch (cause) {
    console.error(cause instanceof ConfigError ? cause.message : `floodwall: ${messageOf(cause)}`);
    return 1;
  }
}

/** Returns the exit code. Throws an error that says why nothing can be replayed. */
export async function replayOrThrow(options: ReplayOptions): Promise<number> {
  const config = loadConfigOrThrow(options.configPath);
  const error = options.isSuggesting ? printSuggestion(config, options) : await printEvents(config, options);
  return error === null ? 0 : EXIT_DAMAGED;
}

/** Returns why the capture ends early; null: it is complete. Throws if it cannot be opened. */
async function printEvents(config: Config, { capture, format, seed, print }: ReplayOptions): Promise<string | null> {
  const originOf = await openOrigins(config.samples);
  const json = new ReplayLines(config);
  const totals = runReplay({
    native: loadAddon(),
    config,
    originOf,
    capture,
    seed,
    onEvent: (event, timeMs) => {
      if (format === "text") for (const line of eventLines(event, timeMs)) print(line);
      else for (const line of json.ofEvent(event, timeMs)) print(JSON.stringify(line));
    },
  });
  if (format === "text") for (const line of totalsLines(totals)) print(line);
  else for (const line of json.ofTotals(totals, capture)) print(JSON.stringify(line));
  return totals.error;
}

function printSuggestion(config: Config, { configPath, capture, format, print }: ReplayOptions): string | null {
  const suggestion = suggest({ native: loadAddon(), config, configPath, capture });
  if (format === "json") print(JSON.stringify(suggestionJson(suggestion)));
  else for (const line of suggestionLines(suggestion)) print(line);
  return suggestion.rates.status.error;
}
