/** The rates of one host over time (docs/interface.md#traffic). */
import { Type } from "@sinclair/typebox";
import { BUCKETS_MAX, STEP_SECONDS_MAX } from "../../limits.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import type { Clock } from "../../system/clock.ts";
import type { Direction } from "../../traffic/rates.ts";
import type { Backend } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../server/query.ts";
import { step, timeRange } from "../time-range.ts";
import { oneOf } from "../wire/one-of.ts";
import { AddressText } from "../wire/request-texts.ts";
import { TrafficWire, trafficToWire } from "../wire/traffic/traffic.ts";

export function trafficRoute(backend: Pick<Backend, "tenancy" | "traffic">, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "traffic",
    method: "GET",
    path: "/api/v1/traffic",
    access: "viewer",
    about: {
      summary: "The rates of one host over time",
      query: {
        key: { text: "The host's address.", schema: AddressText, isRequired: true },
        direction: { text: "Default: incoming.", schema: oneOf("incoming", "outgoing") },
        ...RANGE_PARAMETERS,
        step: {
          text: `Seconds of a bucket, default 60; raised so that a range has at most ${BUCKETS_MAX} of them.`,
          schema: Type.Integer({ minimum: 1, maximum: STEP_SECONDS_MAX }),
        },
      },
      answers: {
        200: { text: "The points, oldest first; with storage off none, and available is false.", schema: TrafficWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, query }) => {
      const series = seriesOf(query);
      if (series.kind !== "series") return series;
      const range = timeRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const stepped = step(query, range);
      if (stepped.kind !== "step") return stepped;
      const { key, direction } = series;
      if (!backend.tenancy().owns(principal, key)) return { kind: "foreign_target" };
      const { fromMs, toMs } = range;
      const { stepSeconds } = stepped;
      const points = await backend.traffic({ key, direction, fromMs, toMs, stepSeconds });
      if (points === null) return jsonAnswer(200, { available: false, points: [] });
      return jsonAnswer(200, trafficToWire({ key, direction, stepSeconds, points }));
    },
  };
}

interface Series {
  readonly kind: "series";
  readonly key: IpAddress;
  readonly direction: Direction;
}

function seriesOf(query: URLSearchParams): Series | InvalidQuery | Refusal {
  const text = parameter(query, "key");
  if (text === null) return invalidQuery("key is required: the address of a host");
  const key = parseAddress(text);
  if (key === null) return { kind: "invalid_ip", text };
  const direction = parameter(query, "direction") ?? "incoming";
  if (direction !== "incoming" && direction !== "outgoing") {
    return invalidQuery(`direction must be incoming or outgoing: ${direction}`);
  }
  return { kind: "series", key, direction };
}
