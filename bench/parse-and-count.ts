/**
 * What do one packet, one host and one fold cost with a million hosts, from memory? Compared with a map of structs
 * under a lock.
 */
import { join } from "node:path";
import type { Bench, Measurement } from "./measurement.ts";

const NATIVE = join(import.meta.dir, "native");
const PROGRAM = join(import.meta.dir, "../build/bench/parse_and_count");
const RIVAL = "map of structs under a mutex";

interface Line {
  readonly question: string;
  readonly unit: string;
  readonly ours: number;
  readonly ours_least: number;
  readonly ours_most: number;
  readonly rival: number;
  readonly rival_least: number;
  readonly rival_most: number;
  readonly runs: number;
  /** At most; 0: none. */
  readonly target: number;
}

export const parseAndCount: Bench = {
  question: "cost of a packet, a host and a fold at a million hosts",
  async run() {
    const build = Bun.spawnSync(["make", "-C", NATIVE, "all"], { stdout: "pipe", stderr: "pipe" });
    if (!build.success) throw new Error(`the bench does not build:\n${build.stderr.toString()}`);
    const child = Bun.spawn([PROGRAM], { stdout: "pipe", stderr: "inherit" });
    const output = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(`${PROGRAM} failed`);
    return output
      .trim()
      .split("\n")
      .map((line) => measurement(JSON.parse(line) as Line));
  },
};

function measurement(line: Line): Measurement {
  const { question, unit, runs, target } = line;
  return {
    question,
    unit,
    ours: { name: "Floodwall", median: line.ours, least: line.ours_least, most: line.ours_most, runs },
    rival: { name: RIVAL, median: line.rival, least: line.rival_least, most: line.rival_most, runs },
    target: target === 0 ? "none set" : `≤ ${target} ${unit}`,
    isMet: target === 0 || line.ours <= target,
  };
}
