/** Many attacks at once as their incidents: a thousand victims are one row. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { useIncidents } from "../../api/incident-list.ts";
import { t } from "../../language.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { byWeight } from "../../text/incidents.ts";
import { ACTIVE_COLUMNS } from "../incidents/incident-rows.tsx";
import { AttackRows } from "./attack-rows.tsx";

interface IncidentsNowProps {
  /** In the order of their urgency. */
  readonly attacks: readonly AttackWire[];
  readonly bans: readonly BanWire[];
}

export function IncidentsNow({ attacks, bans }: IncidentsNowProps) {
  const { loaded, refresh } = useIncidents("/api/v1/incidents?state=active", ({ state }) => state === "active");
  const alone = attacks.filter(({ incident }) => incident === undefined);
  return (
    <>
      <Show loaded={loaded} what={t`incidents`} onRetry={() => void refresh()}>
        {({ incidents, next }) => (
          <>
            <DataTable
              label={t`Incidents in progress`}
              columns={ACTIVE_COLUMNS}
              rows={incidents.toSorted(byWeight)}
              rowKey={({ id }) => id}
            />
            <p class="muted">
              {next !== undefined && t`The newest 100. `}
              <a href={linkTo(["attacks"])}>{t`All ${wholeNumber(attacks.length)} attacks`}</a>
            </p>
          </>
        )}
      </Show>
      {alone.length > 0 && <AttackRows attacks={alone} bans={bans} />}
    </>
  );
}
