/** The settings of the whole service: detection, BGP, storage and notification. */
import type { ServiceConfigWire } from "../../../src/http/wire/configured.ts";
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { names } from "../../api/known-names.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { modeWord } from "../../text/capture-words.ts";
import { percent, wholeNumber } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import { FILTER_STATES, PORT_STATES, TARGET_KINDS } from "../../text/interface-words.ts";
import { withName } from "../../text/known-names.ts";
import { thresholdFacts } from "../../text/settings.ts";

interface ServicePanelsProps {
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

const DATABASES = { none: t`off`, sqlite: "SQLite", clickhouse: "ClickHouse" } as const;
const SPEAKERS = { managed: t`started by Floodwall`, external: t`external` } as const;

function Running({ service: { storage, update_check: isChecked }, status }: ServicePanelsProps) {
  const { latest_version: latest } = status;
  return (
    <Panel title={t`Service`}>
      <Facts
        facts={[
          [t`Version`, status.version],
          [t`Newer release`, latest ?? (isChecked ? t`none` : t`not checked: update_check is off`)],
          [t`Runs for`, duration(status.uptime_seconds)],
          [t`Dry run`, <OnOff isOn={status.dry_run} tone="warn" />],
          [t`Storage`, DATABASES[storage.driver]],
          storage.driver === "none" ? null : [t`Kept for`, duration(86_400 * storage.retention_days)],
          storage.driver === "none" ? null : [t`Traffic is recorded every`, duration(storage.traffic_interval_seconds)],
        ]}
      />
    </Panel>
  );
}

function Detection({ service: { detection, protected_whitelist: spared, samples }, status }: ServicePanelsProps) {
  return (
    <Panel title={t`Detection`}>
      <Facts
        facts={[
          [t`Networks`, <List items={status.networks} />],
          [t`Never banned`, spared.length === 0 ? t`none` : <List items={spared} />],
          [
            t`Captured from`,
            status.capture.interfaces.map(({ name }) => name).join(", ") || t`nothing: control plane only`,
          ],
          [t`Window`, t`${wholeNumber(detection.window_ms)} ms`],
          [t`Detection interval`, t`${wholeNumber(detection.tick_ms)} ms`],
          [t`Sustain time`, t`${wholeNumber(detection.sustain_ms)} ms`],
          [t`Samples of attacks`, <OnOff isOn={samples} />],
        ]}
      />
    </Panel>
  );
}

function Carpet({ service: { carpet } }: { readonly service: ServiceConfigWire }) {
  return (
    <Panel title={t`Attacks on whole prefixes`}>
      {carpet === undefined ? (
        <p class="muted">{tx`Not detected: there is no ${<code>carpet</code>} in the configuration.`}</p>
      ) : (
        <Facts
          facts={[
            [t`Prefixes`, t`/${carpet.prefix_v4} and IPv6 /${carpet.prefix_v6}`],
            [t`Hosts at least`, carpet.min_hosts],
            ...thresholdFacts(carpet.thresholds),
            [t`Mitigation`, methodName(carpet.mitigation)],
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
    <Panel title={t`Bans`}>
      <Facts
        facts={[
          [t`Max bans`, wholeNumber(most)],
          [t`Max share of addresses`, fraction === 0 ? t`no limit` : percent(fraction)],
        ]}
      />
    </Panel>
  );
}

function Bgp({ bgp }: { readonly bgp: StatusWire["bgp"] }) {
  return (
    <Panel title="BGP">
      {bgp === undefined ? (
        <p class="muted">{tx`No announcer: there is no ${<code>bgp</code>} in the configuration.`}</p>
      ) : (
        <Facts
          facts={[
            [t`AS`, bgp.local_asn],
            [t`Router ID`, bgp.router_id],
            [t`Speaker`, SPEAKERS[bgp.speaker]],
            [t`Next hops of blackholes`, `${bgp.next_hop}, ${bgp.next_hop6}`],
            [t`Communities`, bgp.community || t`none`],
            bgp.local_pref === 0 ? null : [t`Local preference`, bgp.local_pref],
            [
              t`Neighbors`,
              bgp.neighbors
                .map(({ address, remote_asn: asn }) => t`${withName(names.value, address)}, AS ${asn}`)
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
    <Panel title={t`Nodes`}>
      <Facts
        facts={[
          [t`Scrub nodes`, nodes],
          [t`Edge nodes`, edges],
          scrubbing?.next_hop === undefined ? null : [t`Diverted to`, withName(names.value, scrubbing.next_hop)],
          scrubbing?.next_hop6 === undefined ? null : [t`IPv6 diverted to`, withName(names.value, scrubbing.next_hop6)],
          scrubbing === undefined || scrubbing.community === "" ? null : [t`Communities`, scrubbing.community],
        ]}
      />
    </Panel>
  );
}

function Dataplane({ dataplane }: { readonly dataplane: StatusWire["dataplane"] }) {
  return (
    <Panel title={t`Dropping on this machine`}>
      {dataplane === undefined ? (
        <p class="muted">{tx`Nothing is dropped here: there is no ${<code>dataplane</code>} in the configuration.`}</p>
      ) : (
        <Facts
          facts={[
            [t`State`, FILTER_STATES[dataplane.state]],
            ...dataplane.interfaces.map(
              ({ name, mode, state }) => [name, mode === undefined ? PORT_STATES[state] : modeWord(mode)] as const,
            ),
            dataplane.max_dynamic_rules === undefined
              ? null
              : [t`Rules at most`, wholeNumber(dataplane.max_dynamic_rules)],
          ]}
        />
      )}
    </Panel>
  );
}

function Notify({ notify }: { readonly notify: StatusWire["notify"] }) {
  return (
    <Panel title={t`Notifications`}>
      <Facts
        facts={Object.entries(TARGET_KINDS).map(
          ([channel, name]) => [name, <OnOff isOn={notify[channel as keyof typeof TARGET_KINDS]} />] as const,
        )}
      />
    </Panel>
  );
}

function OnOff({ isOn, tone = "ok" }: { readonly isOn: boolean; readonly tone?: "ok" | "warn" }) {
  return isOn ? <Badge tone={tone}>{t`on`}</Badge> : <span class="muted">{t`off`}</span>;
}

/** Longer lists end with the number of the remaining entries. */
const LISTED_MAX = 12;

function List({ items }: { readonly items: readonly string[] }) {
  const more = items.length - LISTED_MAX;
  return (
    <>
      {items.slice(0, LISTED_MAX).join(", ")}
      {more > 0 && t` and ${wholeNumber(more)} more`}
    </>
  );
}
