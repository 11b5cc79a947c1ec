/** The active attacks and the last ended ones, and the view of one attack. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { ENDED_ATTACKS_KEPT } from "../../../src/limits.ts";
import { attacks, bans } from "../../api/live.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, numberColumn, sinceColumn, textColumn } from "../../parts/columns.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { passedMark } from "../../text/attack-size.ts";
import {
  bitRate,
  byteCount,
  metricName,
  packetRate,
  percent,
  plusMinus,
  rateOf,
  times,
} from "../../text/format/numbers.ts";
import { subjectOrder } from "../../text/format/subject-order.ts";
import { duration } from "../../text/format/times.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { attackSubject, banOf, customerText, effectOf } from "../../text/mitigation.ts";
import type { Sort } from "../../text/table-order.ts";
import type { ViewProps } from "../../view.ts";
import { AttackDetail } from "./attack-detail.tsx";
import { AttackHistory } from "./attack-history.tsx";

export function Attacks({ steps }: ViewProps) {
  const [id] = steps;
  return id === undefined ? <AttackList /> : <AttackDetail key={id} id={id} />;
}

type Which = "active" | "recent" | "history";

interface Row {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
}

function kindOf({ classification }: AttackWire): string | undefined {
  return classification === undefined ? undefined : vectorName(classification.type);
}

const COMMON: readonly Column<Row>[] = [
  {
    key: "subject",
    title: t`Victim`,
    cell: ({ attack }) => (
      <>
        <a href={linkTo(["attacks", attack.id])}>{attackSubject(attack)}</a>
        <small class="until-medium">{kindOf(attack)}</small>
      </>
    ),
    order: ({ attack }) => subjectOrder(attackSubject(attack)),
  },
  {
    key: "kind",
    title: t`Kind`,
    cell: ({ attack }) => kindOf(attack) ?? "–",
    order: ({ attack }) => attack.classification?.type ?? "",
    width: "medium",
  },
  textColumn(t`Customer`, ({ attack }) => customerText(attack), "wide"),
];

const RATE: readonly Column<Row>[] = [
  {
    key: "rate",
    title: t`Rate`,
    cell: ({ attack }) => rateOf(attack.metric, attack.rate) + plusMinus(errorOf(attack)),
    order: ({ attack }) => attack.rate,
    isNumber: true,
  },
  {
    key: "factor",
    title: t`× threshold`,
    cell: ({ attack }) => times(attack.rate / attack.threshold),
    // Compares the shown values, so that rows that look equal do not change places.
    order: ({ attack }) => Math.round((10 * attack.rate) / attack.threshold),
    isNumber: true,
    width: "medium",
  },
  {
    key: "metric",
    title: t`Metric`,
    cell: ({ attack }) => metricName(attack.metric),
    order: ({ attack }) => attack.metric,
    width: "wider",
  },
];

const SIZE: readonly Column<Row>[] = [
  numberColumn(t`Peak`, ({ attack }) => attack.volume?.peak_pps, {
    format: (rate, { attack }) => packetRate(rate) + plusMinus(attack.volume?.peak_sampling_error),
  }),
  numberColumn(t`Peak bandwidth`, ({ attack }) => attack.volume?.peak_mbps, {
    format: (rate, { attack }) => bitRate(rate) + plusMinus(attack.volume?.peak_sampling_error),
    width: "medium",
  }),
  numberColumn(t`Total`, ({ attack }) => total(attack.volume), { format: byteCount, width: "medium" }),
  numberColumn(t`Passed`, ({ attack }) => passedShare(attack.volume), {
    format: (share, { attack: { volume } }) => `${volume === undefined ? "" : passedMark(volume)}${percent(share)}`,
    width: "wide",
  }),
];

const EFFECT: Column<Row> = {
  key: "effect",
  title: t`Mitigation`,
  cell: ({ attack, ban }) => {
    const { tone, title } = effectOf(attack, ban);
    return <Badge tone={tone}>{title}</Badge>;
  },
  order: ({ attack, ban }) => effectOf(attack, ban).title,
};

const STARTED = momentColumn(t`Detected`, ({ attack }: Row) => attack.started_at, "wide");

const ENDED = momentColumn(t`Ended`, ({ attack }: Row) => attack.ended_at);

const COLUMNS: Readonly<Record<Which, readonly Column<Row>[]>> = {
  active: [...COMMON, ...RATE, EFFECT, sinceColumn(t`Duration`, ({ attack }) => attack.started_at, "medium"), STARTED],
  recent: [
    ...COMMON,
    ...SIZE,
    numberColumn(t`Lasted`, ({ attack }) => lastedSeconds(attack), { format: duration, width: "medium" }),
    STARTED,
    ENDED,
  ],
  history: [
    ...COMMON,
    ...SIZE,
    numberColumn(t`Lasted`, ({ attack }) => lastedSeconds(attack), { format: duration }),
    ENDED,
  ],
};

const TITLES: Readonly<Record<Which, string>> = { active: t`In progress`, recent: t`Ended`, history: t`History` };

const FIRST_SORT: Readonly<Record<Which, Sort>> = {
  active: { key: "factor", isDescending: true },
  recent: { key: t`Ended`, isDescending: true },
  history: { key: t`Ended`, isDescending: true },
};

function AttackList() {
  const asked = place.value.query.get("which");
  const which: Which = asked === "recent" || asked === "history" ? asked : "active";
  return (
    <Panel
      title={TITLES[which]}
      actions={
        <Segments
          label={t`Which attacks`}
          value={which}
          options={(["active", "recent", "history"] as const).map((each) => [each, TITLES[each]] as const)}
          onChange={(chosen) => setQuery({ which: chosen === "active" ? null : chosen })}
        />
      }
    >
      {which === "history" ? (
        <AttackHistory columns={COLUMNS.history} textOf={attackText} />
      ) : (
        <LiveList which={which} />
      )}
    </Panel>
  );
}

function LiveList({ which }: { readonly which: "active" | "recent" }) {
  return (
    <>
      <Show loaded={attacks.value} what={t`attacks`}>
        {(lists) => {
          if (lists[which].length === 0) return <NoAttacks which={which} />;
          const held = bans.value.kind === "ready" ? bans.value.data : [];
          return (
            <SearchedTable
              label={which === "active" ? t`Attacks in progress` : t`Ended attacks`}
              what={t`attack`}
              placeholder={t`address, kind, hostgroup`}
              columns={COLUMNS[which]}
              rows={lists[which].map((attack) => ({ attack, ban: banOf(attack, held) }))}
              rowKey={({ attack }) => attack.id}
              textOf={attackText}
              firstSort={FIRST_SORT[which]}
            />
          );
        }}
      </Show>
      {which === "recent" && (
        <p class="muted">{tx`The last ${ENDED_ATTACKS_KEPT}. Older ones are in the ${<a href={linkTo(["attacks"], { which: "history", range: "7d" })}>{t`history by date`}</a>}.`}</p>
      )}
    </>
  );
}

function NoAttacks({ which }: { readonly which: Which }) {
  return which === "active" ? (
    <Empty title={t`No attack now`}>{t`An attack shows here within half a second of its detection.`}</Empty>
  ) : (
    <Empty title={t`No attack has ended yet`}>{t`Each shows here when its rates have been calm for a while.`}</Empty>
  );
}

function attackText({ attack }: Row): string {
  const kind = attack.classification === undefined ? "" : vectorName(attack.classification.type);
  return `${attackSubject(attack)} ${kind} ${attack.group} ${attack.tenant ?? ""} ${attack.metric}`;
}

/** The error of a part of the traffic is not known. */
function errorOf({ metric, sampling_error: error }: AttackWire): number | undefined {
  return metric === "pps" || metric === "mbps" ? error?.[metric] : undefined;
}

/** Bytes. */
function total(volume: AttackWire["volume"]): number | undefined {
  return volume === undefined ? undefined : volume.bits / 8;
}

/** Through this machine; undefined: not known. */
function passedShare(volume: AttackWire["volume"]): number | undefined {
  const { packets = 0, passed_packets: passed } = volume ?? {};
  return passed === undefined || packets === 0 ? undefined : passed / packets;
}

function lastedSeconds({ started_at, ended_at }: AttackWire): number {
  return ended_at === undefined ? 0 : (Date.parse(ended_at) - Date.parse(started_at)) / 1000;
}
