/** The list of edge nodes: which poll, with which token, and their state. */
import type { Static } from "@sinclair/typebox";
import type { EdgeInventoryWire } from "../../../src/http/wire/edge/node.ts";
import { useResource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { numberColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { lastPollColumn, NODES_FIRST_SORT, NodeBadges, nameColumn, stateColumn } from "../../parts/nodes.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { counted } from "../../text/format/words.ts";

export type EdgeInventory = Static<typeof EdgeInventoryWire>;
export type EdgeNode = EdgeInventory["nodes"][number];

export const NODES_PATH = "/api/v1/edge/nodes";
/** Includes the reports of all nodes, so it is read as often as the nodes report. */
export const NODES_EVERY_MS = 10_000;

export function EdgeNodes() {
  const inventory = useResource<EdgeInventory>(NODES_PATH, NODES_EVERY_MS);
  return (
    <Show loaded={inventory.state.value} what={t`edge nodes`} onRetry={() => void inventory.refresh()}>
      {(read) => (read.nodes.length === 0 ? <NoNodes /> : <NodeList inventory={read} />)}
    </Show>
  );
}

const COLUMNS: readonly Column<EdgeNode>[] = [
  nameColumn("edge", "nodes"),
  stateColumn((node) => <EdgeNodeState node={node} />),
  numberColumn(t`Zones`, ({ zones_placed: zones }) => zones),
  lastPollColumn(),
  textColumn(t`Terminator`, terminatorText, "wide"),
  { key: "groups", title: t`Hostgroups`, cell: ({ hostgroups }) => hostgroups.join(", "), width: "wide" },
  { key: "token", title: t`Token`, cell: ({ last_token: token }) => token ?? "–", width: "wide" },
  { key: "version", title: t`Version`, cell: ({ report }) => report?.version ?? "–", width: "wide" },
];

function NodeList({ inventory }: { readonly inventory: EdgeInventory }) {
  const { nodes, unbound_agent_tokens: unbound } = inventory;
  return (
    <Panel title={counted(nodes.length, "edge node")}>
      {unbound !== undefined && (
        <Callout
          tone="warn"
          title={t`Tokens that are not bound to a node`}
        >{tx`${unbound.join(", ")}: each may act as all of them. Give each its ${<code>node</code>} in ${<code>api.tokens</code>}.`}</Callout>
      )}
      <DataTable
        label={t`Edge nodes`}
        columns={COLUMNS}
        rows={nodes}
        rowKey={({ name }) => name}
        firstSort={NODES_FIRST_SORT}
      />
    </Panel>
  );
}

export function EdgeNodeState({ node }: { readonly node: EdgeNode }) {
  const { terminator } = node.report ?? {};
  return (
    <NodeBadges node={node}>
      {terminator?.alive === false && <Badge tone="danger">{t`terminator down`}</Badge>}
      {terminator?.test_ok === false && <Badge tone="danger">{t`configuration refused`}</Badge>}
    </NodeBadges>
  );
}

export function terminatorText({ report }: EdgeNode): string {
  const { kind, version } = report?.terminator ?? {};
  return (
    [kind, version]
      .filter((part) => part !== undefined)
      .map(asText)
      .join(" ") || "–"
  );
}

/** A part of a report that the service accepts in any type. */
export function asText(part: unknown): string {
  return typeof part === "string" ? part : JSON.stringify(part);
}

function NoNodes() {
  return (
    <Empty
      title={t`No edge node`}
    >{tx`To add one, name it in ${<code>edge.nodes</code>}, give it a token of its own with ${<code>role: agent</code>} and its ${<code>node</code>} in ${<code>api.tokens</code>}, and reload. It is shown as alive after its first poll.`}</Empty>
  );
}
