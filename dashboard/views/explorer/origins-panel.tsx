/** Where the incoming traffic of the chosen range came from: the largest parts, each with its share of all. */
import { useCallback } from "preact/hooks";
import type { TopTrafficWire } from "../../../src/http/wire/traffic/top-traffic.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chosenRange } from "../../parts/range-choice.tsx";
import { Show } from "../../parts/show.tsx";
import { place, setQuery } from "../../router.ts";
import { bitRate, packetRate, percent } from "../../text/format/numbers.ts";
import { rangeEnds } from "../../text/format/ranges.ts";
import { withRest } from "../../text/origin-rows.ts";

type Part = TopTrafficWire["parts"][number];

const EVERY_MS = 10_000;
const SHOWN = 15;
const KINDS = [
  ["asn", "Network"],
  ["country", "Country"],
  ["prefix", "Prefix"],
  ["interface", "Interface"],
] as const;
const MISSING = {
  asn: "Networks are known with samples.asn_file.",
  country: "Countries are known with samples.country_file.",
  prefix: "They are recorded while there is traffic, unless samples.enabled is false.",
  interface: "Interfaces are known of traffic that exporters of flow telemetry sample.",
} as const;

export function OriginsPanel() {
  const chosen = place.value.query.get("from_by");
  const by = KINDS.find(([kind]) => kind === chosen)?.[0] ?? "asn";
  const range = chosenRange();
  const path = useCallback(() => {
    const ends = rangeEnds(range, serviceNow());
    return `/api/v1/traffic/top?${new URLSearchParams({ by, ...ends, limit: String(SHOWN) })}`;
  }, [by, range]);
  const top = useResource<TopTrafficWire>(path, EVERY_MS);
  return (
    <Panel title="Where incoming traffic comes from" isWide>
      <div class="filters">
        <Segments
          label="Split by"
          value={by}
          options={KINDS}
          onChange={(kind) => setQuery({ from_by: kind === "asn" ? null : kind })}
        />
      </div>
      <Show loaded={top.state.value} what="parts of the traffic" onRetry={() => void top.refresh()}>
        {({ available, total, parts }) => {
          if (!available) return <StorageOff what="history" />;
          if (parts.length === 0) return <Empty title="Nothing is known in this range">{MISSING[by]}</Empty>;
          const columns = columnsOf(total?.mbps ?? 0);
          const rows = withRest(
            parts,
            total ?? { pps: 0, mbps: 0 },
            by === "prefix" ? "others" : "not known, or others",
          );
          return <DataTable label="The largest parts" columns={columns} rows={rows} rowKey={({ key }) => key} />;
        }}
      </Show>
      <p class="muted">Estimated from sampled packets, of the time since it is recorded in the range.</p>
    </Panel>
  );
}

function columnsOf(totalMbps: number): readonly Column<Part>[] {
  const share = ({ mbps }: Part) => (totalMbps > 0 ? Math.min(1, mbps / totalMbps) : 0);
  return [
    { key: "key", title: "From", cell: ({ key }) => key },
    { key: "bar", title: "Share of all bits", cell: (part) => <ShareBar share={share(part)} />, width: "medium" },
    { key: "share", title: "Share", cell: (part) => percent(share(part)), isNumber: true },
    { key: "bits", title: "Bits", cell: ({ mbps }) => bitRate(mbps), isNumber: true },
    { key: "packets", title: "Packets", cell: ({ pps }) => packetRate(pps), isNumber: true, width: "wide" },
  ];
}

function ShareBar({ share }: { readonly share: number }) {
  return (
    <div class="share-bar" aria-hidden="true">
      <div class="rate-fill" style={{ width: `${100 * share}%` }} />
    </div>
  );
}
