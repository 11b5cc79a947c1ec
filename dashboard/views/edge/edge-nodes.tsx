/** The list of edge nodes: which poll, with which token, and their state. */
import type { Static } from "@sinclair/typebox";
import { useState } from "preact/hooks";
import type { EdgeInventoryWire } from "../../../src/http/wire/edge/node.ts";
import { useResource } from "../../api/resource.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { type Column, DataTable, type Sort, sorted } from "../../parts/data-table.tsx";
import { Since } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { counted } from "../../text/format/words.ts";
import { presenceOrder, presenceWord } from "../../text/nodes.ts";

export type EdgeInventory = Static<typeof EdgeInventoryWire>;
export type EdgeNode = EdgeInventory["nodes"][number];

export const NODES_PATH = "/api/v1/edge/nodes";
/** Includes the reports of all nodes, so it is read as often as the nodes report. */
export const NODES_EVERY_MS = 10_000;

export function EdgeNodes() {
  const inventory = useResource<EdgeInventory>(NODES_PATH, NODES_EVERY_MS);
  return (
    <Show loaded={inventory.state.value} what="edge nodes" onRetry={() => void inventory.refresh()}>
      {(read) => (read.nodes.length === 0 ? <NoNodes /> : <NodeList inventory={read} />)}
    </Show>
  );
}

const COLUMNS: readonly Column<EdgeNode>[] = [
  {
    key: "name",
    title: "Node",
    cell: ({ name }) => <a href={linkTo(["edge", "nodes", name])}>{name}</a>,
    order: ({ name }) => name,
  },
  { key: "state", title: "State", cell: (node) => <EdgeNodeState node={node} />, order: presenceOrder },
  {
    key: "zones",
    title: "Zones",
    cell: ({ zones_placed: zones }) => zones,
    order: ({ zones_placed: zones }) => zones,
    isNumber: true,
  },
  {
    key: "seen",
    title: "Last poll",
    cell: (node) => <EdgeLastPoll node={node} />,
    order: ({ last_seen: at }) => at ?? "",
    width: "medium",
  },
  {
    key: "terminator",
    title: "Terminator",
    cell: terminatorText,
    order: terminatorText,
    width: "wide",
  },
  { key: "groups", title: "Hostgroups", cell: ({ hostgroups }) => hostgroups.join(", "), width: "wide" },
  { key: "token", title: "Token", cell: ({ last_token: token }) => token ?? "–", width: "wide" },
  { key: "version", title: "Version", cell: ({ report }) => report?.version ?? "–", width: "wide" },
];

function NodeList({ inventory }: { readonly inventory: EdgeInventory }) {
  const [sort, setSort] = useState<Sort>({ key: "state", isDescending: false });
  const { nodes, unbound_agent_tokens: unbound } = inventory;
  return (
    <Panel title={counted(nodes.length, "edge node")}>
      {unbound !== undefined && (
        <Callout tone="warn" title="Tokens that are not bound to a node">
          {unbound.join(", ")}: each may act as all of them. Give each its <code>node</code> in <code>api.tokens</code>.
        </Callout>
      )}
      <DataTable
        label="Edge nodes"
        columns={COLUMNS}
        rows={sorted(nodes, COLUMNS, sort)}
        rowKey={({ name }) => name}
        sort={sort}
        onSort={setSort}
      />
    </Panel>
  );
}

export function EdgeNodeState({ node }: { readonly node: EdgeNode }) {
  const { tone, text } = presenceWord(node);
  const { dry_run: isDryRun, terminator } = node.report ?? {};
  return (
    <span class="badges">
      <Badge tone={tone}>{text}</Badge>
      {terminator?.alive === false && <Badge tone="danger">terminator down</Badge>}
      {terminator?.test_ok === false && <Badge tone="danger">configuration refused</Badge>}
      {isDryRun === true && <Badge tone="warn">dry run</Badge>}
    </span>
  );
}

export function EdgeLastPoll({ node: { holding, last_seen: at } }: { readonly node: EdgeNode }) {
  if (holding) return <>polls now</>;
  return at === undefined ? (
    <>never</>
  ) : (
    <>
      <Since at={at} /> ago
    </>
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
    <Empty title="No edge node">
      To add one, name it in <code>edge.nodes</code>, give it a token of its own with <code>role: agent</code> and its{" "}
      <code>node</code> in <code>api.tokens</code>, and reload. It is shown as alive after its first poll.
    </Empty>
  );
}
