/** The decisions about an attack, with their times. An entry that is pointed at or focused is marked in the chart. */
import type { TimelineWire } from "../../../src/http/wire/attack-series.ts";
import type { Resource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { afterFirst, entryText, entryTitle, type FoldedEntry } from "../../text/timeline.ts";

interface Row {
  readonly entry: FoldedEntry;
  readonly first: FoldedEntry;
  readonly place: number;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "at",
    title: t`Time`,
    cell: ({ entry }) => (
      <button type="button" class="sort" title={t`Mark it in the chart`} onClick={seekChart}>
        <Moment at={entry.at} />
      </button>
    ),
    width: "medium",
  },
  { key: "after", title: t`After`, cell: ({ entry, first }) => afterFirst(entry, first), isNumber: true },
  { key: "what", title: t`What`, cell: ({ entry }) => entryTitle(entry) },
  { key: "text", title: t`Details`, cell: ({ entry }) => <Details entry={entry} /> },
];

interface AttackTimelineProps {
  readonly resource: Resource<TimelineWire>;
  /** Entries of the resource, folded. */
  readonly entries: readonly FoldedEntry[];
  /** The entry that is marked; null: none. */
  readonly pointed: number | null;
  readonly onPoint: (entry: number | null) => void;
}

export function AttackTimeline({ resource, entries, pointed, onPoint }: AttackTimelineProps) {
  return (
    <Panel title={t`Timeline`} isWide>
      <Show loaded={resource.state.value} what={t`timeline`} onRetry={() => void resource.refresh()}>
        {() => {
          const [first] = entries;
          if (first === undefined) return <p class="muted">{t`Nothing is known of it any more.`}</p>;
          return (
            <DataTable
              label={t`Timeline`}
              columns={COLUMNS}
              rows={entries.map((entry, place) => ({ entry, first, place }))}
              rowKey={({ place }) => String(place)}
              isCurrent={({ place }) => place === pointed}
              onPoint={(row) => onPoint(row?.place ?? null)}
            />
          );
        }}
      </Show>
    </Panel>
  );
}

function Details({ entry }: { readonly entry: FoldedEntry }) {
  const text = entryText(entry);
  return (
    <span class="cut cut-wide" title={text}>
      {entry.times > 1 && <>{tx`until ${<Moment at={entry.lastAt} />}${text === "" ? "" : ": "}`}</>}
      {text}
    </span>
  );
}

/** Where there is no pointer, or the chart is out of sight. */
function seekChart(): void {
  document.querySelector(".chart")?.scrollIntoView({ block: "nearest" });
}
