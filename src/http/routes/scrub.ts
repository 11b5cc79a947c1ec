/** The scrub-node channel (docs/interface.md#scrub-channel): the poll for rules, the report, and the inventory. */
import { Type } from "@sinclair/typebox";
import type { ScrubNodes, ScrubNodeView } from "../../scrub/scrub-nodes.ts";
import type { ScrubReport } from "../../scrub/scrub-report.ts";
import type { RulePolls } from "../holds/rule-polls.ts";
import type { CommandRoute, ReadRoute } from "../route.ts";
import { emptyAnswer, jsonBlobAnswer } from "../server/answer.ts";
import { JsonArray } from "../server/json-array.ts";
import { type Reader, type Slicing, TablePass } from "../table-pass.ts";
import { RuleDocumentWire } from "../wire/scrub-document.ts";
import { ScrubInventoryWire, scrubNodeToWire, scrubReportCheck } from "../wire/scrub-node.ts";

const UNKNOWN_NODE = { text: "There is no such scrub node." };

export function rulesRoute(polls: RulePolls): ReadRoute {
  return {
    name: "rules",
    method: "GET",
    path: "/api/v1/dataplane/rules",
    access: "agent_or_unscoped_operator",
    node: "query",
    about: {
      summary:
        "The rules for diverted traffic that scrub nodes drop, as a long poll: with If-None-Match equal to the " +
        "ETag the answer waits for a change, 30 s at most",
      query: {
        node: {
          text:
            "The name of the polling scrub node, which counts as alive if its token is an agent's. A token that is bound to " +
            "a node must give it. Match fields beyond src_port, dst_port, tcp_flags and fragment are only in the rules of nodes " +
            "whose report says that they support them.",
          schema: Type.String(),
        },
      },
      answers: {
        200: { text: "The document, with its ETag.", schema: RuleDocumentWire },
        304: { text: "The document has not changed.", schema: null },
        404: UNKNOWN_NODE,
        429: { text: "Too many polls are parked; with Retry-After." },
      },
    },
    handle: (call) => polls.poll(call),
  };
}

export function scrubReportRoute(nodes: ScrubNodes): CommandRoute<ScrubReport> {
  return {
    name: "scrub_report",
    method: "POST",
    path: "/api/v1/dataplane/nodes/:name/report",
    access: "agent_or_unscoped_operator",
    node: "path",
    checkPath: ({ params }) => (nodes.has(params["name"] ?? "") ? null : { kind: "unknown_scrub_node" }),
    body: scrubReportCheck,
    bodyName: "report",
    about: {
      summary: "The report of a scrub node about itself, shown in the inventory; unknown keys are kept",
      answers: { 204: { text: "Stored.", schema: null }, 404: UNKNOWN_NODE },
    },
    handle: ({ params }, report) => {
      const name = params["name"] ?? "";
      // A reload may have removed the node while the body was received.
      if (!nodes.has(name)) return { kind: "unknown_scrub_node" };
      nodes.report(name, report);
      return emptyAnswer();
    },
  };
}

export function scrubNodesRoute(nodes: ScrubNodes, slicing: Slicing): ReadRoute {
  const views = new TablePass(() => nodes.views(), slicing);
  return {
    name: "scrub_nodes",
    method: "GET",
    path: "/api/v1/dataplane/nodes",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "The configured scrub nodes: whether they poll, what is diverted to them, and their last report",
      answers: { 200: { text: "The inventory, in the order of the configuration.", schema: ScrubInventoryWire } },
    },
    handle: async () => jsonBlobAnswer(await views.read("all", () => new InventoryReader(nodes.staleAfterSeconds))),
  };
}

class InventoryReader implements Reader<ScrubNodeView> {
  readonly #staleAfterSeconds: number;
  readonly #array = new JsonArray();
  #count = 0;

  constructor(staleAfterSeconds: number) {
    this.#staleAfterSeconds = staleAfterSeconds;
  }

  see(view: ScrubNodeView): void {
    const node = scrubNodeToWire(view);
    if (view.report === null) this.#array.add(node);
    else this.#array.addWith(node, "report", view.report.text);
    this.#count++;
  }

  answer(): Blob {
    const head = `{"nodes_total":${this.#count},"stale_after_seconds":${this.#staleAfterSeconds},"nodes":`;
    return new Blob([head, ...this.#array.parts(), "}"]);
  }
}
