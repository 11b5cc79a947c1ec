/** The sources that a zone denied or challenged in a time range, or would have in dry run. */
import type { Static } from "@sinclair/typebox";
import { useCallback, useState } from "preact/hooks";
import type { EdgeSourcesWire } from "../../../src/http/wire/edge/history.ts";
import { HISTORY_ROWS_MAX } from "../../../src/limits.ts";
import { serviceNow } from "../../api/contact.ts";
import { useKept, useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
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
  ["", t`All`],
  ["denied", t`Denied`],
  ["challenged", t`Challenged`],
  ["would-deny", t`Would be denied`],
  ["would-challenge", t`Would be challenged`],
];
const TONES: Readonly<Record<Source["state"], Tone>> = {
  denied: "danger",
  challenged: "warn",
  "would-deny": "info",
  "would-challenge": "info",
};

const COLUMNS: readonly Column<Source>[] = [
  textColumn(t`Source`, ({ source }) => source),
  {
    key: "state",
    title: t`Strongest`,
    cell: ({ state }) => <Badge tone={TONES[state]}>{nameOf(state).toLowerCase()}</Badge>,
    order: ({ state }) => STATES.findIndex(([name]) => name === state),
  },
  numberColumn(t`Requests`, ({ requests }) => requests, { format: wholeNumber }),
  numberColumn(t`Nodes`, ({ nodes }) => nodes, { width: "wide" }),
  momentColumn(t`First seen`, ({ first_seen: at }) => at, "wide"),
  momentColumn(t`Last seen`, ({ last_seen: at }) => at, "medium"),
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
    <Panel title={t`Sources in this range`} isWide>
      <div class="filters">
        <ChoiceField label={t`State`} value={state} options={STATES} onChange={setState} />
      </div>
      <Show loaded={loaded} what={t`sources of the zone`} onRetry={() => void sources.refresh()}>
        {({ available, sources: rows }) => {
          if (!available) return <StorageOff what={t`sources`} />;
          if (rows.length === 0)
            return (
              <Empty
                title={t`No source was refused or challenged`}
              >{t`Dry run would not have refused or challenged one either.`}</Empty>
            );
          return (
            <>
              <DataTable
                label={t`Sources`}
                columns={COLUMNS}
                rows={rows}
                rowKey={({ source }) => source}
                firstSort={{ key: t`Requests`, isDescending: true }}
              />
              {rows.length >= HISTORY_ROWS_MAX && (
                <p class="muted">{t`The busiest ${wholeNumber(HISTORY_ROWS_MAX)} are shown; there are more.`}</p>
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
