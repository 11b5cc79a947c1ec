/**
 * Reports of edge nodes reach all brains, since a node may report to any of them: the last of each counts. The history of
 * reports is that of the brain that got them. What is lost comes again with the next report.
 */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Peers } from "../cluster/peers.ts";
import type { EdgeNodes } from "../edge/edge-nodes.ts";
import type { EdgeReports } from "../edge/reports/edge-reports.ts";
import { edgeReportCheck } from "../http/wire/edge/report.ts";
import { BODY_BYTES_MAX } from "../limits.ts";
import type { Clock } from "../system/clock.ts";

interface EdgeReportSharing {
  readonly peers: Peers;
  readonly nodes: Pick<EdgeNodes, "has">;
  readonly reports: Pick<EdgeReports, "adopt" | "onOwn">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly onUnread: (kind: string, from: string) => void;
}

const KIND = "edge_report";
/** Nodes report every ten seconds; one that does so more often takes no more of the connection. */
const EACH_MS = 5000;

const Body = Type.Object({
  node: Type.String({ maxLength: 253 }),
  /** Its JSON. */
  text: Type.String({ maxLength: 2 * BODY_BYTES_MAX }),
});
type Body = Static<typeof Body>;

export function shareEdgeReports({ peers, nodes, reports, clock, onUnread }: EdgeReportSharing): void {
  /** By node: monotonic, ms. */
  const said = new Map<string, number>();
  reports.onOwn((node, { report: { text } }) => {
    const nowMs = clock.monotonicMs();
    if (!said.has(node)) for (const known of said.keys()) if (!nodes.has(known)) said.delete(known);
    if (nowMs - (said.get(node) ?? Number.NEGATIVE_INFINITY) < EACH_MS) return;
    said.set(node, nowMs);
    peers.broadcast(KIND, { node, text } satisfies Body);
  });
  peers.on(KIND, (from, body) => {
    const checked = Value.Check(Body, body) ? checkOf(body.text) : null;
    if (!Value.Check(Body, body) || checked?.kind !== "fields") onUnread(KIND, from);
    else if (nodes.has(body.node)) reports.adopt(body.node, checked.fields);
  });
}

/** null: it is no JSON. */
function checkOf(text: string): ReturnType<typeof edgeReportCheck.check> | null {
  try {
    return edgeReportCheck.check(JSON.parse(text), text);
  } catch {
    return null;
  }
}
