/** One customer: what is going on, what was before, what was done about it, and what the customer sees of it. */
import { useState } from "preact/hooks";
import type { IncidentsWire } from "../../../src/http/wire/incident.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { numberColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { MonthReportButton } from "../../parts/month-report.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ShareButton } from "../../parts/share-button.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { byDay, type Customer, customerPath, type Day, incidentsOf, trendText } from "../../text/customers.ts";
import { bitRate, plusMinus } from "../../text/format/numbers.ts";
import { ACTIVE_COLUMNS, FIRST_SORT, INCIDENT_COLUMNS } from "./incident-rows.tsx";

const EVERY_MS = 3000;

export function CustomerPage({ customer }: { readonly customer: Customer }) {
  const read = useResource<IncidentsWire>(customerPath(customer), EVERY_MS);
  const [sort, setSort] = useState(FIRST_SORT);
  const { kind, name } = customer;
  return (
    <>
      <p>
        <a href={linkTo(["incidents"])}>{t`All incidents`}</a>
      </p>
      <Show loaded={read.state.value} what={t`incidents of the customer`} onRetry={() => void read.refresh()}>
        {({ incidents: all, next }) => {
          const incidents = incidentsOf(customer, all);
          const active = incidents.filter(({ state }) => state === "active");
          return (
            <div class="overview">
              <Panel
                title={t`${name} now`}
                isWide
                actions={
                  <div class="panel-actions">
                    <MonthReportButton customer={customer} />
                    <ShareButton kind={kind} of={name} />
                  </div>
                }
              >
                <p>{t`Attacks: ${trendText(incidents, serviceNow())}.`}</p>
                {active.length === 0 ? (
                  <Empty title={t`No attack now`} />
                ) : (
                  <DataTable label={t`Now`} columns={ACTIVE_COLUMNS} rows={active} rowKey={({ id }) => id} />
                )}
              </Panel>
              <Panel title={t`By day`}>
                <DataTable label={t`By day`} columns={DAY_COLUMNS} rows={byDay(incidents)} rowKey={({ day }) => day} />
              </Panel>
              <Panel title={t`What the customer sees`}>
                <Seen customer={customer} />
              </Panel>
              <Panel title={t`Incidents, and what was done`} isWide>
                <DataTable
                  label={t`Incidents of the customer`}
                  columns={INCIDENT_COLUMNS}
                  rows={incidents}
                  rowKey={({ id }) => id}
                  sort={sort}
                  onSort={setSort}
                />
                {next !== undefined && <p class="muted">{t`All of this is of the newest ${all.length} incidents.`}</p>}
              </Panel>
              {kind === "hostgroup" && isUnscoped() && (
                <p>
                  <a href={linkTo(["settings", name])}>{t`Configuration of the hostgroup`}</a>
                </p>
              )}
            </div>
          );
        }}
      </Show>
    </>
  );
}

const DAY_COLUMNS: readonly Column<Day>[] = [
  { key: "day", title: t`Day`, cell: ({ day }) => day },
  numberColumn(t`Incidents`, ({ incidents }) => incidents),
  numberColumn(t`Attacks`, ({ attacks }) => attacks),
  numberColumn(t`Peak`, ({ peakMbps }) => peakMbps, {
    format: (rate, { peakError }) => bitRate(rate) + plusMinus(peakError),
  }),
];

function Seen({ customer: { kind, name } }: { readonly customer: Customer }) {
  if (!isUnscoped()) return <p>{t`This page. Notes and names of operators are not on it.`}</p>;
  if (kind === "hostgroup") {
    return <p>{t`Nothing: no tenant owns this hostgroup, so no token of a customer reads it.`}</p>;
  }
  return (
    <p>{t`Tokens with the tenant ${name} see these incidents and attacks, what was decided and when, and the notes of their own. They see neither your notes and names nor the share of the link.`}</p>
  );
}
