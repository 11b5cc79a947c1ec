/** `floodwall dataplane status`: prints what is pinned in the kernel. Needs no running service and changes nothing. */

import { parseRead } from "../config/load/load.ts";
import { readConfigFile } from "../config/load/read-file.ts";
import { isScrubAgentFile, loadScrubAgent } from "../config/scrub-agent-config.ts";
import { DEFAULT_PIN_PATH } from "../dataplane/dataplane-config.ts";
import { readPinnedStatus } from "../dataplane/kernel-filter.ts";
import { PINNED_EXIT_CODES, pinnedJson, pinnedLines } from "../dataplane/pinned-status.ts";
import { describeProblem } from "../schema/problem.ts";
import { messageOf } from "../system/error-message.ts";

interface DataplaneStatusOptions {
  /** File of the service or of a scrub node; null: the default pin path of both. */
  readonly configPath: string | null;
  readonly format: "text" | "json";
  readonly print: (line: string) => void;
}

/** Returns the exit code: PINNED_EXIT_CODES, or 1 if the state cannot be determined. */
export function dataplaneStatus({ configPath, format, print }: DataplaneStatusOptions): number {
  try {
    const pinPath = configPath === null ? DEFAULT_PIN_PATH : pinPathIn(configPath);
    const pinned = readPinnedStatus(pinPath);
    const lines = format === "json" ? [pinnedJson(pinPath, pinned)] : pinnedLines(pinPath, pinned);
    for (const line of lines) print(line);
    return PINNED_EXIT_CODES[pinned.state];
  } catch (cause) {
    console.error(`floodwall: ${messageOf(cause)}`);
    return 1;
  }
}

function pinPathIn(path: string): string {
  const read = readConfigFile(path);
  const loaded = read.kind === "bytes" && isScrubAgentFile(read.bytes) ? loadScrubAgent(read) : parseRead(read, path);
  if (loaded.kind === "invalid") {
    throw new Error(loaded.problems.map((problem) => describeProblem(path, problem)).join("\n"));
  }
  const { dataplane } = loaded.config;
  if (dataplane === null) throw new Error(`${path} has no section dataplane`);
  return dataplane.pinPath;
}
