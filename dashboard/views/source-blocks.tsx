/** Source blocks: the sources whose packets this machine drops, set by operators. */
import { useMemo } from "preact/hooks";
import type { SourceBlocksWire, SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { type Resource, useResource } from "../api/resource.ts";
import { wholeStatus } from "../api/running.ts";
import { Badge } from "../parts/badge.tsx";
import { Callout, Empty } from "../parts/callout.tsx";
import { momentColumn, textColumn } from "../parts/columns.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Until } from "../parts/moment.tsx";
import { Panel } from "../parts/panel.tsx";
import { SearchedTable } from "../parts/searched-table.tsx";
import { Show } from "../parts/show.tsx";
import { BlockButton, UnblockButton } from "../parts/source-block-actions.tsx";
import { byteCount, scaled, wholeNumber } from "../text/format/numbers.ts";
import { subjectOrder } from "../text/format/subject-order.ts";

/** The drop counters change all the time, and other operators set blocks too. */
const POLL_MS = 3000;

export function SourceBlocks() {
  const blocks = useResource<SourceBlocksWire>("/api/v1/dataplane/sources", POLL_MS);
  const onChanged = () => void blocks.refresh();
  return (
    <Panel title="In force" actions={hasDataplane() && <BlockButton onChanged={onChanged} />}>
      <Dataplane />
      <Show loaded={blocks.state.value} what="source blocks" onRetry={onChanged}>
        {({ sources }) => <Listed sources={sources} blocks={blocks} />}
      </Show>
    </Panel>
  );
}

/** A tenant cannot see this in the status: only a request for source blocks shows it. */
function hasDataplane(): boolean {
  const whole = wholeStatus();
  return whole === null || (whole.dataplane !== undefined && whole.dataplane.state !== "disabled");
}

/** Whether packets are dropped here at all. */
function Dataplane() {
  const whole = wholeStatus();
  if (whole === null) return null;
  const { dataplane } = whole;
  if (!hasDataplane() || dataplane === undefined) {
    return (
      <Empty title="This machine drops nothing: it has no data plane">
        To block sources, set <code>dataplane.enabled</code> to <code>true</code>, list the interfaces on which traffic
        arrives in <code>dataplane.interfaces</code>, and restart Floodwall.
      </Empty>
    );
  }
  const { state, error, pairs, rules, max_dynamic_rules: most } = dataplane;
  if (state === "failed") {
    return (
      <Callout tone="danger" title="The kernel filter is not in force">
        {error ?? "See Floodwall's log."} It is tried again by itself; until then nothing of this is dropped.
      </Callout>
    );
  }
  if (most === undefined) return null;
  return (
    <p class="muted">
      {wholeNumber((pairs ?? 0) + (rules ?? 0))} of {wholeNumber(most)} rules of the kernel filter are taken.
    </p>
  );
}

interface ListedProps {
  readonly sources: readonly SourceBlockWire[];
  readonly blocks: Resource<SourceBlocksWire>;
}

const FIRST_SORT = { key: "Since", isDescending: true };

function Listed({ sources, blocks }: ListedProps) {
  const columns = useMemo(() => columnsOf(() => void blocks.refresh()), [blocks]);
  if (sources.length === 0) {
    return hasDataplane() ? (
      <Empty title="No source is blocked">
        A block drops all packets from one source to one victim on this machine.
      </Empty>
    ) : null;
  }
  return (
    <SearchedTable
      label="Source blocks"
      what="block"
      placeholder="source, victim, reason"
      isCounted
      columns={columns}
      rows={sources}
      rowKey={({ source, victim }) => `${source} ${victim}`}
      textOf={({ source, victim, reason }) => `${source} ${victim} ${reason}`}
      firstSort={FIRST_SORT}
    />
  );
}

function columnsOf(onChanged: () => void): readonly Column<SourceBlockWire>[] {
  return [
    { key: "source", title: "Source", cell: ({ source }) => source, order: ({ source }) => subjectOrder(source) },
    { key: "victim", title: "Victim", cell: ({ victim }) => victim, order: ({ victim }) => subjectOrder(victim) },
    { key: "state", title: "State", cell: (block) => <BlockState block={block} />, width: "medium" },
    {
      key: "dropped",
      title: "Dropped",
      cell: droppedText,
      order: ({ dropped_packets: packets }) => packets ?? -1,
      isNumber: true,
      width: "medium",
    },
    textColumn("Reason", ({ reason }) => reason || undefined, "wide"),
    momentColumn("Since", ({ created_at: at }) => at, "wide"),
    {
      key: "ends",
      title: "Ends in",
      cell: ({ expires_at: at }) => <Until at={at} />,
      order: ({ expires_at: at }) => at,
      isNumber: true,
      width: "medium",
    },
    {
      key: "act",
      title: "Actions",
      isTitleUnseen: true,
      cell: (block) => <UnblockButton block={block} onChanged={onChanged} />,
    },
  ];
}

function BlockState({ block }: { readonly block: SourceBlockWire }) {
  if (block.dry_run) return <Badge tone="warn">dry run</Badge>;
  if (block.installed === false) return <Badge tone="danger">not in the kernel yet</Badge>;
  return <Badge tone="ok">dropping</Badge>;
}

function droppedText({ dropped_packets: packets, dropped_bytes: bytes }: SourceBlockWire): string {
  return packets === undefined ? "–" : `${scaled(packets)} packets, ${byteCount(bytes ?? 0)}`;
}
