/** The configuration in words, and the errors of a configuration file. Pure. */
import type { HostgroupConfigWire } from "../../src/http/wire/configured.ts";
import type { StatusWire } from "../../src/http/wire/status.ts";
import { t } from "../language.ts";
import { metricName, rateOf } from "./format/numbers.ts";
import { duration } from "./format/times.ts";
import { capital, methodName } from "./format/words.ts";

/** `FlowSpec, after 5 min Blackhole`. */
export function ladderText({ ban, mitigation, escalation }: HostgroupConfigWire): string {
  if (!ban) return t`Alert only`;
  if (escalation === undefined) return methodName(mitigation);
  return escalation
    .map(({ action, after_seconds: after }) =>
      after === 0 ? methodName(action) : t`after ${duration(after)} ${methodName(action)}`,
    )
    .join(", ");
}

type GroupStatus = StatusWire["hostgroups"][number];

/** Whether bans there are in dry run while the service is live; "": they are not. */
export function dryRunText({ dry_run_directions: directions = [] }: GroupStatus): string {
  const [direction, other] = directions;
  if (direction === undefined) return "";
  if (other !== undefined) return t`in dry run`;
  return direction === "incoming" ? t`in dry run for incoming attacks` : t`in dry run for outgoing attacks`;
}

const TRIO = ["pps", "mbps", "flows_per_sec"];

/** Each as a name and a value; metrics of single protocols have their own names. */
export function thresholdFacts(thresholds: Readonly<Record<string, number>>): [string, string][] {
  return Object.entries(thresholds).map(([metric, value]) => [capital(metricName(metric)), rateOf(metric, value)]);
}

/** The thresholds beyond the base trio, in one line. */
export function otherThresholds(thresholds: Readonly<Record<string, number>>): string {
  const others = Object.entries(thresholds).filter(([metric]) => !TRIO.includes(metric));
  return others.map(([metric, value]) => `${metricName(metric)} ${rateOf(metric, value)}`).join(", ");
}

interface ProblemLine {
  /** `file:line`; null: the line has no location. */
  readonly at: string | null;
  /** `hostgroups[2].thresholds.pps`; null: the file as a whole. */
  readonly key: string | null;
  readonly rule: string;
}

const PLACE = /^(\/[^\n]*?(?::\d+)?): (.*)$/;
const KEY = /^([a-z_]+(?:\.[a-z0-9_]+|\[\d+\])*): (.*)$/;

/** Parses `file:line: path: rule`, as in the answer to a refused reload, one error a line. */
export function problemLines(text: string): ProblemLine[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, at = null, rest = line] = PLACE.exec(line) ?? [];
      const [, key = null, rule = rest] = (at === null ? null : KEY.exec(rest)) ?? [];
      return { at, key, rule };
    });
}

/** Operators' settings over the configuration: `packets 9.00 kpps, FlowSpec, never bans 203.0.113.7 (by anna)`. */
export function settingsText(settings: NonNullable<HostgroupConfigWire["settings"]>): string {
  const { thresholds = {}, mitigation, protected_whitelist: listed = [], by } = settings;
  const parts = [
    ...Object.entries(thresholds).map(([metric, limit = 0]) => `${metricName(metric)} ${rateOf(metric, limit)}`),
    ...(mitigation === undefined ? [] : [methodName(mitigation)]),
    ...(listed.length === 0 ? [] : [t`never bans ${listed.join(", ")}`]),
  ];
  return `${parts.join(", ")}${by === undefined ? "" : t` (by ${by})`}`;
}
