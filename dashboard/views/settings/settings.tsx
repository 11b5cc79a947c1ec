/** Shows the configuration in force, read-only, and the caller's session. One hostgroup is a step below. */
import { useEffect } from "preact/hooks";
import type { ConfiguredWire } from "../../../src/http/wire/configured.ts";
import { reloads } from "../../api/live.ts";
import { useResource } from "../../api/resource.ts";
import { status, wholeStatus } from "../../api/running.ts";
import { isUnscoped, mayAct, session, signOutAll } from "../../api/session.ts";
import { Button } from "../../parts/button.tsx";
import { Segments } from "../../parts/field.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { chooseTheme, theme } from "../../theme.ts";
import type { ViewProps } from "../../view.ts";
import { HostgroupPage, HostgroupTable } from "./settings-hostgroups.tsx";
import { ReloadPanel } from "./settings-reload.tsx";
import { ServicePanels } from "./settings-service.tsx";

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
    <Show loaded={configured.state.value} what="configuration" onRetry={refresh}>
      {(config) =>
        group === undefined ? (
          <Whole config={config} onReloaded={refresh} />
        ) : (
          <HostgroupPage name={group} hostgroups={config.hostgroups} />
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
      <Panel title="Hostgroups" isWide>
        <HostgroupTable hostgroups={hostgroups} />
      </Panel>
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
  const { open, name, role, tenant } = value.who;
  return (
    <Panel title="You" actions={!open && <Button onClick={signOutAll}>Sign out</Button>}>
      <Facts
        facts={[
          ["Token", open ? "none: no sign-in" : (name ?? "")],
          ["Role", role],
          ["Tenant", tenant ?? "none: the whole service"],
          ["Zone of times", Intl.DateTimeFormat().resolvedOptions().timeZone],
        ]}
      />
      <Segments
        label="Theme"
        value={theme.value}
        options={[
          ["system", "As the system"],
          ["light", "Light"],
          ["dark", "Dark"],
        ]}
        onChange={chooseTheme}
      />
    </Panel>
  );
}
