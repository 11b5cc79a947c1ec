/** The inventory of edge nodes (docs/interface.md#edge-inventory). */
import type { TokenConfig } from "../../../access/token-config.ts";
import type { EdgeNodes } from "../../../edge/edge-nodes.ts";
import type { EdgeReports } from "../../../edge/reports/edge-reports.ts";
import type { ReadRoute } from "../../route.ts";
import { jsonBlobAnswer } from "../../server/answer.ts";
import { JsonArray } from "../../server/json-array.ts";
import { type Reader, type Slicing, TablePass } from "../../table-pass.ts";
import { EdgeInventoryWire, edgeNodeToWire } from "../../wire/edge/node.ts";

interface EdgeNodesSources {
  readonly nodes: EdgeNodes;
  readonly reports: EdgeReports;
  /** By the configuration in force. */
  readonly tokens: () => readonly TokenConfig[];
  /** Number of configured scrub nodes: an agent's token may belong to one of these. */
  readonly scrubNodes: () => number;
}

export function edgeNodesRoute(sources: EdgeNodesSources, slicing: Slicing): ReadRoute {
  const names = new TablePass(() => [...sources.nodes.nodes()].map(({ name }) => name), slicing);
  return {
    name: "edge_nodes",
    method: "GET",
    path: "/api/v1/edge/nodes",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "The configured edge nodes: whether they poll, with which token, and their last report",
      answers: { 200: { text: "The inventory, in the order of the configuration.", schema: EdgeInventoryWire } },
    },
    handle: async () => jsonBlobAnswer(await names.read("all", () => new InventoryReader(sources))),
  };
}

class InventoryReader implements Reader<string> {
  readonly #sources: EdgeNodesSources;
  readonly #tokensOf: ReadonlyMap<string | null, readonly TokenConfig[]>;
  readonly #array = new JsonArray();
  #count = 0;

  constructor(sources: EdgeNodesSources) {
    this.#sources = sources;
    const agents = sources.tokens().filter(({ role }) => role === "agent");
    this.#tokensOf = Map.groupBy(agents, ({ node }) => node);
  }

  see(name: string): void {
    const { nodes, reports } = this.#sources;
    // A reload may have removed the node since the pass started.
    if (!nodes.has(name)) return;
    this.#count++;
    const stored = reports.reportOf(name);
    const entry = edgeNodeToWire({
      view: nodes.view(name),
      tokens: this.#namesOf(name),
      reportedAt: stored?.reportedAt ?? null,
    });
    if (stored === null) this.#array.add(entry);
    else this.#array.addWith(entry, "report", stored.report.text);
  }

  answer(): Blob {
    const { nodes, scrubNodes } = this.#sources;
    const unbound = this.#namesOf(null);
    const hasHint = unbound.length > 0 && nodes.size + scrubNodes() > 0;
    const head = {
      nodes_total: this.#count,
      stale_after_seconds: nodes.staleAfterSeconds,
      ...(hasHint && { unbound_agent_tokens: unbound }),
    };
    return new Blob([`${JSON.stringify(head).slice(0, -1)},"nodes":`, ...this.#array.parts(), "}"]);
  }

  /** null: names of tokens that are not bound to a node. */
  #namesOf(node: string | null): readonly string[] {
    return (this.#tokensOf.get(node) ?? []).map(({ name }) => name);
  }
}
