/** The active attacks and the last ended ones, and the view of one attack. */
import { useState } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { attacks, bans } from "../../api/live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, numberColumn, sinceColumn, textColumn } from "../../parts/columns.tsx";
import type { Column, Sort } from "../../parts/data-table.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
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
  textColumn("Hostgroup", ({ attack }) => attack.group, "wide"),
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

const STARTED = momentColumn("Began", ({ attack }: Row) => attack.started_at, "wide");

const COLUMNS: Readonly<Record<Which, readonly Column<Row>[]>> = {
  active: [...COMMON, EFFECT, sinceColumn("For", ({ attack }) => attack.started_at, "medium"), STARTED],
  recent: [
    ...COMMON,
    numberColumn("Lasted", ({ attack }) => lastedSeconds(attack), { format: duration, width: "medium" }),
    STARTED,
  ],
};

const FIRST_SORT: Readonly<Record<Which, Sort>> = {
  active: { key: "factor", isDescending: true },
  recent: { key: "Began", isDescending: true },
};

function AttackList() {
  const which: Which = place.value.query.get("which") === "recent" ? "recent" : "active";
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
          return (
            <SearchedTable
              label={which === "active" ? "Attacks in progress" : "Attacks that are over"}
              what="attack"
              placeholder="address, kind, hostgroup"
              columns={COLUMNS[which]}
              rows={lists[which].map((attack) => ({ attack, ban: banOf(attack, held) }))}
              rowKey={({ attack }) => attack.id}
              textOf={attackText}
              sort={sorts[which]}
              onSort={(sort) => setSorts({ ...sorts, [which]: sort })}
            />
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

function attackText({ attack }: Row): string {
  const kind = attack.classification === undefined ? "" : vectorName(attack.classification.type);
  return `${attackSubject(attack)} ${kind} ${attack.group} ${attack.tenant ?? ""} ${attack.metric}`;
}

function lastedSeconds({ started_at, ended_at }: AttackWire): number {
  return ended_at === undefined ? 0 : (Date.parse(ended_at) - Date.parse(started_at)) / 1000;
}
