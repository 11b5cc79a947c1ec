/** The report of dry run over a time, with the marks of operators on the attacks. */

import { type DryRunReport, dryRunReport } from "../../audit/dry-run-report.ts";
import { HISTORY_ROWS_MAX } from "../../limits.ts";
import type { Clock } from "../../system/clock.ts";
import { attacksIn, markOf } from "../attacks-in.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import type { SlicedWork } from "../table-pass.ts";
import { type TimeRange, timeRange } from "../time-range.ts";
import { DryRunReportWire, reportToWire } from "../wire/dry-run-report.ts";

/** Where no time is given. */
const WEEK_MS = 7 * 86_400_000;
type Sources = Pick<Backend, "auditEvents" | "endedAttacks" | "attacks" | "incidents">;

export function dryRunReportRoute(backend: Sources, clock: Pick<Clock, "wallMs">, sliced: SlicedWork): ReadRoute {
  return {
    name: "dry_run_report",
    method: "GET",
    path: "/api/v1/dry-run/report",
    access: "viewer",
    unscopedOnly: true,
    asksHistory: true,
    about: {
      summary:
        "The automatic bans that dry run kept back, by what operators marked their attacks as; a week by default",
      query: RANGE_PARAMETERS,
      answers: {
        200: { text: "The report; with storage off it is empty, and available is false.", schema: DryRunReportWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ query }) => {
      const nowMs = clock.wallMs();
      const isGiven = parameter(query, "from") !== null || parameter(query, "to") !== null;
      const range = isGiven
        ? timeRange(query, nowMs)
        : { kind: "range" as const, fromMs: nowMs - WEEK_MS, toMs: nowMs };
      if (range.kind !== "range") return range;
      return jsonAnswer(200, reportToWire(await reportOf(backend, range, sliced), range));
    },
  };
}

/** null: storage is off. */
async function reportOf(backend: Sources, range: TimeRange, sliced: SlicedWork): Promise<DryRunReport | null> {
  const filters = { result: null, operator: null, target: null, tenant: null };
  const [bans, unbans] = await Promise.all(
    (["ban", "unban"] as const).map((action) =>
      backend.auditEvents({ range, filters: { ...filters, action }, tenant: null }, null),
    ),
  );
  if (bans?.available !== true || unbans?.available !== true) return null;
  const { attacks, isWhole } = await attacksIn(backend, range);
  const report = dryRunReport({
    events: [...bans.events, ...unbans.events],
    attacks,
    markOf: (id) => markOf(backend, id),
    isTruncated: !isWhole || bans.events.length >= HISTORY_ROWS_MAX,
  });
  return sliced.run(report);
}
