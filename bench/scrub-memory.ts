/**
 * How much memory do the kernel's tables take that know a million sources, and how many of a million sources that
 * proved their address are known when all have? Single segments through the program itself
 * (native_xdp/source_memory.cpp).
 */
import { buildRivals, SOURCE_MEMORY } from "./counting-process.ts";
import { type Bench, figure, type Measurement } from "./measurement.ts";

const MEGABYTES_MAX = 100;

interface Memory {
  readonly sources: number;
  /** Sources among them with a segment that passes. */
  readonly known: number;
  /** Bytes by map, as the kernel accounts for them, of the maps whose size follows max_sources. */
  readonly maps: Readonly<Record<string, number>>;
}

export const scrubMemory: Bench = {
  question: "memory of a million sources that proved their address",
  async run() {
    if (process.getuid?.() !== 0) return { skipped: "needs root to load an XDP program" };
    buildRivals();
    const run = Bun.spawnSync([SOURCE_MEMORY], { stdout: "pipe", stderr: "pipe" });
    if (!run.success) throw new Error(run.stderr.toString());
    return measurements(JSON.parse(run.stdout.toString()) as Memory);
  },
};

function measurements({ sources, known, maps }: Memory): Measurement[] {
  const megabytes = Object.values(maps).reduce((sum, bytes) => sum + bytes, 0) / 1e6;
  const parts = Object.entries(maps).map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(1)} MB`);
  const row = { rival: null, isExact: true } as const;
  const count = sources.toLocaleString("en-US");
  return [
    {
      ...row,
      question: `kernel maps for max_sources: ${count}`,
      unit: "MB",
      ours: figure("Floodwall", [megabytes]),
      target: `≤ ${MEGABYTES_MAX} MB`,
      isMet: megabytes <= MEGABYTES_MAX,
      details: [parts.join(", ")],
    },
    {
      ...row,
      question: `of ${count} sources that proved their address, still known after the last`,
      unit: "%",
      ours: figure("Floodwall", [(100 * known) / sources]),
      target: "none set",
      isMet: true,
    },
  ];
}
