/** The page of a shared link, for people without a token: one attack, incident or customer, read only. */
import type { AttackWire } from "../src/http/wire/attack.ts";
import type { SharedWire } from "../src/http/wire/guest-link.ts";
import type { IncidentRowWire, IncidentWire } from "../src/http/wire/incident.ts";
import { SHARED_INCIDENTS_MAX } from "../src/limits.ts";
import { serviceNow } from "./api/contact.ts";
import { useShared } from "./api/guest-links.ts";
import { t } from "./language.ts";
import { Badge } from "./parts/badge.tsx";
import { Callout, Empty } from "./parts/callout.tsx";
import { Chart } from "./parts/chart.tsx";
import { momentColumn, numberColumn, textColumn } from "./parts/columns.tsx";
import { type Column, DataTable } from "./parts/data-table.tsx";
import { LanguageChoice } from "./parts/language-choice.tsx";
import { Moment } from "./parts/moment.tsx";
import { Facts, Panel } from "./parts/panel.tsx";
import { drawnPoints, outcomesOf } from "./text/attack-chart.ts";
import { volumeFacts } from "./text/attack-size.ts";
import { summaryText } from "./text/attack-summary.ts";
import { trendText } from "./text/customers.ts";
import { failureText } from "./text/failure.ts";
import { bitRate, packetRate, plusMinus, rateOf } from "./text/format/numbers.ts";
import { attacksText, incidentTitle, STATE_WORDS, victimsText } from "./text/incidents.ts";
import { attackSubject } from "./text/mitigation.ts";
import { afterFirst, entryText, entryTitle, type FoldedEntry, foldedEntries } from "./text/timeline.ts";

export function SharedPage({ secret }: { readonly secret: string }) {
  const shown = useShared(secret);
  return (
    <main class="content shared">
      <header class="panel-head">
        <h1>Floodwall</h1>
        <LanguageChoice />
      </header>
      {shown.kind === "loading" && <p role="status">{t`Connecting to Floodwall …`}</p>}
      {shown.kind === "failed" && <Failed failure={shown.failure} />}
      {shown.kind === "ready" && <Shown shared={shown.data} />}
    </main>
  );
}

function Failed({ failure }: { readonly failure: Parameters<typeof failureText>[0] }) {
  return failure.kind === "refused" && failure.status === 401 ? (
    <Empty
      title={t`The link shows nothing`}
    >{t`It has expired or was ended. Ask the one who gave it to you for another.`}</Empty>
  ) : (
    <Callout tone="danger" title={t`Not shown`}>
      {failureText(failure)}
    </Callout>
  );
}

function Shown({ shared }: { readonly shared: SharedWire }) {
  const { attack, incident, incidents = [], expires_at: expires } = shared;
  return (
    <div class="overview">
      {attack !== undefined ? (
        <Attack attack={attack} shared={shared} />
      ) : incident !== undefined ? (
        <Incident incident={incident} />
      ) : (
        <Panel title={t`Incidents`} isWide>
          <p>{t`Attacks: ${trendText(incidents, serviceNow())}.`}</p>
          <DataTable label={t`Incidents`} columns={INCIDENTS} rows={incidents} rowKey={({ id }) => id} />
          {incidents.length >= SHARED_INCIDENTS_MAX && (
            <p class="muted">{t`All of this is of the newest ${incidents.length} incidents.`}</p>
          )}
        </Panel>
      )}
      <p class="muted">
        {t`This link works until`} <Moment at={expires} />
      </p>
    </div>
  );
}

function Attack({ attack, shared }: { readonly attack: AttackWire; readonly shared: SharedWire }) {
  const { started_at: detected, ended_at: ended, volume, active } = attack;
  const { times, points } = drawnPoints(shared.series?.points ?? []);
  const outcomes = outcomesOf(attack.metric, points);
  const entries = foldedEntries(shared.timeline?.entries ?? []);
  const [first] = entries;
  return (
    <>
      <Panel title={t`Attack on ${attackSubject(attack)}`} isWide>
        <p class="attack-summary">{summaryText(attack, null)}</p>
        <Facts
          facts={[
            [t`State`, active ? <Badge tone="danger">{t`in progress`}</Badge> : <Badge tone="none">{t`ended`}</Badge>],
            [t`Detected`, <Moment at={detected} />],
            ended === undefined ? null : [t`Ended`, <Moment at={ended} />],
            ...(volume === undefined ? [] : volumeFacts(volume, serviceNow(), attack.scope)),
          ]}
        />
      </Panel>
      {points.length > 0 && (
        <Panel title={t`Traffic`} isWide>
          <Chart
            label={t`Traffic of the attack`}
            times={times}
            series={[
              { label: t`Offered`, values: points.map((point) => point?.rate ?? null), color: "--chart-rate" },
              ...(outcomes === null ? [] : [{ label: t`Passed`, values: outcomes.passed, color: "--chart-tcp" }]),
            ]}
            format={(value) => rateOf(attack.metric, value)}
          />
        </Panel>
      )}
      {first !== undefined && (
        <Panel title={t`What was done`} isWide>
          <DataTable label={t`What was done`} columns={timelineColumns(first)} rows={entries} rowKey={({ at }) => at} />
        </Panel>
      )}
    </>
  );
}

function timelineColumns(first: FoldedEntry): readonly Column<FoldedEntry>[] {
  return [
    momentColumn(t`Time`, ({ at }) => at),
    textColumn(t`After`, (entry) => afterFirst(entry, first), "medium"),
    textColumn(t`What`, entryTitle),
    textColumn(t`Details`, entryText, "medium"),
  ];
}

function Incident({ incident }: { readonly incident: IncidentWire }) {
  return (
    <>
      <Panel title={incidentTitle(incident)} isWide>
        <DataTable label={t`Incident`} columns={INCIDENTS} rows={[incident]} rowKey={({ id }) => id} />
      </Panel>
      <Panel title={t`Attacks`} isWide>
        <DataTable label={t`Attacks`} columns={MEMBERS} rows={incident.members} rowKey={({ id }) => id} />
      </Panel>
    </>
  );
}

type Member = IncidentWire["members"][number];

const MEMBERS: readonly Column<Member>[] = [
  textColumn(t`Victim`, ({ victim }) => victim ?? t`the hostgroup`),
  numberColumn(t`Peak`, ({ peak_mbps: mbps }) => mbps, { format: bitRate }),
  numberColumn(t`Peak packets`, ({ peak_pps: pps }) => pps, { format: packetRate, width: "medium" }),
  momentColumn(t`Detected`, ({ started_at: at }) => at),
  momentColumn(t`Ended`, ({ ended_at: at }) => at, "medium"),
];

const INCIDENTS: readonly Column<IncidentRowWire>[] = [
  textColumn(t`Incident`, incidentTitle),
  {
    key: "state",
    title: t`State`,
    cell: ({ state }) => <Badge tone={STATE_WORDS[state].tone}>{STATE_WORDS[state].text}</Badge>,
  },
  textColumn(t`Victims`, victimsText, "medium"),
  textColumn(t`Attacks`, attacksText, "medium"),
  numberColumn(t`Peak`, ({ peak_mbps: mbps }) => mbps, {
    format: (mbps, { peak_sampling_error: error }) => bitRate(mbps) + plusMinus(error),
  }),
  momentColumn(t`Began`, ({ started_at: at }) => at),
  momentColumn(t`Ended`, ({ ended_at: at }) => at, "medium"),
];
