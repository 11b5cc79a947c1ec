/** One exporter: its faults with their remedies, what it sends and says of itself, its interfaces, what is not understood. */
import type { ExporterWire } from "../../../src/http/wire/telemetry.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { numberColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment, Since } from "../../parts/moment.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, packetRate, percent, wholeNumber } from "../../text/format/numbers.ts";
import { capital, counted } from "../../text/format/words.ts";
import { BELIEFS, INTERFACE_ROLE_NAMES, wordOf } from "../../text/interface-words.ts";
import { said } from "../../text/service-words.ts";
import {
  exporterName,
  exporterWord,
  leftOutText,
  originText,
  protocolsText,
  recordRate,
  skewText,
} from "../../text/telemetry.ts";

type Sampling = NonNullable<ExporterWire["sampling"]>[number];
type Interface = NonNullable<ExporterWire["interfaces"]>[number];
type Undecoded = NonNullable<ExporterWire["undecoded"]>[number];

interface ExporterDetailProps {
  readonly address: string;
  readonly exporter: ExporterWire | undefined;
}

export function ExporterDetail({ address, exporter }: ExporterDetailProps) {
  return (
    <>
      <p>
        <a href={linkTo(["telemetry"])}>{t`All exporters`}</a>
      </p>
      {exporter === undefined ? (
        <Empty
          title={t`There is no exporter ${address}`}
        >{t`It was removed from the configuration, or sends to another port.`}</Empty>
      ) : (
        <>
          <Faults exporter={exporter} />
          <div class="masonry">
            <State exporter={exporter} />
            {exporter.listen !== undefined && (
              <>
                <Beliefs beliefs={exporter.beliefs ?? []} />
                <Completeness exporter={exporter} />
                <Samplings samplings={exporter.sampling ?? []} />
                <NotUnderstood exporter={exporter} />
              </>
            )}
          </div>
          {exporter.listen !== undefined && <Interfaces interfaces={exporter.interfaces ?? []} />}
        </>
      )}
    </>
  );
}

function Faults({ exporter: { faults, state } }: { readonly exporter: ExporterWire }) {
  return (
    <>
      {faults.map(({ kind, since, text, remedy }) => (
        <Callout key={kind} tone={tone(kind)} title={`${capital(exporterWord(kind).text)}: ${said(text)}`}>
          <p>{capital(said(remedy))}.</p>
          <p>{tx`Since ${<Moment at={since} />}, for ${<Since at={since} />}.`}</p>
        </Callout>
      ))}
      {state === "standby" && (
        <Callout
          tone="info"
          title={t`Standby`}
        >{t`Another exporter of its site counts. This one takes over if the active exporter goes silent.`}</Callout>
      )}
    </>
  );
}

function Beliefs({ beliefs }: { readonly beliefs: NonNullable<ExporterWire["beliefs"]> }) {
  return (
    <Panel title={t`Taken for`}>
      <Facts facts={beliefs.map(({ about, text }) => [wordOf(BELIEFS, about), text])} />
    </Panel>
  );
}

function tone(state: ExporterWire["state"]): "warn" | "danger" | "info" | "ok" {
  const { tone: of } = exporterWord(state);
  return of === "none" ? "info" : of;
}

function State({ exporter }: { readonly exporter: ExporterWire }) {
  const { address, site, state, listen, last_seen: seen, rates } = exporter;
  const word = exporterWord(state);
  return (
    <Panel title={t`Exporter ${exporterName(exporter)}`}>
      <Facts
        facts={[
          [t`State`, <Badge tone={word.tone}>{word.text}</Badge>],
          [t`Address`, address],
          site === undefined ? null : [t`Site`, site],
          listen === undefined ? null : [t`Sends to`, listen],
          [t`Protocol`, protocolsText(exporter)],
          [t`Last datagram`, seen === undefined ? t`never` : <Moment at={seen} />],
          rates === undefined ? null : [t`Records`, recordRate(rates.records_per_sec)],
          rates === undefined ? null : [t`Of these counted`, recordRate(rates.counted_per_sec)],
          rates === undefined ? null : [t`Traffic, estimated`, `${packetRate(rates.pps)}, ${bitRate(rates.mbps)}`],
          seen === undefined ? null : [t`Its clock`, skewText(exporter.clock_skew_ms)],
        ]}
      />
    </Panel>
  );
}

function Completeness({ exporter }: { readonly exporter: ExporterWire }) {
  const { records = 0, counted_records: own = 0, loss, restarts = 0, reordered_datagrams: reordered = 0 } = exporter;
  const { lost_records: lostRecords = 0, lost_datagrams: lostDatagrams = 0, dropped_samples: dropped = 0 } = exporter;
  const left = leftOutText(exporter);
  return (
    <Panel title={t`What arrives`}>
      <Facts
        facts={[
          [t`Records`, wholeNumber(records)],
          [t`Counted`, wholeNumber(own)],
          left === "" ? null : [t`Left out`, left],
          [t`Lost in the last minute`, loss === undefined ? t`measuring` : percent(loss)],
          [t`Lost so far`, `${counted(lostRecords, "record")}, ${counted(lostDatagrams, "datagram")}`],
          dropped === 0 ? null : [t`Samples that it dropped itself`, wholeNumber(dropped)],
          reordered === 0 ? null : [t`Out of order`, counted(reordered, "datagram")],
          [t`Restarts`, wholeNumber(restarts)],
          ...templateFacts(exporter),
        ]}
      />
    </Panel>
  );
}

function templateFacts(exporter: ExporterWire): (readonly [string, string] | null)[] {
  const { protocols = [], templates = 0, templates_refused: refused = 0, waiting_bytes: waiting = 0 } = exporter;
  if (!protocols.some((protocol) => protocol === "netflow9" || protocol === "ipfix")) return [];
  return [
    [t`Templates`, wholeNumber(templates)],
    refused === 0 ? null : [t`Templates beyond the most`, wholeNumber(refused)],
    waiting === 0 ? null : [t`Waiting for a template`, counted(waiting, "byte")],
  ];
}

const SAMPLING_COLUMNS: readonly Column<Sampling>[] = [
  { key: "domain", title: t`Domain`, cell: ({ domain }) => String(domain) },
  numberColumn(t`Sampler`, ({ sampler }) => sampler),
  {
    key: "rate",
    title: t`One in`,
    cell: ({ rate }) => (rate === undefined ? <Badge tone="danger">{t`not known`}</Badge> : wholeNumber(rate)),
    isNumber: true,
  },
  { key: "origin", title: t`Said by`, cell: ({ origin }) => originText(origin) },
];

function Samplings({ samplings }: { readonly samplings: readonly Sampling[] }) {
  return (
    <Panel title={t`Sampling`}>
      {samplings.length === 0 ? (
        <p class="muted">{t`Nothing is said of it yet.`}</p>
      ) : (
        <DataTable
          label={t`Sampling`}
          columns={SAMPLING_COLUMNS}
          rows={samplings}
          rowKey={({ domain, sampler }) => `${domain} ${sampler}`}
        />
      )}
    </Panel>
  );
}

const UNDECODED_COLUMNS: readonly Column<Undecoded>[] = [
  { key: "reason", title: t`What`, cell: ({ reason }) => reason },
  numberColumn(t`Times`, ({ count }) => count, { format: wholeNumber }),
];

function NotUnderstood({
  exporter: { undecoded = [], event_records: events = 0 },
}: {
  readonly exporter: ExporterWire;
}) {
  return (
    <Panel title={t`Not understood`}>
      {undecoded.length === 0 ? (
        <p class="muted">{t`All of it is understood.`}</p>
      ) : (
        <DataTable
          label={t`Not understood`}
          columns={UNDECODED_COLUMNS}
          rows={undecoded}
          rowKey={({ reason }) => reason}
        />
      )}
      {events > 0 && <p>{t`${counted(events, "record")} count no packet: they report events of a firewall.`}</p>}
    </Panel>
  );
}

const INTERFACE_COLUMNS: readonly Column<Interface>[] = [
  {
    key: "name",
    title: t`Interface`,
    cell: ({ index, name }) => (index === 0 ? t`not said` : (name ?? t`number ${index}`)),
    order: ({ index }) => index,
  },
  textColumn(t`Role`, ({ role }) => (role === "unset" ? undefined : wordOf(INTERFACE_ROLE_NAMES, role))),
  numberColumn(t`Number`, ({ index }) => (index === 0 ? undefined : index), { width: "wide" }),
  numberColumn(t`Packets in`, (one) => one.pps_in, { format: packetRate, width: "medium" }),
  numberColumn(t`Bandwidth in`, (one) => one.mbps_in, { format: bitRate }),
  numberColumn(t`Packets out`, (one) => one.pps_out, { format: packetRate, width: "wide" }),
  numberColumn(t`Bandwidth out`, (one) => one.mbps_out, { format: bitRate, width: "medium" }),
];

function Interfaces({ interfaces }: { readonly interfaces: readonly Interface[] }) {
  return (
    <Panel title={t`Interfaces, estimated`}>
      {interfaces.length === 0 ? (
        <p class="muted">{t`None is known yet.`}</p>
      ) : (
        <DataTable
          label={t`Interfaces`}
          columns={INTERFACE_COLUMNS}
          rows={interfaces}
          rowKey={({ index }) => String(index)}
          firstSort={{ key: t`Bandwidth in`, isDescending: true }}
        />
      )}
    </Panel>
  );
}
