/** The incidents, active ones first, and the view of one. */
import { useState } from "preact/hooks";
import type { IncidentRowWire } from "../../../src/http/wire/incident.ts";
import { useIncidents } from "../../api/incident-list.ts";
import { useKept } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/callout.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { place, setQuery } from "../../router.ts";
import { customerOfSteps } from "../../text/customers.ts";
import { incidentText } from "../../text/incidents.ts";
import type { ViewProps } from "../../view.ts";
import { CustomerPage } from "./customer.tsx";
import { IncidentDetail } from "./incident-detail.tsx";
import { FIRST_SORT, INCIDENT_COLUMNS } from "./incident-rows.tsx";

const STATES = [
  ["all", t`All`],
  ["active", t`Active`],
  ["quiet", t`Quiet`],
  ["closed", t`Closed`],
] as const;
type Which = (typeof STATES)[number][0];

export function Incidents({ steps }: ViewProps) {
  const [id] = steps;
  const customer = customerOfSteps(steps);
  if (customer !== null) return <CustomerPage key={steps.join(" ")} customer={customer} />;
  return id === undefined ? <IncidentList /> : <IncidentDetail key={id} id={id} />;
}

function IncidentList() {
  const { query } = place.value;
  const which = STATES.find(([name]) => name === query.get("state"))?.[0] ?? "all";
  const before = query.get("before");
  const asked = new URLSearchParams({ ...(which !== "all" && { state: which }), ...(before !== null && { before }) });
  const isNewest = ({ state }: IncidentRowWire) => before === null && (which === "all" || state === which);
  const { loaded, refresh } = useIncidents(`/api/v1/incidents?${asked}`, isNewest);
  const [sort, setSort] = useState(FIRST_SORT);
  return (
    <Panel
      title={t`Incidents`}
      actions={
        <Segments<Which>
          label={t`Which incidents`}
          value={which}
          options={STATES}
          onChange={(state) => setQuery({ state: state === "all" ? null : state, before: null })}
        />
      }
    >
      <Show loaded={useKept(loaded)} what={t`incidents`} onRetry={() => void refresh()}>
        {({ incidents, next }) => (
          <>
            {incidents.length === 0 ? (
              <Empty
                title={t`No incident`}
              >{t`Attacks on one customer, of one kind, that follow each other are one incident. It stays here when they are over.`}</Empty>
            ) : (
              <SearchedTable
                label={t`Incidents`}
                what={t`incident`}
                placeholder={t`customer, kind, network, owner`}
                isCounted
                columns={INCIDENT_COLUMNS}
                rows={incidents}
                rowKey={({ id }) => id}
                textOf={incidentText}
                sort={sort}
                onSort={setSort}
              />
            )}
            {next !== undefined && which === "all" && (
              <p class="muted">{t`Active ones that began before these are under “Active”.`}</p>
            )}
            <div class="choices">
              {before !== null && <Button onClick={() => setQuery({ before: null })}>{t`Newest`}</Button>}
              {next !== undefined && <Button onClick={() => setQuery({ before: next })}>{t`Older`}</Button>}
            </div>
          </>
        )}
      </Show>
    </Panel>
  );
}
