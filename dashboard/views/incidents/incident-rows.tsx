/** Incidents as rows, of the list and of the overview: a thousand victims are one row that leads to its attacks. */
import type { IncidentRowWire } from "../../../src/http/wire/incident.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { momentColumn, numberColumn, sinceColumn, textColumn } from "../../parts/columns.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, packetRate, percent, plusMinus } from "../../text/format/numbers.ts";
import {
  attacksText,
  byText,
  incidentTitle,
  SEVERITY_TONES,
  STATE_WORDS,
  stoppedOf,
  sumMark,
  verdictText,
  victimsText,
} from "../../text/incidents.ts";
import { SEVERITIES } from "../../text/interface-words.ts";
import type { Sort } from "../../text/table-order.ts";

type Row = IncidentRowWire;

const TITLE: Column<Row> = {
  key: "title",
  title: t`Incident`,
  cell: (row) => <a href={linkTo(["incidents", row.id])}>{incidentTitle(row)}</a>,
  order: incidentTitle,
};

/** Active ones first; of one state as they come, the newest first. */
export const FIRST_SORT: Sort = { key: "state", isDescending: false };
const STATES = Object.keys(STATE_WORDS);

const STATE: Column<Row> = {
  key: "state",
  title: t`State`,
  cell: ({ state, open_handovers: open }) => (
    <>
      <Badge tone={STATE_WORDS[state].tone}>{STATE_WORDS[state].text}</Badge>
      {open > 0 && (
        <>
          {" "}
          <Badge tone="info">{t`hand-over`}</Badge>
        </>
      )}
    </>
  ),
  order: ({ state }) => STATES.indexOf(state),
};

const SIZE: readonly Column<Row>[] = [
  {
    key: "victims",
    title: t`Victims`,
    cell: victimsText,
    order: ({ victims }) => victims,
    width: "medium",
  },
  {
    key: "attacks",
    title: t`Attacks`,
    cell: attacksText,
    order: ({ attacks }) => attacks,
    isNumber: true,
    width: "medium",
  },
  numberColumn(t`Peak`, ({ peak_mbps }) => peak_mbps, {
    format: (rate, row) => bitRate(rate) + plusMinus(row.peak_sampling_error),
  }),
  numberColumn(t`Peak packets`, ({ peak_pps }) => peak_pps, {
    format: (rate, row) => packetRate(rate) + plusMinus(row.peak_sampling_error),
    width: "wider",
  }),
  numberColumn(t`Stopped here`, stoppedOf, {
    format: (share, row) => sumMark(row) + percent(share),
    width: "wider",
  }),
  {
    key: "severity",
    title: t`Severity`,
    cell: ({ severity }) =>
      severity === undefined ? "–" : <Badge tone={SEVERITY_TONES[severity]}>{SEVERITIES[severity]}</Badge>,
    order: ({ severity }) => ["low", "medium", "high", "critical"].indexOf(severity ?? ""),
    width: "wide",
  },
];

const OWNER = textColumn<Row>(
  t`Owner`,
  ({ owner }) => (owner === undefined ? undefined : byText(owner, !isUnscoped())),
  "widest",
);

export const INCIDENT_COLUMNS: readonly Column<Row>[] = [
  TITLE,
  STATE,
  ...SIZE,
  OWNER,
  textColumn(t`Classified as`, verdictText, "widest"),
  momentColumn(t`Began`, ({ started_at }) => started_at, "wide"),
  momentColumn(t`Ended`, ({ ended_at }) => ended_at, "widest"),
];

/** Those that are going on. */
export const ACTIVE_COLUMNS: readonly Column<Row>[] = [
  TITLE,
  ...SIZE,
  OWNER,
  sinceColumn(t`Duration`, ({ started_at }) => started_at),
];
