/** The sources that a zone denied or challenged in a time range, or would have in dry run. */
import type { Static } from "@sinclair/typebox";
import { useCallback, useState } from "preact/hooks";
import type { EdgeSourcesWire } from "../../../src/http/wire/edge/history.ts";
import { HISTORY_ROWS_MAX } from "../../../src/limits.ts";
import { serviceNow } from "../../api/contact.ts";
import { useKept, useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty, StorageOff, type Tone } from "../../parts/callout.tsx";
import { momentColumn, numberColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chosenRange } from "../../parts/range-choice.tsx";
import { Show } from "../../parts/show.tsx";
import { place } from "../../router.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { rangeEnds } from "../../text/format/ranges.ts";

type Sources = Static<typeof EdgeSourcesWire>;
type Source = Sources["sources"][number];

const EVERY_MS = 30_000;
const STATES: readonly (readonly ["" | Source["state"], string])[] = [
  ["", "All"],
  ["denied", "Denied"],
  ["challenged", "Challenged"],
  ["would-deny", "Would be denied"],
  ["would-challenge", "Would be challenged"],
];
const TONES: Readonly<Record<Source["state"], Tone>> = {
  denied: "danger",
  challenged: "warn",
  "would-deny": "info",
  "would-challenge": "info",
};

const COLUMNS: readonly Column<Source>[] = [
  textColumn("Source", ({ source }) => source),
  {
    key: "state",
    title: "Strongest",
    cell: ({ state }) => <Badge tone={TONES[state]}>{nameOf(state).toLowerCase()}</Badge>,
    order: ({ state }) => STATES.findIndex(([name]) => name === state),
  },
  numberColumn("Requests", ({ requests }) => requests, { format: wholeNumber }),
  numberColumn("Nodes", ({ nodes }) => nodes, { width: "wide" }),
  momentColumn("First seen", ({ first_seen: at }) => at, "wide"),
  momentColumn("Last seen", ({ last_seen: at }) => at, "medium"),
];

export function EdgeSources({ zone }: { readonly zone: string }) {
  const [state, setState] = useState<"" | Source["state"]>("");
  const range = chosenRange();
  const node = isUnscoped() ? (place.value.query.get("node") ?? "") : "";
  const path = useCallback(() => {
    const query = {
      zone,
      ...rangeEnds(range, serviceNow()),
      ...(node !== "" && { node }),
      ...(state !== "" && { state }),
    };
    return `/api/v1/edge/history/sources?${new URLSearchParams(query)}`;
  }, [zone, node, state, range]);
  const sources = useResource<Sources>(path, EVERY_MS);
  const loaded = useKept(sources.state.value);
  return (
    <Panel title="Sources in this range" isWide>
      <div class="filters">
        <ChoiceField label="State" value={state} options={STATES} onChange={setState} />
      </div>
      <Show loaded={loaded} what="sources of the zone" onRetry={() => void sources.refresh()}>
        {({ available, sources: rows }) => {
          if (!available) return <StorageOff what="sources" />;
          if (rows.length === 0)
            return (
              <Empty title="No source was refused or challenged">
                Dry run would not have refused or challenged one either.
              </Empty>
            );
          return (
            <>
              <DataTable
                label="Sources"
                columns={COLUMNS}
                rows={rows}
                rowKey={({ source }) => source}
                firstSort={{ key: "Requests", isDescending: true }}
              />
              {rows.length >= HISTORY_ROWS_MAX && (
                <p class="muted">The busiest {wholeNumber(HISTORY_ROWS_MAX)} are shown; there are more.</p>
              )}
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

function nameOf(state: Source["state"]): string {
  return STATES.find(([name]) => name === state)?.[1] ?? state;
}
