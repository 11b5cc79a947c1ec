/** Where the incoming traffic of the chosen range came from: the largest parts, each with its share of all. */
import { useCallback } from "preact/hooks";
import type { TopTrafficWire } from "../../../src/http/wire/traffic/top-traffic.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Segments } from "../../parts/field.tsx";
import { chosenFilter, Filterable } from "../../parts/filter-bar.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chosenRange } from "../../parts/range-choice.tsx";
import { Show } from "../../parts/show.tsx";
import { place, setQuery } from "../../router.ts";
import { explorationOf, PART_OPTIONS, type PartGrouping, toggled } from "../../text/exploration.ts";
import { isKept } from "../../text/filter.ts";
import { bitRate, packetRate, percent } from "../../text/format/numbers.ts";
import { rangeEnds } from "../../text/format/ranges.ts";
import { filtered, type OriginRow, withRest } from "../../text/origin-rows.ts";
import { ShareBar } from "./share-bar.tsx";

const EVERY_MS = 10_000;
const SHOWN = 15;
const MISSING = {
  asn: t`Networks are known with samples.asn_file.`,
  country: t`Countries are known with samples.country_file.`,
  prefix: t`They are recorded while there is traffic, unless samples.enabled is false.`,
  interface: t`Interfaces are known of traffic that exporters of flow telemetry sample.`,
  exporter: t`Exporters are those of flow telemetry that sample.`,
  src_port: t`They are recorded while there is traffic, unless samples.enabled is false.`,
  dst_port: t`They are recorded while there is traffic, unless samples.enabled is false.`,
} as const;

export function OriginsPanel() {
  const chosen = place.value.query.get("from_by");
  const by = PART_OPTIONS.find(([kind]) => kind === chosen)?.[0] ?? "asn";
  const range = chosenRange();
  const filter = chosenFilter();
  const path = useCallback(() => {
    const ends = rangeEnds(range, serviceNow());
    return `/api/v1/traffic/top?${new URLSearchParams({ by, ...ends, limit: String(SHOWN) })}`;
  }, [by, range]);
  const top = useResource<TopTrafficWire>(path, EVERY_MS);
  return (
    <Panel title={t`Where incoming traffic comes from`} isWide>
      <div class="filters">
        <Segments
          label={t`Split by`}
          value={by}
          options={PART_OPTIONS}
          onChange={(kind) => setQuery({ from_by: kind === "asn" ? null : kind })}
        />
      </div>
      <Show loaded={top.state.value} what={t`parts of the traffic`} onRetry={() => void top.refresh()}>
        {({ available, total, parts }) => {
          if (!available) return <StorageOff what={t`history`} />;
          if (parts.length === 0) return <Empty title={t`Nothing is known in this range`}>{MISSING[by]}</Empty>;
          const columns = columnsOf(by, total?.mbps ?? 0);
          const own = filter.filter(({ field }) => field === by);
          const all = withRest(
            parts,
            total ?? { pps: 0, mbps: 0 },
            by === "prefix" ? t`others` : t`not known, or others`,
          );
          const rows = filtered(all, (key) => isKept(own, () => [key]));
          return <DataTable label={t`The largest parts`} columns={columns} rows={rows} rowKey={({ key }) => key} />;
        }}
      </Show>
      <p class="muted">{t`Estimated from sampled packets, of the part of the range in which they were recorded.`}</p>
    </Panel>
  );
}

function columnsOf(by: (typeof PART_OPTIONS)[number][0], totalMbps: number): readonly Column<OriginRow>[] {
  const share = ({ mbps }: OriginRow) => (totalMbps > 0 ? Math.min(1, mbps / totalMbps) : 0);
  return [
    {
      key: "key",
      title: t`Source`,
      cell: ({ key, isRest }) => (isRest === true ? key : <Filterable field={by} value={key} />),
    },
    { key: "bar", title: t`Share of all bits`, cell: (part) => <ShareBar share={share(part)} />, width: "medium" },
    { key: "share", title: t`Share`, cell: (part) => percent(share(part)), isNumber: true },
    { key: "bits", title: t`Bits`, cell: ({ mbps }) => bitRate(mbps), isNumber: true },
    { key: "packets", title: t`Packets`, cell: ({ pps }) => packetRate(pps), isNumber: true, width: "wide" },
    ...(by === "exporter" ? [] : [overTime(by)]),
  ];
}

/** Puts the part into the chart above, or takes it out again. */
function overTime(by: PartGrouping): Column<OriginRow> {
  const chosen = explorationOf(place.value.query);
  const only = chosen.by === by ? chosen.only : [];
  return {
    key: "time",
    title: t`Over time`,
    isTitleUnseen: true,
    cell: ({ key, isRest }) => {
      if (isRest === true) return null;
      const text = only.includes(key) ? t`Not over time` : t`Over time`;
      return (
        <Button look="quiet" label={`${text}: ${key}`} onClick={() => setQuery({ by, only: toggled(only, key) })}>
          {text}
        </Button>
      );
    },
  };
}
