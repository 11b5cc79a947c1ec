/** The audit trail: who gave which command, and the result. */
import { useMemo, useState } from "preact/hooks";
import type { AuditEventWire, AuditWire } from "../../../src/http/wire/audit.ts";
import { HISTORY_ROWS_MAX } from "../../../src/limits.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { formFor, t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Callout, Empty, StorageOff, type Tone, WrongFilter } from "../../parts/callout.tsx";
import { saveCsv } from "../../parts/csv-file.ts";
import { CutText } from "../../parts/cut-text.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { useRightPath } from "../../parts/span-fields.tsx";
import { place, setQuery } from "../../router.ts";
import {
  AUDIT_ACTIONS,
  AUDIT_RESULTS,
  actorText,
  auditCsv,
  auditPath,
  auditReason,
  auditTarget,
  eventMs,
} from "../../text/audit.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { AuditAbout } from "./audit-about.tsx";
import { AuditFilterFields, filtersOf } from "./audit-filters.tsx";

/** A range that ends now moves along with the time. */
const POLL_MS = 10_000;

export function Audit() {
  const filters = filtersOf(place.value.query);
  const key = JSON.stringify(filters);
  const [wrong, setWrong] = useState({ span: false, target: false });
  const isWrong = wrong.span || wrong.target;
  // The range starts at the time when it was chosen.
  const path = useMemo(() => auditPath(filters, serviceNow()), [key]);
  const isUpToNow = filters.span.kind === "last" || filters.span.to === null;
  const trail = useResource<AuditWire>(useRightPath(path, filters.span), isUpToNow ? POLL_MS : 0);
  const { value } = trail.state;
  const events = value.kind === "ready" ? value.data.events : [];
  return (
    <Panel
      title={t`Commands and their results`}
      actions={
        !isWrong &&
        events.length > 0 && (
          <Button
            onClick={() => saveCsv("audit", auditCsv(events, events.length >= HISTORY_ROWS_MAX))}
          >{t`Export as CSV`}</Button>
        )
      }
    >
      <AuditFilterFields
        filters={filters}
        onWrong={(field, isWrong) => setWrong((before) => ({ ...before, [field]: isWrong }))}
      />
      {isWrong ? (
        <WrongFilter what={t`events`} />
      ) : (
        <Show loaded={value} what={t`audit trail`} onRetry={() => void trail.refresh()}>
          {(data) => (data.available ? <Events events={data.events} /> : <StorageOff what={t`audit trail`} />)}
        </Show>
      )}
    </Panel>
  );
}

function Events({ events }: { readonly events: readonly AuditEventWire[] }) {
  // Several rows may be identical: their position distinguishes them.
  const rows = useMemo(() => events.map((event, number) => ({ event, number })), [events]);
  const last = events.at(-1);
  if (last === undefined) {
    return <Empty title={t`No events in this time range`}>{t`Choose a longer one, or take a filter away.`}</Empty>;
  }
  const isCut = events.length >= HISTORY_ROWS_MAX;
  return (
    <>
      {isCut && (
        <Callout tone="warn" title={t`These are the newest ${wholeNumber(events.length)}`}>
          <p>{t`There may be older ones in this time: narrow it, filter, or go on with those before.`}</p>
          <Button onClick={() => goBefore(last)}>{t`Older ones`}</Button>
        </Callout>
      )}
      <p
        class="muted"
        role="status"
      >{t`${wholeNumber(events.length)} ${formFor(events.length, "entry|entries")}, newest first`}</p>
      <DataTable label={t`Audit trail`} columns={COLUMNS} rows={rows} rowKey={({ number }) => String(number)} />
    </>
  );
}

/** The second of the last row is read again, so that no row is missing. */
function goBefore(last: AuditEventWire): void {
  setQuery({ range: "own", to: new Date(eventMs(last) + 999).toISOString(), from: ownFrom() });
}

function ownFrom(): string | null {
  const { span } = filtersOf(place.value.query);
  return span.kind === "last" ? new Date(serviceNow() - span.seconds * 1000).toISOString() : span.from;
}

interface Row {
  readonly event: AuditEventWire;
  readonly number: number;
}

/** The id of an incident says nothing to people. */
function Target({ event }: Pick<Row, "event">) {
  return event.action === "incident" ? <AuditAbout event={event} /> : <>{auditTarget(event) || "–"}</>;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "time", title: t`Time`, cell: ({ event }) => <Moment at={new Date(eventMs(event)).toISOString()} /> },
  {
    key: "action",
    title: t`Action`,
    cell: ({ event }) => (
      <>
        {AUDIT_ACTIONS[event.action]}
        <small class="until-medium">
          <Target event={event} />
        </small>
      </>
    ),
  },
  {
    key: "result",
    title: t`Result`,
    cell: ({ event }) => <Badge tone={TONES[event.result]}>{AUDIT_RESULTS[event.result]}</Badge>,
  },
  { key: "target", title: t`Target`, cell: Target, width: "medium" },
  { key: "about", title: t`About`, cell: ({ event }) => <AuditAbout event={event} />, width: "wide" },
  { key: "by", title: t`By`, cell: ({ event }) => actorText(event), width: "medium" },
  {
    key: "reason",
    title: t`Reason`,
    cell: ({ event }) => <CutText text={auditReason(event)} />,
    width: "medium",
  },
  { key: "dry", title: t`Dry run`, cell: ({ event }) => (event.dry_run === 1 ? t`dry run` : "–"), width: "wide" },
];

const TONES: Readonly<Record<AuditEventWire["result"], Tone | "none">> = {
  active: "info",
  blocked: "info",
  set: "info",
  ok: "ok",
  withdrawn: "none",
  removed: "none",
  cleared: "none",
  rejected: "warn",
  error: "danger",
};
