/** Thresholds of hostgroups, proposed from the history of their hosts. */
import { Type } from "@sinclair/typebox";
import type { Attack } from "../../detection/attack/attack.ts";
import type { IncidentVerdict } from "../../incident/work.ts";
import { parseAddress } from "../../net/address.ts";
import type { Clock } from "../../system/clock.ts";
import type { Metric } from "../../traffic/rates.ts";
import { MARGIN_DEFAULT, type MarkedPeak, suggestThresholds } from "../../traffic/threshold-suggestion.ts";
import { DAY_SECONDS } from "../../traffic/traffic-peaks.ts";
import { attacksIn, markOf } from "../attacks-in.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { invalidQuery, parameter } from "../server/query.ts";
import type { SlicedWork } from "../table-pass.ts";
import { SuggestionWire, suggestionToWire } from "../wire/suggestion.ts";

const DAYS_DEFAULT = 28;
const DAYS_MAX = 31;
const MARGIN_MAX = 100;

export function suggestionRoute(
  backend: Pick<Backend, "trafficPeaks" | "configured" | "tenancy" | "endedAttacks" | "attacks" | "incidents">,
  clock: Pick<Clock, "wallMs">,
  sliced: SlicedWork,
): ReadRoute {
  return {
    name: "suggested_thresholds",
    method: "GET",
    path: "/api/v1/thresholds/suggested",
    access: "viewer",
    unscopedOnly: true,
    asksHistory: true,
    about: {
      summary: "Thresholds of hostgroups, proposed from the daily peaks of their hosts outside of attacks",
      query: {
        days: { text: `The last whole days, 7 to ${DAYS_MAX}; ${DAYS_DEFAULT} by default.`, schema: Type.Integer() },
        margin: { text: `Over what was seen; ${MARGIN_DEFAULT} by default.`, schema: Type.Number() },
      },
      answers: {
        200: { text: "The thresholds, or why there are none.", schema: SuggestionWire },
        502: { text: "The history cannot be read, or not in time: ask for fewer days." },
      },
    },
    handle: async ({ query }) => {
      const days = Number(parameter(query, "days") ?? DAYS_DEFAULT);
      if (!Number.isInteger(days) || days < 7 || days > DAYS_MAX)
        return invalidQuery(`days must be a whole number from 7 to ${DAYS_MAX}: ${parameter(query, "days")}`);
      const margin = Number(parameter(query, "margin") ?? MARGIN_DEFAULT);
      if (!(margin >= 1 && margin <= MARGIN_MAX))
        return invalidQuery(`margin must be a number from 1 to ${MARGIN_MAX}: ${parameter(query, "margin")}`);
      const toMs = clock.wallMs();
      const fromMs = beginOf(days, toMs);
      const peaks = await backend.trafficPeaks({ fromMs, toMs });
      if (peaks === null) return jsonAnswer(200, suggestionToWire(null, margin));
      const { hostgroups } = backend.configured();
      const tenancy = backend.tenancy();
      const { attacks, isWhole } = await attacksIn(backend, { fromMs });
      const steps = suggestThresholds(peaks, {
        margin,
        marked: attacks.flatMap((attack) =>
          markedPeak(attack, attack.incident === undefined ? null : markOf(backend, attack.incident)),
        ),
        groups: hostgroups.map(({ name, calculation, thresholdsOutgoing }) => ({
          ...{ name, isTotal: calculation === "total", judgesOutgoing: thresholdsOutgoing !== null },
        })),
        groupOf: (host) => {
          const address = parseAddress(host);
          return address === null ? null : tenancy.groupOf(address);
        },
      });
      return jsonAnswer(200, suggestionToWire(await sliced.run(steps), margin, isWhole));
    },
  };
}

/** The begin of the UTC day this many days ago: these count as a whole, at any time of the day. */
export function beginOf(days: number, nowMs: number): number {
  const dayMs = DAY_SECONDS * 1000;
  return (Math.floor(nowMs / dayMs) - days) * dayMs;
}

/**
 * An attack on a part of a hostgroup is judged by other bounds. The rates of one that ended are those of its last, calm
 * seconds, and its volume has no flows: of the metric that it crossed, it had at least the threshold.
 */
export function markedPeak(attack: Attack, mark: IncidentVerdict | null): MarkedPeak[] {
  const { group, direction, scope, carpet, rates, volume, metric, threshold } = attack;
  if (mark === null || carpet !== null) return [];
  const [pps = 0, mbps = 0, flowsPerSec = 0] = Array.from(rates);
  const { peakPps = 0, peakBps = 0 } = volume ?? {};
  const crossed = (one: Metric) => (metric === one ? threshold : 0);
  const peak = {
    pps: Math.max(pps, peakPps, crossed("pps")),
    mbps: Math.max(mbps, peakBps / 1e6, crossed("mbps")),
    flowsPerSec: Math.max(flowsPerSec, crossed("flows_per_sec")),
  };
  return [{ group, direction, isTotal: scope === "group", isFalse: mark !== "real", peak }];
}
