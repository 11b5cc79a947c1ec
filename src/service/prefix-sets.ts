/** The named sets as the service and a scrub node run them: logs and counts what comes of their files. */
import type { Config } from "../config/config.ts";
import type { FilterOpener } from "../dataplane/data-plane.ts";
import { buildNamedSets } from "../dataplane/kernel-filter.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { PrefixSetMetrics } from "../observability/prefix-set-metrics.ts";
import { PrefixSets, type WantedSets } from "../prefixset/prefix-sets.ts";
import { setReader } from "../prefixset/set-reader.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";

export interface PrefixSetParts {
  readonly kernel: Pick<FilterOpener, "readPinned">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: { readonly prefixSets: PrefixSetMetrics; beforeScrape(read: () => void): void };
}

type SetsConfig = Pick<Config, "prefixSets" | "dataplane" | "dryRun">;

/** Rejects with a PrefixSetError. */
export async function openPrefixSets(config: SetsConfig, parts: PrefixSetParts): Promise<PrefixSets> {
  const { clock, timers, log, limiter, metrics } = parts;
  const made = await PrefixSets.open(wantedSets(config), {
    read: setReader(timers),
    build: buildNamedSets,
    pinned: pinnedNames(config, parts.kernel),
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    every: (ms, fn) => timers.every(ms, fn),
    observer: {
      failed(name, error, isNew) {
        metrics.prefixSets.failed(name);
        const say = (suppressed: number) =>
          log.error({ set: name, error, suppressed }, "a prefix set cannot be read: it keeps its last good prefixes");
        if (isNew) say(0);
        else limiter.pass(`prefix set ${name}`, say);
      },
      updated: (name, prefixes) => log.info({ set: name, prefixes }, "a prefix set was read again"),
      refused: (cause) =>
        limiter.pass("prefix sets", (suppressed) =>
          log.error({ cause, suppressed }, "the kernel refuses the prefix sets: the previous ones stay in force"),
        ),
    },
  });
  metrics.beforeScrape(() => {
    const now = clock.wallMs();
    const ageOf = (changedMs: number | null) => (changedMs === null ? null : Math.max(0, (now - changedMs) / 1000));
    metrics.prefixSets.set(
      made.views().map(({ config: { name }, prefixes, fileChangedMs }) => ({
        name,
        prefixes,
        ageSeconds: ageOf(fileChangedMs),
      })),
    );
  });
  return made;
}

export function wantedSets({ prefixSets: sets, dataplane, dryRun }: SetsConfig): WantedSets {
  return { sets, isKernel: dataplane?.enabled === true && !dryRun };
}

/** What an earlier process left in force goes on to be known by the same bits. */
function pinnedNames({ dataplane }: SetsConfig, kernel: Pick<FilterOpener, "readPinned">): readonly string[] {
  if (dataplane === null) return [];
  try {
    return kernel.readPinned(dataplane.pinPath).namedSets;
  } catch {
    // Opening the filter fails as well, and says why.
    return [];
  }
}
