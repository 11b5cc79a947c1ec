/** The list of scrub nodes with liveness, load and drops, and the view of one node. */
import type { Static } from "@sinclair/typebox";
import type { ScrubInventoryWire } from "../../../src/http/wire/scrub-node.ts";
import { useResource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { Callout, Empty } from "../../parts/callout.tsx";
import { numberColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { lastPollColumn, NODES_FIRST_SORT, nameColumn, stateColumn, versionColumn } from "../../parts/nodes.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { modeWord } from "../../text/capture-words.ts";
import { scaled } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import type { ViewProps } from "../../view.ts";
import { ScrubNodeDetail } from "./scrub-node-detail.tsx";
import { isNotEnforcing, lacksRules, loadText, NodeState, type ScrubNode } from "./scrub-node-state.tsx";

type Inventory = Static<typeof ScrubInventoryWire>;

const EVERY_MS = 3000;

export function ScrubNodes({ steps }: ViewProps) {
  const [name] = steps;
  const inventory = useResource<Inventory>("/api/v1/dataplane/nodes", EVERY_MS);
  return (
    <Show loaded={inventory.state.value} what={t`scrub nodes`} onRetry={() => void inventory.refresh()}>
      {({ nodes, stale_after_seconds: stale }) => {
        if (name === undefined) return <NodeList nodes={nodes} />;
        const node = nodes.find((each) => each.name === name);
        return <ScrubNodeDetail name={name} node={node} staleSeconds={stale} />;
      }}
    </Show>
  );
}

const COLUMNS: readonly Column<ScrubNode>[] = [
  nameColumn("scrub"),
  stateColumn((node) => <NodeState node={node} />),
  numberColumn(t`Bans`, ({ active_bans: active }) => active),
  {
    key: "load",
    title: t`Load`,
    cell: loadText,
    order: ({ report }) => report?.load_mbps ?? -1,
    isNumber: true,
    width: "medium",
  },
  numberColumn(t`Dropped packets`, ({ report }) => report?.dropped_packets, {
    format: (packets, { report }) => scaled(packets) + (report?.dry_run === true ? ` ${t`would be dropped`}` : ""),
    width: "medium",
  }),
  textColumn("XDP", ({ report }) => report?.xdp_mode && modeWord(report.xdp_mode), "wide"),
  lastPollColumn(),
  versionColumn(),
];

function NodeList({ nodes }: { readonly nodes: readonly ScrubNode[] }) {
  if (nodes.length === 0) return <NoNodes />;
  return (
    <Panel title={counted(nodes.length, "scrub node")}>
      <Losses nodes={nodes} />
      <DataTable
        label={t`Scrub nodes`}
        columns={COLUMNS}
        rows={nodes}
        rowKey={({ name }) => name}
        firstSort={NODES_FIRST_SORT}
      />
    </Panel>
  );
}

function Losses({ nodes }: { readonly nodes: readonly ScrubNode[] }) {
  const alive = nodes.filter((node) => node.alive).length;
  const short = nodes.filter(lacksRules);
  const faulty = nodes.filter(isNotEnforcing);
  return (
    <>
      {alive === 0 && (
        <Callout
          tone="danger"
          title={t`No scrub node is alive`}
        >{tx`Nothing can be diverted: bans follow ${<code>scrubbing.on_all_nodes_lost</code>}. See whether ${<code>floodwall-scrub</code>} runs on the nodes, and whether they reach this service.`}</Callout>
      )}
      {faulty.length > 0 && (
        <Callout
          tone="danger"
          title={
            faulty.length === 1
              ? t`1 node does not enforce all bans`
              : t`${faulty.length} nodes do not enforce all bans`
          }
        >{tx`${faulty.map(({ name }) => name).join(", ")}: what is refused goes to other nodes, or as ${<code>scrubbing.on_all_nodes_lost</code>} says. The page of the node has the reasons.`}</Callout>
      )}
      {short.length > 0 && (
        <Callout
          tone="warn"
          title={short.length === 1 ? t`1 node does not get all rules` : t`${short.length} nodes do not get all rules`}
        >{t`Their agent does not understand these rules, and rules that it understands would drop too much of users. Update it to this version.`}</Callout>
      )}
    </>
  );
}

function NoNodes() {
  return (
    <Empty
      title={t`No scrub node`}
    >{tx`Scrub nodes drop attack packets from diverted traffic and pass the rest on. To add one, name it in ${<code>scrubbing.nodes</code>}, give it a token of its own with ${<code>role: agent</code>} and its ${<code>node</code>} in ${<code>api.tokens</code>}, reload, and start ${<code>floodwall-scrub</code>} on it.`}</Empty>
  );
}
