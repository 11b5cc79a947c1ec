/** The report of an edge node (docs/interface.md#edge-report-command). */
import type { EdgeNodes } from "../../../edge/edge-nodes.ts";
import type { EdgeReports } from "../../../edge/reports/edge-reports.ts";
import type { EdgeReport } from "../../../edge/reports/report.ts";
import type { CommandRoute } from "../../route.ts";
import { emptyAnswer } from "../../server/answer.ts";
import { edgeReportCheck } from "../../wire/edge/report.ts";

export function edgeReportRoute(nodes: EdgeNodes, reports: EdgeReports): CommandRoute<EdgeReport> {
  return {
    name: "edge_report",
    method: "POST",
    path: "/api/v1/edge/nodes/:name/report",
    access: "agent_or_unscoped_operator",
    node: "path",
    checkPath: ({ params }) => (nodes.has(params["name"] ?? "") ? null : { kind: "unknown_edge_node" }),
    body: edgeReportCheck,
    bodyName: "report",
    about: {
      summary:
        "The report of an edge node about itself and its zones, shown in the inventory and, for zones that it serves, in the " +
        "status and the history; unknown keys are kept",
      answers: {
        204: { text: "Stored.", schema: null },
        404: { text: "There is no such edge node." },
      },
    },
    handle: ({ params }, report) => {
      const name = params["name"] ?? "";
      // A reload may have removed the node while the body was received.
      if (!nodes.has(name)) return { kind: "unknown_edge_node" };
      reports.report(name, report);
      return emptyAnswer();
    },
  };
}
