/** Changes in the fleet of edge nodes, newest first. */
import type { Static } from "@sinclair/typebox";
import { useCallback } from "preact/hooks";
import type { EdgeEventKind } from "../../../src/edge/reports/edge-history.ts";
import type { EdgeEventsWire } from "../../../src/http/wire/edge/history.ts";
import { HISTORY_ROWS_MAX } from "../../../src/limits.ts";
import { serviceNow } from "../../api/contact.ts";
import { useKept, useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty, StorageOff, type Tone } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chosenRange, RangeChoice } from "../../parts/range-choice.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { EVENT_NAMES } from "../../text/edge.ts";
import { edgeEventText } from "../../text/edge-events.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { type Range, rangeEnds } from "../../text/format/ranges.ts";
import { EdgeNodeChoice } from "./edge-node-choice.tsx";

type Events = Static<typeof EdgeEventsWire>;
type Event = Events["events"][number];

const EVERY_MS = 15_000;
const KIND_OPTIONS: readonly (readonly ["" | EdgeEventKind, string])[] = [
  ["", t`All`],
  ...(Object.entries(EVENT_NAMES) as [EdgeEventKind, string][]),
];

/** Kinds that need attention. */
const TONES: Readonly<Partial<Record<Event["kind"], Tone>>> = {
  node_lost: "danger",
  generation_refused: "danger",
  cert_gone: "warn",
  clock_skew: "warn",
  report_truncated: "warn",
  challenge_started: "warn",
};

const COLUMNS: readonly Column<Event>[] = [
  { key: "time", title: t`When`, cell: ({ event_time: at }) => <Moment at={at} /> },
  {
    key: "kind",
    title: t`What`,
    cell: ({ kind }) => <Badge tone={TONES[kind] ?? "none"}>{EVENT_NAMES[kind]}</Badge>,
  },
  { key: "node", title: t`Node`, cell: ({ node }) => <a href={linkTo(["edge", "nodes", node])}>{node}</a> },
  {
    key: "zone",
    title: t`Zone`,
    cell: ({ zone }) => (zone === undefined ? "–" : <a href={linkTo(["edge", "zones", zone])}>{zone}</a>),
    width: "medium",
  },
  { key: "detail", title: t`Detail`, cell: edgeEventText, width: "medium" },
];

export function EdgeEvents() {
  const { query } = place.value;
  const [node, zone, kind] = [query.get("node") ?? "", query.get("zone") ?? "", query.get("kind") ?? ""];
  return (
    <Panel title={t`Events`} actions={<RangeChoice />}>
      <div class="filters">
        <EdgeNodeChoice node={node} onChange={(chosen) => setQuery({ node: chosen })} />
        <SearchField
          label={t`Zone`}
          value={zone}
          onSearch={(name) => setQuery({ zone: name })}
          placeholder="www.example.net"
        />
        <ChoiceField
          label={t`Kind`}
          value={KIND_OPTIONS.find(([name]) => name === kind)?.[0] ?? ""}
          options={KIND_OPTIONS}
          onChange={(chosen) => setQuery({ kind: chosen })}
        />
      </div>
      <EdgeEventList filter={{ node, zone, kind }} range={chosenRange()} />
    </Panel>
  );
}

interface EdgeEventListProps {
  /** The fields of an event that are present and not empty. */
  readonly filter: { readonly node?: string; readonly zone?: string; readonly kind?: string };
  readonly range: Range;
}

export function EdgeEventList({ filter, range }: EdgeEventListProps) {
  const wanted = JSON.stringify(Object.entries(filter).filter(([, value]) => value !== ""));
  const path = useCallback(() => {
    const ends = Object.entries(rangeEnds(range, serviceNow()));
    return `/api/v1/edge/events?${new URLSearchParams([...ends, ...(JSON.parse(wanted) as [string, string][])])}`;
  }, [wanted, range]);
  const events = useResource<Events>(path, EVERY_MS);
  const loaded = useKept(events.state.value);
  return (
    <Show loaded={loaded} what={t`events`} onRetry={() => void events.refresh()}>
      {({ available, events: rows }) => {
        if (!available) return <StorageOff what={t`events`} />;
        if (rows.length === 0) {
          return (
            <Empty
              title={t`Nothing has changed`}
            >{t`Events are changes from one report to the next. Select an earlier range, or remove a filter.`}</Empty>
          );
        }
        return (
          <>
            <DataTable label={t`Events`} columns={COLUMNS} rows={rows} rowKey={(event) => JSON.stringify(event)} />
            {rows.length >= HISTORY_ROWS_MAX && (
              <p class="muted">{t`The newest ${wholeNumber(HISTORY_ROWS_MAX)} are shown: choose a shorter range for others.`}</p>
            )}
          </>
        );
      }}
    </Show>
  );
}
