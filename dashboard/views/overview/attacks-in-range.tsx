/** The attacks of a time range that is not now, the newest first. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import { serviceNow } from "../../api/contact.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, numberColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { linkTo } from "../../router.ts";
import { within } from "../../text/attack-spans.ts";
import { packetRate, plusMinus, wholeNumber } from "../../text/format/numbers.ts";
import { type Range, rangeSpan, titleRange } from "../../text/format/ranges.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { counted } from "../../text/format/words.ts";
import { attackSubject, customerText } from "../../text/mitigation.ts";

const COLUMNS: readonly Column<AttackWire>[] = [
  {
    key: "subject",
    title: t`Victim`,
    cell: (attack) => <a href={linkTo(["attacks", attack.id])}>{attackSubject(attack)}</a>,
  },
  textColumn(t`Kind`, ({ classification }) => classification && vectorName(classification.type)),
  textColumn(t`Customer`, customerText, "medium"),
  numberColumn(t`Peak`, ({ volume }) => volume?.peak_pps, {
    format: (rate, { volume }) => packetRate(rate) + plusMinus(volume?.peak_sampling_error),
  }),
  momentColumn(t`Detected`, ({ started_at: at }) => at),
  {
    key: t`Ended`,
    title: t`Ended`,
    cell: (attack) => (attack.active ? <Badge tone="danger">{t`in progress`}</Badge> : ENDED.cell(attack)),
    order: ({ ended_at: at }) => at ?? "~",
  },
];
const ENDED = momentColumn(t`Ended`, ({ ended_at: at }: AttackWire) => at);
const FIRST_SORT = { key: t`Detected`, isDescending: true };

interface AttacksInRangeProps {
  readonly range: Range;
  /** Also some from after the range. */
  readonly attacks: readonly AttackWire[];
  /** The number that was read, where the range has older ones; null: all were. */
  readonly newest: number | null;
}

export function AttacksInRange({ range, attacks, newest }: AttacksInRangeProps) {
  const rows = useMemo(() => within(attacks, rangeSpan(range, serviceNow())), [range, attacks]);
  return (
    <Panel title={t`Attacks ${titleRange(range)}`} isWide>
      {rows.length === 0 ? (
        <Empty title={t`No attack in this range`}>{t`Or none that the filter keeps.`}</Empty>
      ) : (
        <>
          <p class="muted">
            {counted(rows.length, "attack")}
            {newest !== null && t`; the range has older ones than the newest ${wholeNumber(newest)}`}
          </p>
          <DataTable
            label={t`Attacks in this range`}
            columns={COLUMNS}
            rows={rows}
            rowKey={({ id }) => id}
            firstSort={FIRST_SORT}
          />
        </>
      )}
    </Panel>
  );
}
