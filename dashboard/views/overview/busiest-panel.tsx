/** The hosts with the most traffic, and the largest sources and ports of the attacks of the range. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { HostsWire, HostWire } from "../../../src/http/wire/traffic/host.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { within } from "../../text/attack-spans.ts";
import { BUSIEST_SHOWN, type Busy, busiest } from "../../text/busiest.ts";
import { bitRate, packetRate } from "../../text/format/numbers.ts";
import { FIRST_RANGE, type Range, rangeSpan, titleRange } from "../../text/format/ranges.ts";
import { attackSubject } from "../../text/mitigation.ts";

const EVERY_MS = 4000;

const HOST_COLUMNS: readonly Column<HostWire>[] = [
  { key: "target", title: t`Host`, cell: ({ target }) => <a href={linkTo(["hosts", target])}>{target}</a> },
  { key: "bits", title: t`Bits`, cell: ({ rates }) => bitRate(rates.mbps), isNumber: true },
  {
    key: "state",
    title: t`State`,
    cell: ({ in_attack: isAttacked }) => (isAttacked ? <Badge tone="danger">{t`attack`}</Badge> : "–"),
  },
];

interface BusiestPanelProps {
  readonly range: Range;
  /** Those of the range that the filter keeps, and some from after it. */
  readonly attacks: readonly AttackWire[];
  readonly isFiltered: boolean;
}

export function BusiestPanel({ range, attacks, isFiltered }: BusiestPanelProps) {
  const isNow = range === FIRST_RANGE;
  const shown = useMemo(
    () => (isNow ? attacks.filter(({ active }) => active) : within(attacks, rangeSpan(range, serviceNow()))),
    [range, attacks],
  );
  return (
    <Panel title={isNow ? t`Busiest now` : t`Busiest ${titleRange(range)}`} isWide>
      <div class="pair">
        {isNow && !isFiltered ? (
          <BusiestHosts />
        ) : (
          <p class="muted">{t`The busiest hosts are known of now and without a filter only; the rest is of the attacks.`}</p>
        )}
        <OfAttacks attacks={shown} what="sources" title={t`Sources of attacks`} column={t`Source`} />
        <OfAttacks attacks={shown} what="fromPorts" title={t`Source ports of attacks`} column={t`Port`} />
        <OfAttacks attacks={shown} what="toPorts" title={t`Destination ports of attacks`} column={t`Port`} />
      </div>
    </Panel>
  );
}

function BusiestHosts() {
  const path = `/api/v1/hosts?${new URLSearchParams({ sort: "-mbps", limit: String(BUSIEST_SHOWN) })}`;
  const hosts = useResource<HostsWire>(path, EVERY_MS);
  return (
    <div>
      <h3>{t`Hosts`}</h3>
      <Show loaded={hosts.state.value} what={t`hosts`} onRetry={() => void hosts.refresh()}>
        {({ hosts: rows }) =>
          rows.length === 0 ? (
            <Empty title={t`No host has traffic`} />
          ) : (
            <DataTable label={t`Busiest hosts`} columns={HOST_COLUMNS} rows={rows} rowKey={({ target }) => target} />
          )
        }
      </Show>
    </div>
  );
}

interface OfAttacksProps {
  readonly attacks: readonly AttackWire[];
  readonly what: Parameters<typeof busiest>[1];
  readonly title: string;
  readonly column: string;
}

function OfAttacks({ attacks, what, title, column }: OfAttacksProps) {
  const rows = useMemo(() => busiest(attacks, what), [attacks, what]);
  if (rows.length === 0) return null;
  const columns: readonly Column<Busy>[] = [
    { key: "key", title: column, cell: ({ key }) => key },
    { key: "pps", title: t`Packets, about`, cell: ({ pps }) => packetRate(pps), isNumber: true },
    {
      key: "attack",
      title: t`Most on`,
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
