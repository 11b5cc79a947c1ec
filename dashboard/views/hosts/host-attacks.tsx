/** The active and ended attacks on one host, as listed by the service. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import { attacks } from "../../api/live.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { numberColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, packetRate, plusMinus } from "../../text/format/numbers.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { attacksOn } from "../../text/of-host.ts";

const COLUMNS: readonly Column<AttackWire>[] = [
  {
    key: "kind",
    title: t`Kind`,
    cell: ({ id, classification, prefix }) => {
      const kind = classification === undefined ? t`Not known` : vectorName(classification.type);
      return <a href={linkTo(["attacks", id])}>{prefix === undefined ? kind : t`${kind} on ${prefix}`}</a>;
    },
  },
  {
    key: "state",
    title: t`State`,
    cell: ({ active }) =>
      active ? <Badge tone="danger">{t`in progress`}</Badge> : <Badge tone="none">{t`ended`}</Badge>,
  },
  numberColumn(t`Peak`, ({ volume }) => volume?.peak_pps, {
    format: (rate, { volume }) => packetRate(rate) + plusMinus(volume?.peak_sampling_error),
  }),
  numberColumn(t`Peak bandwidth`, ({ volume }) => volume?.peak_mbps, {
    format: (rate, { volume }) => bitRate(rate) + plusMinus(volume?.peak_sampling_error),
    width: "medium",
  }),
  { key: "began", title: t`Detected`, cell: ({ started_at: at }) => <Moment at={at} />, width: "medium" },
];

export function HostAttacks({ target }: { readonly target: string }) {
  return (
    <Panel title={t`Attacks on this host`} isWide>
      <Show loaded={attacks.value} what={t`attacks`}>
        {({ active, recent }) => {
          const own = attacksOn(target, [...active, ...recent]);
          return own.length === 0 ? (
            <Empty
              title={t`No attack`}
            >{t`There is no active attack, and none among the last hundred that ended.`}</Empty>
          ) : (
            <DataTable label={t`Attacks on this host`} columns={COLUMNS} rows={own} rowKey={({ id }) => id} />
          );
        }}
      </Show>
    </Panel>
  );
}
