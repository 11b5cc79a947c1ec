/** The ports that take flow records: what arrives, and what could not be taken. */
import type { TelemetryWire } from "../../../src/http/wire/telemetry.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout } from "../../parts/callout.tsx";
import { numberColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { byteCount, percent, scaled } from "../../text/format/numbers.ts";

type Listener = TelemetryWire["listeners"][number];

const COLUMNS: readonly Column<Listener>[] = [
  { key: "listen", title: t`Port`, cell: ({ listen }) => listen },
  {
    key: "state",
    title: t`State`,
    cell: ({ error }) =>
      error === undefined ? <Badge tone="ok">{t`receives`}</Badge> : <Badge tone="danger">{t`does not receive`}</Badge>,
  },
  numberColumn(t`Datagrams`, ({ datagrams }) => datagrams, { format: scaled }),
  numberColumn(t`Lost`, ({ lost_datagrams: lost }) => lost, { format: scaled }),
  numberColumn(t`Of others`, ({ refused_datagrams: refused }) => refused, { format: scaled, width: "medium" }),
  {
    key: "buffer",
    title: t`Receive buffer`,
    cell: ({ receive_buffer_bytes: all, receive_buffer_used_bytes: used }) =>
      all === 0 ? "–" : t`${percent(used / all)} of ${byteCount(all)}`,
    isNumber: true,
    width: "medium",
  },
];

export function Listeners({ listeners }: { readonly listeners: readonly Listener[] }) {
  const refused = [...new Set(listeners.flatMap((one) => one.refused_addresses))];
  return (
    <Panel title={t`Ports`}>
      {listeners.map(({ listen, error }) =>
        error === undefined ? null : (
          <Callout key={listen} tone="danger" title={t`${listen} receives nothing`}>
            {error}
          </Callout>
        ),
      )}
      {listeners.some(({ lost_datagrams: lost }) => lost > 0) && (
        <Callout
          tone="warn"
          title={t`Datagrams did not fit into the receive buffer`}
        >{tx`Raise ${<code>telemetry.listen.receive_buffer_mb</code>} or ${<code>threads</code>}, and restart Floodwall.`}</Callout>
      )}
      {refused.length > 0 && (
        <Callout
          tone="info"
          title={t`Others send too, and are dropped`}
        >{tx`Add those that are yours to ${<code>telemetry.exporters</code>}: ${refused.join(", ")}.`}</Callout>
      )}
      <DataTable label={t`Ports`} columns={COLUMNS} rows={listeners} rowKey={({ listen }) => listen} />
    </Panel>
  );
}
