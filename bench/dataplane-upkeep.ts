/** The costs of the filter's tables besides packets: the time to fill and read them, and kernel memory. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type FilterOptions, type KernelFilter, openKernelFilter } from "../src/dataplane/kernel-filter.ts";
import { BpfDirectory } from "../test/fixtures/dataplane/bpf-directory.ts";
import { BOUNDS, PAIRS, pairsTo, rulesFor, VICTIM } from "./dataplane-tables.ts";

type Bounds = Omit<FilterOptions, "pinPath" | "interfaces">;

const PUT = 10_000;

export interface FillTimes {
  /** Milliseconds of each run. */
  readonly pairs: readonly number[];
  readonly rules: readonly number[];
  readonly read: readonly number[];
}

export function fillTimes(runs: number): FillTimes {
  const [pairs, rules, read]: [number[], number[], number[]] = [[], [], []];
  withFilter(BOUNDS, (filter) => {
    filter.putPairs(pairsTo(VICTIM, 0, PAIRS - PUT));
    filter.setRules(rulesFor());
    for (let run = 0; run < runs; run++) {
      const last = pairsTo(VICTIM, PAIRS - PUT, PUT);
      const others = rulesFor(run + 1);
      pairs.push(timed(() => filter.putPairs(last)));
      rules.push(timed(() => filter.setRules(others)));
      read.push(
        timed(() => {
          const { length } = filter.readPairs();
          if (length !== PAIRS) throw new Error(`${length} of ${PAIRS} pairs are there`);
        }),
      );
      filter.removePairs(last);
    }
  });
  return { pairs, rules, read };
}

function timed(work: () => void): number {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
}

export interface MapBytes {
  readonly all: number;
  /** Additional memory per possible pair. */
  readonly forPair: number;
}

export function mapBytes(): MapBytes {
  const all = bytesWith(BOUNDS);
  const without = bytesWith({ ...BOUNDS, maxPairs: 1 });
  return { all, forPair: (all - without) / PAIRS };
}

function bytesWith(bounds: Bounds): number {
  return withFilter(bounds, (filter, pinPath) => {
    filter.attach();
    return filesBelow(pinPath).reduce((sum, path) => sum + memoryOf(path), 0);
  });
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]));
}

/** 0 if it is not a map. */
function memoryOf(path: string): number {
  const shown = Bun.spawnSync(["bpftool", "-j", "map", "show", "pinned", path], { stdout: "pipe", stderr: "pipe" });
  if (!shown.success) return 0;
  return (JSON.parse(shown.stdout.toString()) as { readonly bytes_memlock?: number }).bytes_memlock ?? 0;
}

/** Attached to no interface, with its own pins. */
function withFilter<T>(bounds: Bounds, use: (filter: KernelFilter, pinPath: string) => T): T {
  const directory = new BpfDirectory();
  try {
    const filter = openKernelFilter({ pinPath: directory.path, interfaces: [], ...bounds });
    try {
      return use(filter, directory.path);
    } finally {
      filter.close("detach");
    }
  } finally {
    directory.close();
  }
}
