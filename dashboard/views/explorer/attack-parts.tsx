/** The composition of the attacks of the range: shares by any field, and the flows from origins to victims. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import { t } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { Filterable } from "../../parts/filter-bar.tsx";
import { Panel } from "../../parts/panel.tsx";
import { place, setQuery } from "../../router.ts";
import { type AttackShare, attackShares } from "../../text/attack-shares.ts";
import { FIELD_NAMES, type FilterField } from "../../text/filter.ts";
import { percent, scaled, wholeNumber } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { sankeyOf } from "../../text/sankey.ts";
import { SankeyPicture } from "./sankey-picture.tsx";
import { ShareBar } from "./share-bar.tsx";

const ROWS = 15;
const FIELDS = Object.entries(FIELD_NAMES) as (readonly [FilterField, string])[];
/** Those that say where packets came from. */
const ORIGINS: readonly FilterField[] = ["asn", "country", "prefix", "src_port", "exporter", "interface"];

interface AttackPartsProps {
  /** Those of the range that the filter keeps. */
  readonly attacks: readonly AttackWire[];
  /** The number that was read, where the range has older ones; null: all were. */
  readonly newest: number | null;
}

export function AttackParts({ attacks, newest }: AttackPartsProps) {
  const asked = place.value.query.get("attacks_by");
  const by = FIELDS.find(([field]) => field === asked)?.[0] ?? "asn";
  const rows = useMemo(() => attackShares(attacks, by, ROWS), [attacks, by]);
  const origin = ORIGINS.includes(by) ? by : "country";
  const sankey = useMemo(() => sankeyOf(attacks, { origin, victim: "hostgroup" }), [attacks, origin]);
  const columns = useMemo(() => columnsOf(by), [by]);
  return (
    <Panel title={t`Attack traffic in this range`} isWide>
      <div class="filters">
        <ChoiceField
          label={t`Split attacks by`}
          value={by}
          options={FIELDS}
          onChange={(field) => setQuery({ attacks_by: field === "asn" ? null : field })}
        />
        <p class="muted" role="status">
          {counted(attacks.length, "attack")}
          {newest !== null && t`; the range has older ones than the newest ${wholeNumber(newest)}`}
        </p>
      </div>
      {rows.length === 0 ? (
        <Empty title={t`No attack traffic`}>{t`No attack of this range and filter has counted packets.`}</Empty>
      ) : (
        <>
          {sankey !== null && <SankeyPicture sankey={sankey} />}
          <DataTable label={t`Attack traffic`} columns={columns} rows={rows} rowKey={({ key }) => key} />
        </>
      )}
      <p class="muted">{t`All packets of attacks that went on in the range, by their samples: also the packets from before and after it. An attack on a hostgroup and attacks on its hosts at the same time both count.`}</p>
    </Panel>
  );
}

function columnsOf(by: FilterField): readonly Column<AttackShare>[] {
  return [
    {
      key: "key",
      title: FIELD_NAMES[by],
      cell: ({ key, isRest }) => (isRest === true ? key : <Filterable field={by} value={key} />),
    },
    { key: "bar", title: t`Share of all packets`, cell: ({ share }) => <ShareBar share={share} />, width: "medium" },
    { key: "share", title: t`Share`, cell: ({ share }) => percent(share), isNumber: true },
    { key: "packets", title: t`Packets`, cell: ({ packets }) => scaled(packets), isNumber: true },
  ];
}
