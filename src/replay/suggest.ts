/**
 * `floodwall replay --suggest`: proposes thresholds and baselines from a capture of normal traffic. For each choice it
 * measures, on that capture, how often it would have raised a false alarm.
 */
import { statSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { configWith, readSections, type Sections } from "../config/load/section-overrides.ts";
import type { Native } from "../dataplane/native.d.ts";
import { type Choice, choicesOf, FACTORS, SUGGESTED_RULE } from "./choices.ts";
import { type Alarms, measure, SUGGEST_HOSTS_MAX, SUGGEST_ROWS_MAX } from "./measure.ts";
import { type CaptureRates, ratesIn, type SeenRates } from "./rates.ts";

interface SuggestOptions {
  readonly native: Native;
  readonly config: Config;
  readonly configPath: string;
  readonly capture: string;
}

export interface MeasuredChoice extends Choice {
  readonly alarms: Alarms;
}

export interface Suggestion {
  readonly capture: string;
  readonly config: Config;
  readonly rates: CaptureRates;
  readonly seen: readonly SeenRates[];
  readonly choices: readonly MeasuredChoice[];
  readonly suggested: MeasuredChoice;
  /** Notes that help to judge the choices, one sentence each. */
  readonly notes: readonly string[];
}

/** The capture is not suitable; the message says why and what to do. */
class SuggestError extends Error {}

/** Tried first; the milder one if it raises alarms. The strictest is shown but not suggested. */
const FACTORS_SUGGESTED = FACTORS.filter((factor) => factor >= 3);
/** A capture shorter than this number of warm-ups is too short for a baseline. */
const WARMUPS_LEAST = 2;
/** A host with this many times the rate of nearly all others should have a hostgroup of its own. */
const OUTLIER_FACTOR = 10;

/** Throws SuggestError, or the error that says why the capture cannot be read. */
export function suggest({ native, config, configPath, capture }: SuggestOptions): Suggestion {
  if (statSync(capture, { throwIfNoEntry: false })?.isFile() === false) {
    throw new SuggestError(`${capture} is not a file: --suggest reads the capture twice, so save it to a file first`);
  }
  const rates = ratesIn(native, config, capture);
  const seen = rates.seen.filter(({ group, direction }) => isJudged(config, group, direction));
  if (seen.length === 0) {
    throw new SuggestError(
      `${capture} has no packet to the configured networks: check networks, or capture where their traffic passes`,
    );
  }
  const file = readSections(configPath);
  const seconds = (rates.endedMs - (rates.startedMs ?? 0)) / 1000;
  const proposed = choicesOf({ file, config, seen });
  const warmupMax = Math.floor(seconds / 4);
  const { alarms, unjudgedRows } = measure({
    native,
    capture,
    configs: proposed.map(({ sections }) => configWith(file, withWarmup(sections, warmupMax))),
    hosts: rates.trackedHostsMax,
  });
  const choices = proposed.map((choice, i) => ({ ...choice, alarms: alarms[i] as Alarms }));
  const warmupSeconds = warmupOf(choices);
  const isLongEnough = seconds >= WARMUPS_LEAST * warmupSeconds;
  const notes = [
    ...boundNotes(rates, unjudgedRows),
    ...(choices.some(({ alarms: { hosts } }) => hosts >= SUGGEST_HOSTS_MAX)
      ? [`at most ${SUGGEST_HOSTS_MAX} hosts with alarms are counted for a choice`]
      : []),
    ...(isLongEnough
      ? []
      : [
          `the capture lasts ${Math.round(seconds)} s: a baseline, which warms up for ${warmupSeconds} s, was tried with a ` +
            `warm-up of at most ${warmupMax} s, and none is suggested from less than ${WARMUPS_LEAST * warmupSeconds} s`,
        ]),
    ...outlierNotes(config, seen),
  ];
  return { capture, config, rates, seen, choices, suggested: pick(choices, isLongEnough), notes };
}

function isJudged({ hostgroups }: Config, group: number, direction: SeenRates["direction"]): boolean {
  return direction === "incoming" || (hostgroups[group]?.thresholdsOutgoing ?? null) !== null;
}

/**
 * Returns the first choice without false alarms, preferring baselines. Thresholds above all observed rates never raise
 * any.
 */
function pick(choices: readonly MeasuredChoice[], isLongEnough: boolean): MeasuredChoice {
  const baselines = isLongEnough ? FACTORS_SUGGESTED : [];
  const wanted = [...baselines.map((factor) => choices.find((choice) => choice.factor === factor))];
  const thresholds = choices.find(({ name, factor }) => name === SUGGESTED_RULE.name && factor === null);
  const quiet = wanted.find((choice) => choice?.alarms.attacks === 0) ?? thresholds;
  if (quiet === undefined) throw new Error("bug: the suggested rule is not among the choices");
  return quiet;
}

/** For the trial only: in a short capture the warm-up of a baseline would otherwise never end. */
function withWarmup(sections: Sections, warmupMax: number): Sections {
  const shortened = (section: unknown) => {
    const baseline = section as { readonly warmup_seconds?: number } | undefined;
    if (baseline?.warmup_seconds === undefined) return baseline;
    return { ...baseline, warmup_seconds: Math.min(baseline.warmup_seconds, warmupMax) };
  };
  const groups = sections["hostgroups"] as readonly Sections[] | undefined;
  return {
    ...sections,
    baseline: shortened(sections["baseline"]),
    ...(groups === undefined
      ? {}
      : { hostgroups: groups.map((group) => ({ ...group, baseline: shortened(group["baseline"]) })) }),
  };
}

/** The longest of the proposed ones. */
function warmupOf(choices: readonly Choice[]): number {
  const baselines = choices.flatMap(({ sections }) => [
    sections["baseline"],
    ...((sections["hostgroups"] ?? []) as readonly Sections[]).map((group) => group["baseline"]),
  ]);
  return Math.max(...baselines.map((each) => (each as { warmup_seconds?: number } | undefined)?.warmup_seconds ?? 0));
}

function boundNotes({ refusedHosts, status }: CaptureRates, unjudgedRows: number): string[] {
  const untracked = status.queues.reduce((sum, { untrackedPackets }) => sum + untrackedPackets, 0);
  return [
    ...(refusedHosts > 0 || untracked > 0
      ? [
          `the host table was full: ${untracked} packets of ${refusedHosts} hosts are not included; ` +
            "raise capture.max_hosts",
        ]
      : []),
    ...(unjudgedRows > 0
      ? [
          `more than ${SUGGEST_ROWS_MAX} hosts were over a threshold in one tick: ${unjudgedRows} times one was not ` +
            "judged, so the strictest choices raise more alarms than this says",
        ]
      : []),
    ...(status.error === null ? [] : [`the capture ends early: ${status.error}`]),
  ];
}

function* outlierNotes({ hostgroups }: Config, seen: readonly SeenRates[]): Generator<string> {
  for (const { group, direction, metrics, busiest } of seen) {
    const [pps] = metrics;
    const [host] = busiest;
    if (pps === undefined || host === undefined || pps.peak < OUTLIER_FACTOR * pps.quantile(0.99)) continue;
    yield `${host.target} (${hostgroups[group]?.name}, ${direction}) has up to ${Math.round(host.pps)} pps, over ` +
      `${OUTLIER_FACTOR} times what nearly all others have: give it a hostgroup of its own, or check whether it was attacked`;
  }
}
