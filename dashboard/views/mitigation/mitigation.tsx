/** The mitigation of attacks: all measures in force in one list, the bans that were refused or ended, and one ban. */
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { BanButton } from "../../parts/ban-actions.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { place, setQuery } from "../../router.ts";
import type { ViewProps } from "../../view.ts";
import { BanPage } from "../bans/ban-page.tsx";
import { Diversions } from "./diversions.tsx";
import { FilterRules } from "./filter-rules.tsx";
import { ForeignRoutes } from "./foreign-routes.tsx";
import { MeasuresInForce } from "./in-force.tsx";
import { Maintenance } from "./maintenance.tsx";
import { PastBans } from "./past-bans.tsx";
import { Protections } from "./protections.tsx";

const TITLES = {
  active: t`In force`,
  rejected: t`Refused`,
  withdrawn: t`Ended`,
  protection: t`Protection`,
  rules: t`Filter rules`,
  maintenance: t`Maintenance`,
  diversions: t`Diversions`,
  routes: t`Routes of others`,
} as const;
type Which = keyof typeof TITLES;
const CHOICES_OF_TENANT: readonly Which[] = ["active", "rejected", "withdrawn", "protection"];
const CHOICES: readonly Which[] = [...CHOICES_OF_TENANT, "rules", "maintenance", "diversions", "routes"];

export function Mitigation({ steps }: ViewProps) {
  const [prefix, startedAt] = steps;
  if (prefix !== undefined && startedAt !== undefined) return <BanPage prefix={prefix} startedAt={startedAt} />;
  return <Lists />;
}

function Lists() {
  const choices = isUnscoped() ? CHOICES : CHOICES_OF_TENANT;
  const which = choices.find((each) => each === place.value.query.get("which")) ?? "active";
  const choice = (
    <Segments
      label={t`Which measures`}
      value={which}
      options={choices.map((each) => [each, TITLES[each]] as const)}
      onChange={(each) => setQuery({ which: each === "active" ? null : each })}
    />
  );
  if (which === "protection") return <Protections title={TITLES.protection} choice={choice} />;
  if (which === "rules") return <FilterRules title={TITLES.rules} choice={choice} />;
  if (which === "maintenance") return <Maintenance title={TITLES.maintenance} choice={choice} />;
  if (which === "diversions") return <Diversions title={TITLES.diversions} choice={choice} />;
  if (which === "routes") return <ForeignRoutes title={TITLES.routes} choice={choice} />;
  if (which === "active") return <MeasuresInForce title={TITLES.active} choice={choice} />;
  return (
    <Panel
      title={TITLES[which]}
      actions={
        <div class="panel-actions">
          {choice}
          <BanButton />
        </div>
      }
    >
      <PastBans state={which} />
    </Panel>
  );
}
