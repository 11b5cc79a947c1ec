/** Where the incoming traffic of all hosts came from, over time (docs/interface.md#traffic). */

import { Type } from "@sinclair/typebox";
import { oneOf } from "../../schema/schema-forms.ts";
import type { Clock } from "../../system/clock.ts";
import { totalSeries } from "../../traffic/traffic-history.ts";
import { PART_KINDS, type PartKind, partSeries } from "../../traffic/traffic-parts.ts";
import type { Backend, Configured } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { RANGE_PARAMETERS, STEP_PARAMETER } from "../route-description.ts";
import { jsonAnswer } from "../server/answer.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../server/query.ts";
import { steppedRange } from "../time-range.ts";
import { PartTrafficWire, partTrafficToWire, TopTrafficWire, topTrafficToWire } from "../wire/traffic/top-traffic.ts";

/** Autonomous systems, countries, prefixes and interfaces in an answer, of each kind. */
const PART_KEYS_MAX = 100;

const DEFAULT_LIMIT = 10;
/** Characters. */
const KEY = { minLength: 1, maxLength: 200 } as const;
const WHOLE = /^[1-9]\d{0,3}$/;

function partKind(query: URLSearchParams): PartKind | InvalidQuery {
  const text = parameter(query, "by");
  const found = PART_KINDS.find((kind) => kind === text);
  return found ?? invalidQuery(`by must be one of ${PART_KINDS.join(", ")}: ${text ?? "it is absent"}`);
}

/** For tokens without a tenant: samples are of the hosts of all tenants together. */
export function topTrafficRoute(
  backend: Pick<Backend, "configured" | "telemetry" | "traffic" | "trafficTop">,
  clock: Pick<Clock, "wallMs">,
): ReadRoute {
  return {
    name: "top_traffic",
    method: "GET",
    path: "/api/v1/traffic/top",
    access: "viewer",
    asksHistory: true,
    unscopedOnly: true,
    about: {
      summary:
        "Where the incoming traffic of all hosts came from: the largest networks, countries, prefixes, interfaces, exporters or ports",
      query: {
        by: { text: "What the traffic is split by.", schema: oneOf(...PART_KINDS), isRequired: true },
        ...RANGE_PARAMETERS,
        limit: {
          text: `Maximum number of rows, default ${DEFAULT_LIMIT}.`,
          schema: Type.Integer({ minimum: 1, maximum: PART_KEYS_MAX }),
        },
      },
      answers: {
        200: { text: "The largest first; with storage off none, and available is false.", schema: TopTrafficWire },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ query }) => {
      const by = partKind(query);
      if (typeof by !== "string") return by;
      const limit = parameter(query, "limit") ?? String(DEFAULT_LIMIT);
      if (!WHOLE.test(limit) || Number(limit) > PART_KEYS_MAX) {
        return invalidQuery(`limit must be a whole number from 1 to ${PART_KEYS_MAX}: ${limit}`);
      }
      const range = steppedRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const { fromMs, toMs, stepSeconds } = range;
      const all = { key: totalSeries({ kind: "all" }), direction: "incoming", fromMs, toMs } as const;
      const [parts, totals] = await Promise.all([
        backend.trafficTop({ by, fromMs, toMs, limit: Number(limit) }, null),
        backend.traffic({ ...all, stepSeconds }, null),
      ]);
      if (parts === null || totals === null) return jsonAnswer(200, { available: false, parts: [] });
      return jsonAnswer(
        200,
        topTrafficToWire(
          by,
          parts,
          totals,
          missingFor(by, { configured: () => backend.configured(), telemetry: () => backend.telemetry() }),
        ),
      );
    },
  };
}

/** The keys that the configuration lacks for parts of this kind; null: none. */
function missingFor(by: PartKind, { configured, telemetry }: MissingFrom): string | null {
  const { samples } = configured();
  const isExported = telemetry() !== null;
  if (by === "interface" || by === "exporter") return isExported ? null : "no exporter of flow telemetry is configured";
  if (!samples.enabled && !isExported) return "samples.enabled is false";
  if (by === "country" && samples.countryFile === null) return "samples.country_file is not set";
  const hasNetworks = samples.asnFile !== null || isExported;
  return by === "asn" && !hasNetworks
    ? "samples.asn_file is not set, and no exporter of flow telemetry is configured"
    : null;
}

interface MissingFrom {
  readonly configured: () => Pick<Configured, "samples">;
  readonly telemetry: () => unknown;
}

/** One of these parts over time. */
export function partTrafficRoute(backend: Pick<Backend, "traffic">, clock: Pick<Clock, "wallMs">): ReadRoute {
  return {
    name: "part_traffic",
    method: "GET",
    path: "/api/v1/traffic/part",
    access: "viewer",
    asksHistory: true,
    unscopedOnly: true,
    about: {
      summary:
        "The incoming traffic from one network, country, prefix, interface or exporter, or of one port, over time",
      query: {
        by: { text: "What the traffic is split by.", schema: oneOf(...PART_KINDS), isRequired: true },
        key: {
          text: "As the largest parts have it.",
          schema: Type.String(KEY),
          isRequired: true,
        },
        ...RANGE_PARAMETERS,
        step: STEP_PARAMETER,
      },
      answers: {
        200: {
          text: "The points, oldest first; with storage off none, and available is false.",
          schema: PartTrafficWire,
        },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ query }) => {
      const by = partKind(query);
      if (typeof by !== "string") return by;
      const key = parameter(query, "key") ?? "";
      const { length } = Array.from(key);
      if (length < KEY.minLength || length > KEY.maxLength)
        return invalidQuery(`key is required: ${KEY.minLength} to ${KEY.maxLength} characters`);
      const range = steppedRange(query, clock.wallMs());
      if (range.kind !== "range") return range;
      const { fromMs, toMs, stepSeconds } = range;
      const question = { key: partSeries(by, key), direction: "incoming", fromMs, toMs, stepSeconds } as const;
      const points = await backend.traffic(question, null);
      if (points === null) return jsonAnswer(200, { available: false, points: [] });
      return jsonAnswer(200, partTrafficToWire({ by, key, stepSeconds, points }));
    },
  };
}
