/** What was decided about an attack, and when. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { TimelineWire } from "../../../src/http/wire/attack-series.ts";
import { useResource } from "../../api/resource.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { afterFirst, entryTitle } from "../../text/timeline.ts";

type Entry = TimelineWire["entries"][number];

interface Row {
  readonly entry: Entry;
  readonly first: Entry;
  readonly place: number;
}

const EVERY_MS = 2000;

const COLUMNS: readonly Column<Row>[] = [
  { key: "at", title: "Time", cell: ({ entry }) => <Moment at={entry.at} />, width: "medium" },
  { key: "after", title: "After", cell: ({ entry, first }) => afterFirst(entry, first), isNumber: true },
  { key: "what", title: "What", cell: ({ entry }) => entryTitle(entry) },
  { key: "text", title: "Details", cell: ({ entry }) => entry.text ?? "" },
];

export function AttackTimeline({ attack: { id, ended_at: end } }: { readonly attack: AttackWire }) {
  const found = useResource<TimelineWire>(`/api/v1/attacks/${encodeURIComponent(id)}/timeline`, end ? 0 : EVERY_MS);
  return (
    <Panel title="Timeline" isWide>
      <Show loaded={found.state.value} what="timeline" onRetry={() => void found.refresh()}>
        {({ entries }) => {
          const [first] = entries;
          if (first === undefined) return <p class="muted">Nothing is known of it any more.</p>;
          return (
            <DataTable
              label="Timeline"
              columns={COLUMNS}
              rows={entries.map((entry, place) => ({ entry, first, place }))}
              rowKey={({ place }) => String(place)}
            />
          );
        }}
      </Show>
    </Panel>
  );
}
