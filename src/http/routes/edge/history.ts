/** The requests of zones over time, and the reported sources (docs/interface.md#edge-history-reading). */

import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Tenant } from "../../../access/fair-queue.ts";
import type { EdgeNodes } from "../../../edge/edge-nodes.ts";
import { REPORTED_STATES, type ReportedState } from "../../../edge/reports/edge-history.ts";
import { BUCKETS_MAX, HISTORY_ROWS_MAX, STEP_SECONDS_MAX } from "../../../limits.ts";
import type { Clock } from "../../../system/clock.ts";
import type { Backend, EdgeHistory } from "../../backend.ts";
import type { Refusal } from "../../refusal.ts";
import type { Call, ReadRoute } from "../../route.ts";
import { RANGE_PARAMETERS } from "../../route-description.ts";
import { jsonAnswer } from "../../server/answer.ts";
import { type InvalidQuery, invalidQuery, parameter } from "../../server/query.ts";
import { step, type TimeRange, timeRange } from "../../time-range.ts";
import {
  EdgeHistoryWire,
  EdgeSourcesWire,
  edgeHistoryToWire,
  edgeSourceToWire,
  ReportedStateWire,
} from "../../wire/edge/history.ts";
import { NameText } from "../../wire/request-texts.ts";
import type { ZoneAccess } from "../../zone-access.ts";

interface EdgeHistorySources {
  readonly backend: Pick<Backend, "edgeHistory">;
  readonly nodes: Pick<EdgeNodes, "has" | "zone">;
  readonly access: ZoneAccess;
  readonly clock: Pick<Clock, "wallMs">;
}

const PARAMETERS = {
  zone: { text: "Its name, in any case.", schema: NameText, isRequired: true },
  node: { text: "Only what this edge node saw; for tokens without a tenant.", schema: NameText },
  ...RANGE_PARAMETERS,
};
const REFUSALS = {
  404: { text: "There is no such zone, or no such edge node." },
  502: { text: "The history cannot be read." },
};

export function edgeHistoryRoute(sources: EdgeHistorySources): ReadRoute {
  return {
    name: "edge_history",
    method: "GET",
    path: "/api/v1/edge/history",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The requests of a zone over time; a token with a tenant reads its own zones",
      query: {
        ...PARAMETERS,
        step: {
          text: `Seconds of a bucket, default 60; raised so that a range has at most ${BUCKETS_MAX} of them.`,
          schema: Type.Integer({ minimum: 1, maximum: STEP_SECONDS_MAX }),
        },
      },
      answers: {
        200: {
          text: "The points, oldest first; with storage off none, and available is false.",
          schema: EdgeHistoryWire,
        },
        ...REFUSALS,
      },
    },
    handle: async (call) => {
      const subject = subjectOf(call, sources);
      if (subject.kind !== "subject") return subject;
      const { zone, node, range } = subject;
      const stepped = step(call.query, range);
      if (stepped.kind !== "step") return stepped;
      const { edgeHistory } = sources.backend;
      if (edgeHistory === null) return jsonAnswer(200, { available: false, points: [] });
      const refusal = refusalOf(call, subject, sources);
      if (refusal !== null) return refusal;
      const { fromMs, toMs } = range;
      const question = { zone, node, fromMs, toMs, stepSeconds: stepped.stepSeconds };
      return jsonAnswer(200, edgeHistoryToWire(question, await edgeHistory.points(question, call.principal.tenant)));
    },
  };
}

export function edgeSourcesRoute(sources: EdgeHistorySources): ReadRoute {
  return {
    name: "edge_history_sources",
    method: "GET",
    path: "/api/v1/edge/history/sources",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The sources that were refused or challenged at a zone, or would have been",
      query: { ...PARAMETERS, state: { text: "Only those whose strongest state this is.", schema: ReportedStateWire } },
      answers: {
        200: {
          text: `At most ${HISTORY_ROWS_MAX}, busiest first; with storage off none, and available is false.`,
          schema: EdgeSourcesWire,
        },
        ...REFUSALS,
      },
    },
    handle: async (call) => {
      const subject = subjectOf(call, sources);
      if (subject.kind !== "subject") return subject;
      const filter = stateFilter(call.query);
      if (filter.kind !== "filter") return filter;
      const { edgeHistory } = sources.backend;
      if (edgeHistory === null) return jsonAnswer(200, { available: false, zone: subject.zone, sources: [] });
      const refusal = refusalOf(call, subject, sources);
      return refusal ?? sourcesAnswer(edgeHistory, subject, { state: filter.state, asker: call.principal.tenant });
    },
  };
}

async function sourcesAnswer(
  history: EdgeHistory,
  { zone, node, range }: Subject,
  { state, asker }: { readonly state: ReportedState | null; readonly asker: Tenant },
) {
  const { fromMs, toMs } = range;
  const totals = await history.sources({ zone, node, state, fromMs, toMs }, asker);
  const head = { available: true, zone, ...(state !== null && { state }) };
  return jsonAnswer(200, { ...head, sources: totals.map(edgeSourceToWire) });
}

interface Subject {
  readonly kind: "subject";
  readonly zone: string;
  /** null: all nodes. */
  readonly node: string | null;
  readonly range: TimeRange;
}

/** Finds what is wrong with the query itself, also if storage is off. */
function subjectOf(
  { principal, query }: Call,
  { clock }: Pick<EdgeHistorySources, "clock">,
): Subject | InvalidQuery | Refusal {
  const node = parameter(query, "node");
  if (node !== null && principal.tenant !== null) return { kind: "unscoped_only" };
  const zone = (parameter(query, "zone") ?? "").toLowerCase();
  if (zone === "") return invalidQuery("zone is required: its name");
  const range = timeRange(query, clock.wallMs());
  return range.kind === "range" ? { kind: "subject", zone, node, range } : range;
}

/** A zone of another tenant gets the same refusal whether it exists or not. */
function refusalOf(
  { principal }: Call,
  { zone, node }: Subject,
  { nodes, access }: EdgeHistorySources,
): Refusal | null {
  const known = nodes.zone(zone);
  if (!access.allows("edge_history", principal, known)) return { kind: "foreign_zone" };
  if (known === null) return { kind: "unknown_zone" };
  return node === null || nodes.has(node) ? null : { kind: "unknown_edge_node" };
}

type StateFilter = { readonly kind: "filter"; readonly state: ReportedState | null };

function stateFilter(query: URLSearchParams): StateFilter | InvalidQuery {
  const state = parameter(query, "state");
  if (state === null || Value.Check(ReportedStateWire, state)) return { kind: "filter", state };
  return invalidQuery(`state must be one of ${REPORTED_STATES.join(", ")}: ${state}`);
}
