/** Shows the configuration in force, read-only, and the caller's session. One hostgroup is a step below. */
import { useEffect } from "preact/hooks";
import type { ConfiguredWire } from "../../../src/http/wire/configured.ts";
import { reloads } from "../../api/live.ts";
import { useResource } from "../../api/resource.ts";
import { status, wholeStatus } from "../../api/running.ts";
import { isUnscoped, mayAct, session, signOutAll } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Segments } from "../../parts/field.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { ROLES } from "../../text/interface-words.ts";
import { chooseTheme, theme } from "../../theme.ts";
import type { ViewProps } from "../../view.ts";
import { BrowsersPanel } from "./settings-browsers.tsx";
import { HostgroupPage, HostgroupTable } from "./settings-hostgroups.tsx";
import { SharedPanel } from "./settings-links.tsx";
import { ReloadPanel } from "./settings-reload.tsx";
import { ServicePanels } from "./settings-service.tsx";
import { TargetsPanel } from "./settings-targets.tsx";

export function Settings({ steps }: ViewProps) {
  const configured = useResource<ConfiguredWire>("/api/v1/config", 0);
  const reloaded = reloads.value;
  useEffect(() => {
    if (reloaded > 0) void configured.refresh();
  }, [configured, reloaded]);
  const refresh = () => {
    void configured.refresh();
    void status.refresh();
  };
  const [group] = steps;
  return (
    <Show loaded={configured.state.value} what={t`configuration`} onRetry={refresh}>
      {(config) =>
        group === undefined ? (
          <Whole config={config} onReloaded={refresh} />
        ) : (
          <HostgroupPage name={group} hostgroups={config.hostgroups} onChanged={refresh} />
        )
      }
    </Show>
  );
}

function Whole({ config, onReloaded }: { readonly config: ConfiguredWire; readonly onReloaded: () => void }) {
  const whole = wholeStatus();
  const { service, hostgroups } = config;
  return (
    <div class="overview">
      {isUnscoped() && service !== undefined && (
        <ReloadPanel needsRestart={service.needs_restart} mayReload={mayAct()} onReloaded={onReloaded} />
      )}
      <Panel title={t`Hostgroups`} isWide>
        <HostgroupTable hostgroups={hostgroups} />
      </Panel>
      <TargetsPanel />
      <SharedPanel />
      <BrowsersPanel />
      <div class="masonry">
        <SessionPanel />
        {service !== undefined && whole !== null && <ServicePanels service={service} status={whole} />}
      </div>
    </div>
  );
}

function SessionPanel() {
  const { value } = session;
  if (value.kind !== "signed_in") return null;
  const { open, name, role, tenant, signed_in_until: until } = value.who;
  return (
    <Panel title={t`You`} actions={!open && <Button onClick={signOutAll}>{t`Sign out`}</Button>}>
      <Facts
        facts={[
          [until === undefined ? t`Token` : t`User`, open ? t`none: no sign-in` : (name ?? "")],
          until === undefined ? null : [t`Signed in until`, <Moment at={until} />],
          [t`Role`, ROLES[role]],
          [t`Tenant`, tenant ?? t`none: the whole service`],
          [t`Zone of times`, Intl.DateTimeFormat().resolvedOptions().timeZone],
        ]}
      />
      <Segments
        label={t`Theme`}
        value={theme.value}
        options={[
          ["system", t`As the system`],
          ["light", t`Light`],
          ["dark", t`Dark`],
        ]}
        onChange={chooseTheme}
      />
    </Panel>
  );
}
