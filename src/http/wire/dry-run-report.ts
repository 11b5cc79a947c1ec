/** The report of dry run (docs/interface.md#dry-run-report). */
import { type Static, Type } from "@sinclair/typebox";
import type { DryRunReport, MarkedBan, MarkSums } from "../../audit/dry-run-report.ts";
import { INCIDENT_VERDICTS } from "../../incident/work.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";

const SUMS = {
  /** Bans that would have been announced. */
  bans: Type.Integer(),
  /** As operators marked the incidents of their attacks. */
  real: Type.Integer(),
  expected: Type.Integer(),
  false_alarm: Type.Integer(),
  unmarked: Type.Integer(),
};

const RowWire = closedObject({
  at: Timestamp,
  /** Absent: it lasts, or its end is not known. */
  until: Type.Optional(Timestamp),
  target: Type.String(),
  hostgroup: Type.Optional(Type.String()),
  attack: Type.Optional(Type.String()),
  incident: Type.Optional(Type.String()),
  mark: Type.Optional(oneOf(...INCIDENT_VERDICTS)),
});

export const DryRunReportWire = closedObject({
  /** False: storage is off. */
  available: Type.Boolean(),
  from: Timestamp,
  to: Timestamp,
  ...SUMS,
  hostgroups: Type.Array(closedObject({ name: Type.String(), ...SUMS })),
  /** The newest first. */
  rows: Type.Array(RowWire),
  /** There were more than are counted: ask for a shorter time. Otherwise absent. */
  truncated: Type.Optional(Type.Literal(true)),
});

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

const NOTHING: MarkSums = { bans: 0, real: 0, expected: 0, falseAlarm: 0, unmarked: 0 };

/** @param report null: storage is off. */
export function reportToWire(report: DryRunReport | null, { fromMs, toMs }: Range): Static<typeof DryRunReportWire> {
  return {
    available: report !== null,
    ...{ from: timestamp(fromMs), to: timestamp(toMs) },
    ...sumsToWire(report?.sums ?? NOTHING),
    hostgroups: (report?.hostgroups ?? []).map(({ name, sums }) => ({ name, ...sumsToWire(sums) })),
    rows: (report?.rows ?? []).map(rowToWire),
    ...(report?.isTruncated === true && { truncated: true as const }),
  };
}

function sumsToWire({ bans, real, expected, falseAlarm, unmarked }: MarkSums) {
  return { bans, real, expected, false_alarm: falseAlarm, unmarked };
}

function rowToWire({ atMs, untilMs, target, group, attack, incident, mark }: MarkedBan): Static<typeof RowWire> {
  return {
    ...{ at: timestamp(atMs), target },
    ...(untilMs !== null && { until: timestamp(untilMs) }),
    ...(group !== null && { hostgroup: group }),
    ...(attack !== null && { attack }),
    ...(incident !== null && { incident }),
    ...(mark !== null && { mark }),
  };
}
