/** One incident: how large it was and of whom, who works on it, and its attacks. */
import { useMemo } from "preact/hooks";
import type { IncidentWire } from "../../../src/http/wire/incident.ts";
import { useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { momentColumn, numberColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment, Since } from "../../parts/moment.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { ShareButton } from "../../parts/share-button.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { amountText } from "../../text/attack-size.ts";
import { customerOf, customerSteps } from "../../text/customers.ts";
import { bitRate, packetRate, percent, plusMinus } from "../../text/format/numbers.ts";
import { subjectOrder } from "../../text/format/subject-order.ts";
import { counted } from "../../text/format/words.ts";
import {
  attacksText,
  byText,
  incidentPath,
  incidentTitle,
  kindText,
  type MemberWire,
  STATE_WORDS,
  severityText,
  stoppedOf,
  sumMark,
  VERDICTS,
  victimsText,
} from "../../text/incidents.ts";
import { customerText } from "../../text/mitigation.ts";
import { IncidentActions } from "./incident-actions.tsx";
import { IncidentNotes } from "./incident-notes.tsx";

const EVERY_MS = 2000;

export function IncidentDetail({ id }: { readonly id: string }) {
  const read = useResource<IncidentWire>(incidentPath(id), EVERY_MS);
  const onChanged = () => void read.refresh();
  return (
    <>
      <p>
        <a href={linkTo(["incidents"])}>{t`All incidents`}</a>
      </p>
      <Show loaded={read.state.value} what={t`incident`} onRetry={onChanged}>
        {(incident) => (
          <div class="overview">
            <Panel
              title={incidentTitle(incident)}
              isWide
              actions={
                <div class="choices">
                  <ShareButton kind="incident" of={incident.id} />
                  <IncidentActions incident={incident} onChanged={onChanged} />
                </div>
              }
            >
              <Head incident={incident} />
            </Panel>
            <IncidentNotes incident={incident} onChanged={onChanged} />
            <Networks incident={incident} />
            <Attacks incident={incident} />
          </div>
        )}
      </Show>
    </>
  );
}

interface Props {
  readonly incident: IncidentWire;
}

function Head({ incident }: Props) {
  const { state, started_at: began, ended_at: ended, owner, acknowledged, classification } = incident;
  const { worst_attack: worst, peak_sampling_error: error, packets, bits, attacks_not_counted: uncounted } = incident;
  const isTenant = !isUnscoped();
  const stopped = stoppedOf(incident);
  const severity = severityText(incident);
  return (
    <div class="columns">
      <Facts
        facts={[
          [t`State`, <Badge tone={STATE_WORDS[state].tone}>{STATE_WORDS[state].text}</Badge>],
          [t`Began`, <Moment at={began} />],
          ended === undefined ? [t`Duration`, <Since at={began} />] : [t`Last attack ended`, <Moment at={ended} />],
          [t`Customer`, <a href={linkTo(customerSteps(customerOf(incident)))}>{customerText(incident)}</a>],
          [t`Kind`, kindText(incident)],
        ]}
      />
      <Facts
        facts={[
          [t`Victims`, victimsText(incident)],
          [t`Attacks`, attacksText(incident)],
          [t`Peak`, `${bitRate(incident.peak_mbps)}, ${packetRate(incident.peak_pps)}${plusMinus(error)}`],
          packets === undefined || bits === undefined
            ? [t`Size`, t`not known of each attack`]
            : [t`Size`, sumMark(incident) + amountText(packets, bits)],
          uncounted === undefined
            ? null
            : [t`Not counted`, t`in part: ${counted(uncounted, "attack")}, while Floodwall did not run`],
          [t`Stopped here`, stopped === undefined ? t`not known of each attack` : sumMark(incident) + percent(stopped)],
          severity === undefined ? null : [t`Severity`, severity],
          worst === undefined ? null : [t`Worst`, <a href={linkTo(["attacks", worst])}>{t`the largest attack`}</a>],
        ]}
      />
      <Facts
        facts={[
          [t`Owner`, owner === undefined ? t`nobody` : <Who deed={owner} isTenant={isTenant} />],
          [t`Acknowledged`, acknowledged === undefined ? t`no` : <Who deed={acknowledged} isTenant={isTenant} />],
          classification === undefined
            ? [t`Classified as`, t`not yet`]
            : [
                t`Classified as`,
                tx`${VERDICTS[classification.is]}, by ${<Who deed={classification} isTenant={isTenant} />}`,
              ],
        ]}
      />
    </div>
  );
}

interface WhoProps {
  readonly deed: NonNullable<IncidentWire["owner"]>;
  readonly isTenant: boolean;
}

function Who({ deed, isTenant }: WhoProps) {
  return (
    <>
      {byText(deed, isTenant)}, <Moment at={deed.at} />
    </>
  );
}

type Prefix = IncidentWire["prefixes"][number];

const NETWORK_COLUMNS: readonly Column<Prefix>[] = [
  { key: "prefix", title: t`Network`, cell: ({ prefix }) => prefix, order: ({ prefix }) => subjectOrder(prefix) },
  numberColumn(t`Victims`, ({ victims }) => victims),
];

function Networks({ incident: { prefixes, prefix_count: count } }: Props) {
  if (prefixes.length === 0) return null;
  return (
    <Panel title={t`Networks`}>
      <DataTable label={t`Networks`} columns={NETWORK_COLUMNS} rows={prefixes} rowKey={({ prefix }) => prefix} />
      {count > prefixes.length && <p class="muted">{t`The ${prefixes.length} with most victims, of ${count}.`}</p>}
    </Panel>
  );
}

const MEMBER_COLUMNS: readonly Column<MemberWire>[] = [
  {
    key: "victim",
    title: t`Victim`,
    cell: ({ id, victim }) => <a href={linkTo(["attacks", id])}>{victim ?? t`the hostgroup`}</a>,
    order: ({ victim }) => subjectOrder(victim ?? ""),
  },
  {
    key: "state",
    title: t`State`,
    cell: ({ active }) => <Badge tone={active ? "danger" : "none"}>{active ? t`in progress` : t`ended`}</Badge>,
    order: ({ active }) => (active ? 0 : 1),
  },
  numberColumn(t`Peak`, ({ peak_mbps }) => peak_mbps, { format: bitRate }),
  numberColumn(t`Peak packets`, ({ peak_pps }) => peak_pps, { format: packetRate, width: "medium" }),
  momentColumn(t`Detected`, ({ started_at }) => started_at, "medium"),
  momentColumn(t`Ended`, ({ ended_at }) => ended_at, "wide"),
];

/** Those in progress first, of these the largest. */
const FIRST_SORT = { key: "state", isDescending: false };

function Attacks({ incident: { members, attacks } }: Props) {
  const rows = useMemo(() => members.toSorted((a, b) => b.peak_mbps - a.peak_mbps), [members]);
  return (
    <Panel title={t`Attacks`} isWide>
      <SearchedTable
        label={t`Attacks of the incident`}
        what={t`attack`}
        placeholder={t`address`}
        isCounted
        columns={MEMBER_COLUMNS}
        rows={rows}
        rowKey={({ id }) => id}
        textOf={({ victim = "" }) => victim}
        firstSort={FIRST_SORT}
      />
      {attacks > members.length && (
        <p class="muted">{t`${members.length} of ${attacks}: those that ended first are not listed any more.`}</p>
      )}
    </Panel>
  );
}
