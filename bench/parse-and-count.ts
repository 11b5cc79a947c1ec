/**
 * What do one packet, one host and one fold cost with a million hosts, from memory? Compared with a map of structs
 * under a lock.
 */
import { join } from "node:path";
import { type Bench, compared, figure, type Measurement } from "./measurement.ts";

const NATIVE = join(import.meta.dir, "native");
const PROGRAM = join(import.meta.dir, "../build/bench/parse_and_count");
const RIVAL = "map of structs under a mutex";

/** The figures are in the order of the runs, in which ours and the rival took turns. */
interface Line {
  readonly question: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly rival: readonly number[];
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

function measurement({ question, unit, target, ...line }: Line): Measurement {
  const [ours, rival] = [figure("Floodwall", line.ours), figure(RIVAL, line.rival)];
  return {
    ...compared({ question, unit, ours, rival, ratioMin: null }),
    target: target === 0 ? "none set" : `≤ ${target} ${unit}`,
    isMet: target === 0 || ours.median <= target,
    isExact: unit === "bytes",
  };
}
