/** The hosts with the most traffic, and the largest sources and ports of the attacks in progress. */
import type { HostsWire, HostWire } from "../../../src/http/wire/traffic/host.ts";
import { attacks } from "../../api/live.ts";
import { useResource } from "../../api/resource.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { BUSIEST_SHOWN, type Busy, busiest } from "../../text/busiest.ts";
import { bitRate, packetRate } from "../../text/format/numbers.ts";
import { attackSubject } from "../../text/mitigation.ts";

const EVERY_MS = 4000;

const HOST_COLUMNS: readonly Column<HostWire>[] = [
  { key: "target", title: "Host", cell: ({ target }) => <a href={linkTo(["hosts", target])}>{target}</a> },
  { key: "bits", title: "Bits", cell: ({ rates }) => bitRate(rates.mbps), isNumber: true },
  {
    key: "state",
    title: "State",
    cell: ({ in_attack: isAttacked }) => (isAttacked ? <Badge tone="danger">attack</Badge> : "–"),
  },
];

export function BusiestPanel() {
  const path = `/api/v1/hosts?${new URLSearchParams({ sort: "-mbps", limit: String(BUSIEST_SHOWN) })}`;
  const hosts = useResource<HostsWire>(path, EVERY_MS);
  return (
    <Panel title="Busiest now" isWide>
      <div class="pair">
        <div>
          <h3>Hosts</h3>
          <Show loaded={hosts.state.value} what="hosts" onRetry={() => void hosts.refresh()}>
            {({ hosts: rows }) =>
              rows.length === 0 ? (
                <Empty title="No host has traffic" />
              ) : (
                <DataTable label="Busiest hosts" columns={HOST_COLUMNS} rows={rows} rowKey={({ target }) => target} />
              )
            }
          </Show>
        </div>
        <OfAttacks what="sources" title="Sources of attacks" column="Source" />
        <OfAttacks what="fromPorts" title="Source ports of attacks" column="Port" />
        <OfAttacks what="toPorts" title="Destination ports of attacks" column="Port" />
      </div>
    </Panel>
  );
}

interface OfAttacksProps {
  readonly what: Parameters<typeof busiest>[1];
  readonly title: string;
  readonly column: string;
}

function OfAttacks({ what, title, column }: OfAttacksProps) {
  const { value } = attacks;
  const rows = value.kind === "ready" ? busiest(value.data.active, what) : [];
  if (rows.length === 0) return null;
  const columns: readonly Column<Busy>[] = [
    { key: "key", title: column, cell: ({ key }) => key },
    { key: "pps", title: "Packets, about", cell: ({ pps }) => packetRate(pps), isNumber: true },
    {
      key: "attack",
      title: "Most on",
      cell: ({ attack }) => <a href={linkTo(["attacks", attack.id])}>{attackSubject(attack)}</a>,
    },
  ];
  return (
    <div>
      <h3>{title}</h3>
      <DataTable label={title} columns={columns} rows={rows} rowKey={({ key }) => key} />
    </div>
  );
}
