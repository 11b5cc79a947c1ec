/** The rates of one host, and of all hosts together, over time (docs/interface.md#traffic). */

import { Type } from "@sinclair/typebox";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import { oneOf } from "../../schema/schema-forms.ts";
import type { Clock } from "../../system/clock.ts";
import {
  TOTAL_PROTOCOLS,
  type TotalProtocol,
  type TotalScope,
  type TrafficQuery,
  totalSeries,
} from "../../traffic/traffic-history.ts";
import type { Backend } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS, STEP_PARAMETER } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../server/query.ts";
import { steppedRange } from "../time-range.ts";
import { AddressText } from "../wire/request-texts.ts";
import { TotalTrafficWire, TrafficWire, totalTrafficToWire, trafficToWire } from "../wire/traffic/traffic.ts";

const SERIES_PARAMETERS = {
  direction: { text: "Default: incoming.", schema: oneOf("incoming", "outgoing") },
  ...RANGE_PARAMETERS,
  step: STEP_PARAMETER,
} as const;

export function trafficRoute(backend: Pick<Backend, "tenancy" | "traffic">, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "traffic",
    method: "GET",
    path: "/api/v1/traffic",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The rates of one host over time",
      query: {
        key: { text: "The host's address.", schema: AddressText, isRequired: true },
        ...SERIES_PARAMETERS,
      },
      answers: {
        200: { text: "The points, oldest first; with storage off none, and available is false.", schema: TrafficWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, query }) => {
      const host = hostOf(query);
      if (host.kind !== "host") return host;
      const buckets = bucketsOf(query, clock.wallMs());
      if (buckets.kind !== "buckets") return buckets;
      const { key } = host;
      if (!backend.tenancy().owns(principal, key)) return { kind: "foreign_target" };
      const { direction, stepSeconds } = buckets.of;
      const points = await backend.traffic({ key, ...buckets.of }, principal.tenant);
      if (points === null) return jsonAnswer(200, { available: false, points: [] });
      return jsonAnswer(200, trafficToWire({ key, direction, stepSeconds, points }));
    },
  };
}

export function totalTrafficRoute(
  backend: Pick<Backend, "tenancy" | "traffic">,
  clock: Pick<Clock, "wallMs">,
): ReadRoute {
  return {
    name: "total_traffic",
    method: "GET",
    path: "/api/v1/traffic/total",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The rates of all hosts together over time; with a tenant, of its hosts; or those of one hostgroup",
      query: {
        hostgroup: { text: "The name of a hostgroup. Default: all.", schema: Type.String({ minLength: 1 }) },
        ...SERIES_PARAMETERS,
      },
      answers: {
        200: {
          text: "The points, oldest first; with storage off none, and available is false.",
          schema: TotalTrafficWire,
        },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, query }) => {
      const hostgroup = parameter(query, "hostgroup");
      // A tenant does not learn which hostgroups others have.
      if (hostgroup !== null && !backend.tenancy().hasGroup(principal, hostgroup)) {
        return invalidQuery(`hostgroup must be one of the configuration: ${hostgroup}`);
      }
      const buckets = bucketsOf(query, clock.wallMs());
      if (buckets.kind !== "buckets") return buckets;
      const { direction, stepSeconds } = buckets.of;
      const scope = scopeOf(principal.tenant, hostgroup);
      const ask = (protocol: TotalProtocol | null) =>
        backend.traffic({ key: totalSeries(scope, protocol), ...buckets.of }, principal.tenant);
      const [points, udp, tcp, icmp] = await Promise.all([null, ...TOTAL_PROTOCOLS].map(ask));
      if (!points || !udp || !tcp || !icmp) return jsonAnswer(200, { available: false, points: [] });
      return jsonAnswer(200, totalTrafficToWire({ direction, stepSeconds, points, protocols: { udp, tcp, icmp } }));
    },
  };
}

function scopeOf(tenant: string | null, hostgroup: string | null): TotalScope {
  if (hostgroup !== null) return { kind: "hostgroup", name: hostgroup };
  return tenant === null ? { kind: "all" } : { kind: "tenant", name: tenant };
}

function hostOf(query: URLSearchParams): { kind: "host"; key: IpAddress } | InvalidQuery | Refusal {
  const text = parameter(query, "key");
  if (text === null) return invalidQuery("key is required: the address of a host");
  const key = parseAddress(text);
  return key === null ? { kind: "invalid_ip", text } : { kind: "host", key };
}

function bucketsOf(
  query: URLSearchParams,
  nowMs: number,
): { kind: "buckets"; of: Omit<TrafficQuery, "key"> } | InvalidQuery {
  const direction = parameter(query, "direction") ?? "incoming";
  if (direction !== "incoming" && direction !== "outgoing") {
    return invalidQuery(`direction must be incoming or outgoing: ${direction}`);
  }
  const range = steppedRange(query, nowMs);
  if (range.kind !== "range") return range;
  const { kind: _, ...buckets } = range;
  return { kind: "buckets", of: { direction, ...buckets } };
}
