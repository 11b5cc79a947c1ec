/** One host: its rates and limits, history, attacks and bans, and the ban button. */

import type { BanPreviewWire } from "../../../src/http/wire/ban-preview.ts";
import type { ConfiguredWire } from "../../../src/http/wire/configured.ts";
import type { HostsWire, HostWire } from "../../../src/http/wire/traffic/host.ts";
import type { HostgroupRatesWire } from "../../../src/http/wire/traffic/hostgroup-rates.ts";
import type { Metric, RatesWire } from "../../../src/traffic/rates.ts";
import { bans } from "../../api/live.ts";
import { useResource } from "../../api/resource.ts";
import { groupRates, hasDataplane } from "../../api/running.ts";
import { isUnscoped } from "../../api/session.ts";
import { banKey } from "../../api/tables.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { BanButton, UnbanButton } from "../../parts/ban-actions.tsx";
import { Callout, Empty, Loading } from "../../parts/callout.tsx";
import { CopyAddress } from "../../parts/copy-button.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { RateMeter } from "../../parts/rate-meter.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import {
  bitRate,
  METRIC_NAMES,
  metricName,
  newFlowRate,
  packetRate,
  plusMinus,
  rateOf,
} from "../../text/format/numbers.ts";
import { hostStanding } from "../../text/host-standing.ts";
import { bansOn, ownBanOf } from "../../text/of-host.ts";
import { said } from "../../text/service-words.ts";
import { ladderText } from "../../text/settings.ts";
import { BAN_COLUMNS } from "../bans/bans-panel.tsx";
import { HostAttacks } from "./host-attacks.tsx";
import { HostHistory } from "./host-history.tsx";
import { HostProtection } from "./host-protection.tsx";

const EVERY_MS = 2000;
const PREVIEW_EVERY_MS = 10_000;
/** In the order in which thresholds are judged. */
const METRICS = Object.keys(METRIC_NAMES) as Metric[];

export function HostDetail({ target }: { readonly target: string }) {
  return (
    <>
      <p>
        <a href={linkTo(["hosts"])}>{t`All hosts`}</a>
      </p>
      {/^[\da-f.:]{2,39}$/i.test(target) ? (
        <Host target={target.toLowerCase()} />
      ) : (
        <Empty title={t`${target} is not an address`}>{t`Find the host in the list of hosts.`}</Empty>
      )}
    </>
  );
}

function Host({ target }: { readonly target: string }) {
  const asked = `/api/v1/bans/preview?${new URLSearchParams({ ip: target })}`;
  const preview = useResource<BanPreviewWire>(asked, PREVIEW_EVERY_MS);
  const { value } = preview.state;
  const standing = hostStanding(value, isUnscoped());
  switch (standing.kind) {
    case "unknown":
      return <Loading what={t`host`} />;
    case "foreign":
      return (
        <Empty
          title={t`${target} is not yours`}
        >{t`It belongs to no hostgroup of your tenant: its traffic, attacks and bans are not shown to you.`}</Empty>
      );
    case "own":
      return <OwnHost target={target} refusal={standing.refusal} />;
    default:
      return standing satisfies never;
  }
}

interface OwnHostProps {
  readonly target: string;
  /** Why a ban of it would be refused now; null: it would not, or it is not known. */
  readonly refusal: string | null;
}

function OwnHost({ target, refusal }: OwnHostProps) {
  const asked = { q: `${target}/${target.includes(":") ? 128 : 32}`, limit: "1" };
  const found = useResource<HostsWire>(`/api/v1/hosts?${new URLSearchParams(asked)}`, EVERY_MS);
  const { value } = found.state;
  const host = value.kind === "ready" ? value.data.hosts[0] : undefined;
  const group = groupOf(host);
  // The spelling of the service if it knows the host.
  const name = host?.target ?? target;
  return (
    <div class="overview">
      <Panel title={name} isWide actions={<Actions target={name} refusal={refusal} />}>
        <Show loaded={value} what={t`rates of this host`} onRetry={() => void found.refresh()}>
          {() =>
            host === undefined ? (
              <Empty
                title={t`No traffic now`}
              >{t`Its rates appear when it has traffic. Its recorded history is below.`}</Empty>
            ) : (
              <RatesNow host={host} group={group} />
            )
          }
        </Show>
      </Panel>
      {hasDataplane() && <HostProtection target={name} />}
      <HostHistory target={name} group={group} />
      <HostAttacks target={name} />
      <HostBans target={name} />
    </div>
  );
}

function groupOf(host: HostWire | undefined): HostgroupRatesWire | undefined {
  const { value } = groupRates.state;
  if (host === undefined || value.kind !== "ready") return undefined;
  return value.data.hostgroups.find(({ name }) => name === host.group);
}

function Actions({ target, refusal }: OwnHostProps) {
  const { value } = bans;
  const ban = value.kind === "ready" ? ownBanOf(target, value.data) : undefined;
  return (
    <div class="panel-actions">
      <CopyAddress address={target} />
      {ban !== undefined ? (
        <UnbanButton ban={ban} />
      ) : refusal === null ? (
        <BanButton target={target} />
      ) : (
        <Badge tone="info">{t`cannot be banned: ${said(refusal)}`}</Badge>
      )}
    </div>
  );
}

interface RatesNowProps {
  readonly host: HostWire;
  readonly group: HostgroupRatesWire | undefined;
}

function RatesNow({ host, group }: RatesNowProps) {
  const { value } = useResource<ConfiguredWire>("/api/v1/config", 0).state;
  const judged = value.kind === "ready" ? value.data.hostgroups.find(({ name }) => name === host.group) : undefined;
  return (
    <>
      <p class="muted number">{tx`Hostgroup ${host.group}${judged !== undefined && t` · when attacked: ${ladderText(judged)}`}${host.baseline !== undefined && t` · normal: ${trio(host.baseline)}`}`}</p>
      {judged?.calculation === "total" ? (
        <Callout
          tone="info"
          title={t`Judged as a whole`}
        >{t`The sum of the hostgroup ${host.group} is compared with its thresholds, not this host's rate.`}</Callout>
      ) : (
        <div class="pair">
          <Direction
            title={t`Receives`}
            rates={host.rates}
            error={host.sampling_error}
            thresholds={group?.thresholds}
          />
          <Direction
            title={t`Sends`}
            rates={host.rates_out}
            error={host.sampling_error_out}
            thresholds={group?.thresholds_out}
          />
        </div>
      )}
      {judged?.calculation === "total" && (
        <Facts
          facts={[
            [t`Receives`, trio(host.rates, host.sampling_error)],
            [t`Sends`, trio(host.rates_out, host.sampling_error_out)],
          ]}
        />
      )}
    </>
  );
}

interface DirectionProps {
  readonly title: string;
  readonly rates: RatesWire;
  readonly error: HostWire["sampling_error"];
  /** undefined: the host is not judged. */
  readonly thresholds: RatesWire | undefined;
}

function Direction({ title, rates, error, thresholds = { pps: 0, mbps: 0, flows_per_sec: 0 } }: DirectionProps) {
  const judged = METRICS.filter((metric) => (thresholds[metric] ?? 0) > 0);
  const rest = METRICS.filter((metric) => !judged.includes(metric) && (rates[metric] ?? 0) > 0);
  return (
    <section class="meters" aria-label={title}>
      <h3>{title}</h3>
      {error !== undefined && (
        <p class="muted">{t`Estimated from samples: packets${plusMinus(error.pps)}, bits${plusMinus(error.mbps)}`}</p>
      )}
      {judged.map((metric) => (
        <div key={metric}>
          <span class="muted">{metricName(metric)}</span>
          <RateMeter metric={metric} rate={rates[metric] ?? 0} threshold={thresholds[metric] ?? 0} />
        </div>
      ))}
      {judged.length === 0 && (
        <p class="muted">
          {rest.length === 0
            ? t`None, or not counted: counting needs thresholds_outgoing.`
            : t`No thresholds: this direction is not judged.`}
        </p>
      )}
      <Facts facts={rest.map((metric) => [metricName(metric), rateOf(metric, rates[metric] ?? 0)] as const)} />
    </section>
  );
}

function trio(rates: Pick<RatesWire, "pps" | "mbps" | "flows_per_sec">, error?: HostWire["sampling_error"]): string {
  return [
    packetRate(rates.pps) + plusMinus(error?.pps),
    bitRate(rates.mbps) + plusMinus(error?.mbps),
    newFlowRate(rates.flows_per_sec, error !== undefined),
  ].join(" · ");
}

function HostBans({ target }: { readonly target: string }) {
  return (
    <Panel title={t`Bans of this host`} isWide>
      <Show loaded={bans.value} what={t`bans`}>
        {(all) => {
          const newestFirst = bansOn(target, all);
          if (newestFirst.length === 0)
            return (
              <Empty title={t`Not banned`}>{t`There is no active ban, and none in the list of ended bans.`}</Empty>
            );
          return <DataTable label={t`Bans of this host`} columns={BAN_COLUMNS} rows={newestFirst} rowKey={banKey} />;
        }}
      </Show>
    </Panel>
  );
}
