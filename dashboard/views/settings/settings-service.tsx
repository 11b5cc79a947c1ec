/** The settings of the whole service: detection, BGP, storage and notification. */
import type { ServiceConfigWire } from "../../../src/http/wire/configured.ts";
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { names } from "../../api/known-names.ts";
import { Badge } from "../../parts/badge.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { percent, wholeNumber } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import { withName } from "../../text/known-names.ts";
import { thresholdFacts } from "../../text/settings.ts";

export interface ServicePanelsProps {
  readonly service: ServiceConfigWire;
  readonly status: StatusWire;
}

export function ServicePanels({ service, status }: ServicePanelsProps) {
  return (
    <>
      <Running service={service} status={status} />
      <Detection service={service} status={status} />
      <Carpet service={service} />
      <Bans service={service} />
      <Bgp bgp={status.bgp} />
      <Scrubbing status={status} />
      <Dataplane dataplane={status.dataplane} />
      <Notify notify={status.notify} />
    </>
  );
}

function Running({ service: { storage, update_check: isChecked }, status }: ServicePanelsProps) {
  const { latest_version: latest } = status;
  return (
    <Panel title="Service">
      <Facts
        facts={[
          ["Version", status.version],
          ["Newer release", latest ?? (isChecked ? "none" : "not checked: update_check is off")],
          ["Runs for", duration(status.uptime_seconds)],
          ["Dry run", <OnOff isOn={status.dry_run} tone="warn" />],
          ["Storage", storage.driver === "none" ? "off" : storage.driver],
          storage.driver === "none" ? null : ["Kept for", `${storage.retention_days} d`],
          storage.driver === "none" ? null : ["Traffic is recorded every", duration(storage.traffic_interval_seconds)],
        ]}
      />
    </Panel>
  );
}

function Detection({ service: { detection, protected_whitelist: spared, samples }, status }: ServicePanelsProps) {
  return (
    <Panel title="Detection">
      <Facts
        facts={[
          ["Networks", <List items={status.networks} />],
          ["Never banned", spared.length === 0 ? "none" : <List items={spared} />],
          [
            "Captured from",
            status.capture.interfaces.map(({ name }) => name).join(", ") || "nothing: control plane only",
          ],
          ["Window", `${wholeNumber(detection.window_ms)} ms`],
          ["Detection interval", `${wholeNumber(detection.tick_ms)} ms`],
          ["Sustain time", `${wholeNumber(detection.sustain_ms)} ms`],
          ["Samples of attacks", <OnOff isOn={samples} />],
        ]}
      />
    </Panel>
  );
}

function Carpet({ service: { carpet } }: { readonly service: ServiceConfigWire }) {
  return (
    <Panel title="Attacks on whole prefixes">
      {carpet === undefined ? (
        <p class="muted">
          Not detected: there is no <code>carpet</code> in the configuration.
        </p>
      ) : (
        <Facts
          facts={[
            ["Prefixes", `/${carpet.prefix_v4} and IPv6 /${carpet.prefix_v6}`],
            ["Hosts at least", carpet.min_hosts],
            ...thresholdFacts(carpet.thresholds),
            ["Mitigation", methodName(carpet.mitigation)],
          ]}
        />
      )}
    </Panel>
  );
}

function Bans({
  service: { max_active_bans: most, max_banned_fraction: fraction },
}: {
  readonly service: ServiceConfigWire;
}) {
  return (
    <Panel title="Bans">
      <Facts
        facts={[
          ["Max bans", wholeNumber(most)],
          ["Max share of addresses", fraction === 0 ? "none" : percent(fraction)],
        ]}
      />
    </Panel>
  );
}

function Bgp({ bgp }: { readonly bgp: StatusWire["bgp"] }) {
  return (
    <Panel title="BGP">
      {bgp === undefined ? (
        <p class="muted">
          No announcer: there is no <code>bgp</code> in the configuration.
        </p>
      ) : (
        <Facts
          facts={[
            ["AS", bgp.local_asn],
            ["Router ID", bgp.router_id],
            ["Speaker", bgp.speaker],
            ["Next hops of blackholes", `${bgp.next_hop}, ${bgp.next_hop6}`],
            ["Communities", bgp.community || "none"],
            bgp.local_pref === 0 ? null : ["Local preference", bgp.local_pref],
            [
              "Neighbors",
              bgp.neighbors
                .map(({ address, remote_asn: asn }) => `${withName(names.value, address)}, AS ${asn}`)
                .join(", "),
            ],
          ]}
        />
      )}
    </Panel>
  );
}

function Scrubbing({
  status: { scrubbing, nodes_total: nodes, edge_nodes_total: edges },
}: {
  readonly status: StatusWire;
}) {
  return (
    <Panel title="Nodes">
      <Facts
        facts={[
          ["Scrub nodes", nodes],
          ["Edge nodes", edges],
          scrubbing?.next_hop === undefined ? null : ["Diverted to", withName(names.value, scrubbing.next_hop)],
          scrubbing?.next_hop6 === undefined ? null : ["IPv6 diverted to", withName(names.value, scrubbing.next_hop6)],
          scrubbing === undefined || scrubbing.community === "" ? null : ["Communities", scrubbing.community],
        ]}
      />
    </Panel>
  );
}

function Dataplane({ dataplane }: { readonly dataplane: StatusWire["dataplane"] }) {
  return (
    <Panel title="Dropping on this machine">
      {dataplane === undefined ? (
        <p class="muted">
          Nothing is dropped here: there is no <code>dataplane</code> in the configuration.
        </p>
      ) : (
        <Facts
          facts={[
            ["State", dataplane.state.replace("_", " ")],
            ...dataplane.interfaces.map(({ name, mode, state }) => [name, mode ?? state] as const),
            dataplane.max_dynamic_rules === undefined
              ? null
              : ["Rules at most", wholeNumber(dataplane.max_dynamic_rules)],
          ]}
        />
      )}
    </Panel>
  );
}

const CHANNELS = {
  telegram: "Telegram",
  webhook: "Webhook",
  slack: "Slack",
  email: "E-mail",
  exec: "Command",
} as const satisfies Readonly<Record<keyof StatusWire["notify"], string>>;

function Notify({ notify }: { readonly notify: StatusWire["notify"] }) {
  return (
    <Panel title="Notifications">
      <Facts
        facts={Object.entries(CHANNELS).map(
          ([channel, name]) => [name, <OnOff isOn={notify[channel as keyof typeof CHANNELS]} />] as const,
        )}
      />
    </Panel>
  );
}

function OnOff({ isOn, tone = "ok" }: { readonly isOn: boolean; readonly tone?: "ok" | "warn" }) {
  return isOn ? <Badge tone={tone}>on</Badge> : <span class="muted">off</span>;
}

/** Longer lists end with the number of the remaining entries. */
const LISTED_MAX = 12;

function List({ items }: { readonly items: readonly string[] }) {
  const more = items.length - LISTED_MAX;
  return (
    <>
      {items.slice(0, LISTED_MAX).join(", ")}
      {more > 0 && ` and ${wholeNumber(more)} more`}
    </>
  );
}
