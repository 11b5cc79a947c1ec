/** The active attacks and the last ended ones, and the view of one attack. */
import { useState } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { attacks, bans } from "../../api/live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable, type Sort, sorted } from "../../parts/data-table.tsx";
import { Segments, TextField } from "../../parts/field.tsx";
import { Moment, Since } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { metricName, rateOf, times } from "../../text/format/numbers.ts";
import { subjectOrder } from "../../text/format/subject-order.ts";
import { duration } from "../../text/format/times.ts";
import { vectorName } from "../../text/format/words.ts";
import { attackSubject, banOf, effectOf } from "../../text/mitigation.ts";
import type { ViewProps } from "../../view.ts";
import { AttackDetail } from "./attack-detail.tsx";

export function Attacks({ steps }: ViewProps) {
  const [id] = steps;
  return id === undefined ? <AttackList /> : <AttackDetail key={id} id={id} />;
}

type Which = "active" | "recent";

interface Row {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
}

const COMMON: readonly Column<Row>[] = [
  {
    key: "subject",
    title: "Victim",
    cell: ({ attack }) => <a href={linkTo(["attacks", attack.id])}>{attackSubject(attack)}</a>,
    order: ({ attack }) => subjectOrder(attackSubject(attack)),
  },
  {
    key: "kind",
    title: "Kind",
    cell: ({ attack: { classification } }) => (classification === undefined ? "–" : vectorName(classification.type)),
    order: ({ attack }) => attack.classification?.type ?? "",
    width: "medium",
  },
  {
    key: "rate",
    title: "Rate",
    cell: ({ attack }) => rateOf(attack.metric, attack.rate),
    order: ({ attack }) => attack.rate,
    isNumber: true,
  },
  {
    key: "factor",
    title: "Of threshold",
    cell: ({ attack }) => times(attack.rate / attack.threshold),
    // Compares the shown values, so that rows that look equal do not change places.
    order: ({ attack }) => Math.round((10 * attack.rate) / attack.threshold),
    isNumber: true,
    width: "medium",
  },
  {
    key: "metric",
    title: "By",
    cell: ({ attack }) => metricName(attack.metric),
    order: ({ attack }) => attack.metric,
    width: "wide",
  },
  {
    key: "group",
    title: "Hostgroup",
    cell: ({ attack }) => attack.group,
    order: ({ attack }) => attack.group,
    width: "wide",
  },
];

const EFFECT: Column<Row> = {
  key: "effect",
  title: "What is done",
  cell: ({ attack, ban }) => {
    const { tone, title } = effectOf(attack, ban);
    return <Badge tone={tone}>{title}</Badge>;
  },
  order: ({ attack, ban }) => effectOf(attack, ban).title,
};

const STARTED: Column<Row> = {
  key: "started",
  title: "Began",
  cell: ({ attack }) => <Moment at={attack.started_at} />,
  order: ({ attack }) => attack.started_at,
  width: "wide",
};

const COLUMNS: Readonly<Record<Which, readonly Column<Row>[]>> = {
  active: [
    ...COMMON,
    EFFECT,
    {
      key: "lasts",
      title: "For",
      cell: ({ attack }) => <Since at={attack.started_at} />,
      order: ({ attack }) => -Date.parse(attack.started_at),
      isNumber: true,
      width: "medium",
    },
    STARTED,
  ],
  recent: [
    ...COMMON,
    {
      key: "lasted",
      title: "Lasted",
      cell: ({ attack }) => duration(lastedSeconds(attack)),
      order: ({ attack }) => lastedSeconds(attack),
      isNumber: true,
      width: "medium",
    },
    STARTED,
  ],
};

const FIRST_SORT: Readonly<Record<Which, Sort>> = {
  active: { key: "factor", isDescending: true },
  recent: { key: "started", isDescending: true },
};

function AttackList() {
  const { query } = place.value;
  const which: Which = query.get("which") === "recent" ? "recent" : "active";
  const search = query.get("q") ?? "";
  const [sorts, setSorts] = useState(FIRST_SORT);
  return (
    <Panel
      title={which === "active" ? "In progress" : "Over"}
      actions={
        <Segments
          label="Which attacks"
          value={which}
          options={[
            ["active", "In progress"],
            ["recent", "Over"],
          ]}
          onChange={(chosen) => setQuery({ which: chosen === "active" ? null : chosen })}
        />
      }
    >
      <Show loaded={attacks.value} what="attacks">
        {(lists) => {
          if (lists[which].length === 0) return <NoAttacks which={which} />;
          const held = bans.value.kind === "ready" ? bans.value.data : [];
          const rows = lists[which]
            .filter((attack) => matches(attack, search))
            .map((attack) => ({ attack, ban: banOf(attack, held) }));
          const columns = COLUMNS[which];
          return (
            <>
              <div class="filters">
                <TextField
                  label="Find"
                  type="search"
                  value={search}
                  onInput={(q) => setQuery({ q })}
                  placeholder="address, kind, hostgroup"
                />
              </div>
              {rows.length === 0 ? (
                <Empty title="No attack matches">Make the search shorter.</Empty>
              ) : (
                <DataTable
                  label={which === "active" ? "Attacks in progress" : "Attacks that are over"}
                  columns={columns}
                  rows={sorted(rows, columns, sorts[which])}
                  rowKey={({ attack }) => attack.id}
                  sort={sorts[which]}
                  onSort={(sort) => setSorts({ ...sorts, [which]: sort })}
                />
              )}
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

function NoAttacks({ which }: { readonly which: Which }) {
  return which === "active" ? (
    <Empty title="No attack now">An attack shows here within half a second of its detection.</Empty>
  ) : (
    <Empty title="No attack is over yet">
      This list has the last hundred; older ones are in the history, if storage is on.
    </Empty>
  );
}

function matches(attack: AttackWire, search: string): boolean {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return true;
  const kind = attack.classification === undefined ? "" : vectorName(attack.classification.type);
  const text = `${attackSubject(attack)} ${kind} ${attack.group} ${attack.tenant ?? ""} ${attack.metric}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function lastedSeconds({ started_at, ended_at }: AttackWire): number {
  return ended_at === undefined ? 0 : (Date.parse(ended_at) - Date.parse(started_at)) / 1000;
}
