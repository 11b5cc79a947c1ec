/** The named sets as the service and a scrub node run them: logs and counts what comes of their files. */
import type { Config } from "../config/config.ts";
import type { FilterOpener } from "../dataplane/data-plane.ts";
import { buildNamedSets } from "../dataplane/kernel-filter.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { PrefixSetMetrics } from "../observability/prefix-set-metrics.ts";
import { KeptSets } from "../prefixset/kept-sets.ts";
import { PrefixSets, type PrefixSetView, type WantedSets } from "../prefixset/prefix-sets.ts";
import { setReader } from "../prefixset/set-reader.ts";
import type { Clock } from "../system/clock.ts";
import type { FileFault } from "../system/file-fault.ts";
import type { Timers } from "../system/timers.ts";
import type { FileFaults } from "./file-faults.ts";

export interface PrefixSetParts {
  readonly kernel: Pick<FilterOpener, "readPinned">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly faults: FileFaults;
  /** See PrefixSetsOptions. */
  readonly users: () => Uint8Array;
  readonly metrics: { readonly prefixSets: PrefixSetMetrics; beforeScrape(read: () => void): void };
}

/** The configuration of the service, or of a scrub node, which has no profiles. */
type SetsConfig = Pick<Config, "prefixSets" | "dataplane" | "dryRun" | "stateDir" | "filterRules"> &
  Partial<Pick<Config, "mitigations" | "scrubProfiles">>;

export async function openPrefixSets(config: SetsConfig, parts: PrefixSetParts): Promise<PrefixSets> {
  const { clock, timers, log, limiter, metrics, faults, users } = parts;
  const report = (views: readonly PrefixSetView[]) => faults.replace("prefix_sets", faultsOf(views));
  const made: PrefixSets = await PrefixSets.open(wantedSets(config), {
    read: setReader(timers),
    kept: new KeptSets(config.stateDir),
    users,
    build: buildNamedSets,
    pinned: pinnedNames(config, parts.kernel),
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    every: (ms, fn) => timers.every(ms, fn),
    observer: {
      failed(name, error, isNew) {
        metrics.prefixSets.failed(name);
        // At first the table of faulty files says so.
        if (isNew) return;
        limiter.pass(`prefix set ${name}`, (suppressed) =>
          log.error({ set: name, error, suppressed }, "the file of a prefix set still cannot be used"),
        );
      },
      changed: () => report(made.views()),
      notKept: (cause) =>
        limiter.pass("kept prefix sets", (suppressed) =>
          log.error(
            { cause, suppressed },
            "prefix sets cannot be kept in state_dir: a start would depend on their files",
          ),
        ),
      updated: (name, prefixes) => log.info({ set: name, prefixes }, "a prefix set was read again"),
      refused: (cause) =>
        limiter.pass("prefix sets", (suppressed) =>
          log.error({ cause, suppressed }, "the kernel refuses the prefix sets: the previous ones stay in force"),
        ),
    },
  });
  report(made.views());
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

export function wantedSets({ prefixSets: sets, dataplane, dryRun, ...rest }: SetsConfig): WantedSets {
  return { sets, isKernel: dataplane?.enabled === true && !dryRun, dropping: new Set(droppingSets(rest)) };
}

function* droppingSets({
  filterRules,
  mitigations = [],
  scrubProfiles = [],
}: Pick<SetsConfig, "filterRules" | "mitigations" | "scrubProfiles">): Generator<string> {
  for (const { action, match } of filterRules) if (action !== "pass") yield* match.inSets;
  for (const { scrub } of mitigations) yield* scrub.blockedSets ?? [];
  for (const { filter } of scrubProfiles) yield* filter.blockedSets ?? [];
}

function faultsOf(views: readonly PrefixSetView[]): FileFault[] {
  return views.flatMap(({ config: { name }, hash, error }) =>
    error === null
      ? []
      : [
          {
            key: `prefix_sets ${name}`,
            error,
            effect:
              hash === null
                ? "the set is not in force, nor is any rule that names it, nor one that drops behind a rule that would let it pass"
                : "its last good prefixes stay in use",
          },
        ],
  );
}

/** Sets that an earlier process left in force keep their bits. */
function pinnedNames({ dataplane }: SetsConfig, kernel: Pick<FilterOpener, "readPinned">): readonly string[] {
  if (dataplane === null) return [];
  try {
    return kernel.readPinned(dataplane.pinPath).namedSets;
  } catch {
    // Opening the filter fails as well, and says why.
    return [];
  }
}
