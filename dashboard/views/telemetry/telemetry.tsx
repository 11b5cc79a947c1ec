/** The exporters of flow telemetry: who sends, how much, what is lost and what is wrong; and the view of one. */
import type { ExporterWire, TelemetryWire } from "../../../src/http/wire/telemetry.ts";
import { useResource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { momentColumn, numberColumn } from "../../parts/columns.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { now } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, packetRate, percent } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { counted } from "../../text/format/words.ts";
import {
  ageOf,
  exporterName,
  exporterOrder,
  exporterWord,
  protocolsText,
  recordRate,
  STALE_SECONDS,
  samplingText,
} from "../../text/telemetry.ts";
import type { ViewProps } from "../../view.ts";
import { ExporterDetail } from "./exporter-detail.tsx";
import { Listeners } from "./listeners.tsx";
import { telemetryPath } from "./telemetry-path.ts";

const EVERY_MS = 3000;

export function Telemetry({ steps }: ViewProps) {
  const [address, listen] = steps;
  const read = useResource<TelemetryWire>(telemetryPath(address, listen), EVERY_MS);
  return (
    <Show loaded={read.state.value} what={t`exporters`} onRetry={() => void read.refresh()}>
      {(telemetry) => {
        if (!telemetry.enabled) return <NoTelemetry />;
        return (
          <>
            <Stale telemetry={telemetry} />
            {address === undefined ? (
              <Lists telemetry={telemetry} />
            ) : (
              <ExporterDetail
                address={address}
                exporter={telemetry.exporters.find((one) => one.address === address && one.listen === listen)}
              />
            )}
          </>
        );
      }}
    </Show>
  );
}

/** The rates of a moment that is over are not those of now. */
function Stale({ telemetry }: { readonly telemetry: TelemetryWire }) {
  const age = ageOf(telemetry, now.value);
  if (age === null) return <Callout tone="info" title={t`The exporters have not been read yet`} />;
  if (age < STALE_SECONDS) return null;
  return (
    <Callout
      tone="warn"
      title={t`This is the state of ${duration(age)} ago`}
    >{t`Nothing newer is known: the service does not read its exporters, or this page does not reach it.`}</Callout>
  );
}

const COLUMNS: readonly Column<ExporterWire>[] = [
  {
    key: "name",
    title: t`Exporter`,
    cell: (exporter) => <a href={linkToExporter(exporter)}>{exporterName(exporter)}</a>,
    order: exporterName,
  },
  {
    key: "state",
    title: t`State`,
    cell: ({ state }) => <Badge tone={exporterWord(state).tone}>{exporterWord(state).text}</Badge>,
    order: exporterOrder,
  },
  { key: "address", title: t`Address`, cell: ({ address }) => address, order: ({ address }) => address, width: "wide" },
  { key: "protocols", title: t`Protocol`, cell: protocolsText, order: protocolsText, width: "medium" },
  numberColumn(t`Records`, ({ rates }) => rates?.records_per_sec, { format: recordRate, width: "medium" }),
  numberColumn(t`Packets, estimated`, ({ rates }) => rates?.pps, { format: packetRate, width: "medium" }),
  numberColumn(t`Bandwidth, estimated`, ({ rates }) => rates?.mbps, { format: bitRate, width: "wide" }),
  { key: "sampling", title: t`Sampling`, cell: samplingText, isNumber: true, width: "medium" },
  numberColumn(t`Lost`, ({ loss }) => loss, { format: percent, width: "wide" }),
  momentColumn(t`Last datagram`, (exporter) => exporter.last_seen, "wide"),
];

function linkToExporter({ address, listen }: ExporterWire): string {
  return linkTo(["telemetry", address, ...(listen === undefined ? [] : [listen])]);
}

function Lists({ telemetry: { exporters, listeners } }: { readonly telemetry: TelemetryWire }) {
  const faulty = exporters.filter(({ faults }) => faults.length > 0);
  return (
    <>
      <Panel title={counted(exporters.length, "exporter")}>
        {faulty.length > 0 && (
          <Callout
            tone="warn"
            title={faulty.length === 1 ? t`1 exporter has a fault` : t`${faulty.length} exporters have a fault`}
          >{t`Attacks that only they see are found late, too small or not at all. Choose one to see what to do.`}</Callout>
        )}
        <SearchedTable
          label={t`Exporters`}
          what={t`exporter`}
          placeholder={t`name, address, silent, sFlow`}
          isCounted
          columns={COLUMNS}
          rows={exporters}
          rowKey={({ address, listen }) => `${listen} ${address}`}
          firstSort={{ key: "state", isDescending: false }}
          textOf={(exporter) =>
            [exporterName(exporter), exporter.address, exporterWord(exporter.state).text, protocolsText(exporter)].join(
              " ",
            )
          }
        />
      </Panel>
      <Listeners listeners={listeners} />
    </>
  );
}

function NoTelemetry() {
  return (
    <Empty
      title={t`No flow telemetry`}
    >{tx`Floodwall can take sFlow, NetFlow and IPFIX from routers, in place of packets or beside them. Run ${<code>floodwall telemetry</code>} on its machine: it listens for a minute and prints the lines of the configuration for the routers that it hears.`}</Empty>
  );
}
