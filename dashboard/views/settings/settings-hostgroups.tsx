/** The hostgroups: all in a table, and one in full. */
import type { HostgroupConfigWire } from "../../../src/http/wire/configured.ts";
import { status } from "../../api/running.ts";
import { t } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, flowRate, packetRate } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import { dryRunText, ladderText, otherThresholds, settingsText, thresholdFacts } from "../../text/settings.ts";
import { GroupSettingsButtons } from "./group-settings.tsx";

const COLUMNS: readonly Column<HostgroupConfigWire>[] = [
  { key: "name", title: t`Name`, cell: ({ name }) => <a href={linkTo(["settings", name])}>{name}</a> },
  { key: "networks", title: t`Networks`, cell: networksText, width: "wide" },
  { key: "pps", title: t`Packets`, cell: ({ thresholds }) => packetRate(thresholds.pps), isNumber: true },
  {
    key: "mbps",
    title: t`Bandwidth`,
    cell: ({ thresholds }) => bitRate(thresholds.mbps),
    isNumber: true,
    width: "medium",
  },
  {
    key: "flows",
    title: t`New flows`,
    cell: ({ thresholds }) => flowRate(thresholds.flows_per_sec),
    isNumber: true,
    width: "wide",
  },
  {
    key: "others",
    title: t`Other thresholds`,
    cell: ({ thresholds }) => otherThresholds(thresholds) || "–",
    width: "wider",
  },
  { key: "action", title: t`Mitigation`, cell: mitigationText },
  {
    key: "ttl",
    title: t`A ban lasts`,
    cell: ({ ban, ttl_seconds: seconds }) => (ban ? duration(seconds) : "–"),
    isNumber: true,
    width: "medium",
  },
  { key: "tenant", title: t`Tenant`, cell: ({ tenant }) => tenant ?? "–", width: "wide" },
];

export function HostgroupTable({ hostgroups }: { readonly hostgroups: readonly HostgroupConfigWire[] }) {
  if (hostgroups.length === 0) {
    return (
      <Empty
        title={t`Your tenant has no hostgroup`}
      >{t`Ask the administrator of Floodwall to give your tenant a hostgroup.`}</Empty>
    );
  }
  return <DataTable label={t`Hostgroups`} columns={COLUMNS} rows={hostgroups} rowKey={({ name }) => name} />;
}

interface HostgroupPageProps {
  readonly name: string;
  readonly hostgroups: readonly HostgroupConfigWire[];
  readonly onChanged: () => void;
}

export function HostgroupPage({ name, hostgroups, onChanged }: HostgroupPageProps) {
  const group = hostgroups.find((one) => one.name === name);
  return (
    <>
      <p>
        <a href={linkTo(["settings"])}>{t`All settings`}</a>
      </p>
      {group === undefined ? (
        <Empty
          title={t`There is no hostgroup ${name}`}
        >{t`It was removed from the configuration, or belongs to another tenant.`}</Empty>
      ) : (
        <div class="masonry">
          <Judged group={group} onChanged={onChanged} />
          <Baseline group={group} />
          <Done group={group} />
        </div>
      )}
    </>
  );
}

interface JudgedProps {
  readonly group: HostgroupConfigWire;
  readonly onChanged: () => void;
}

function Judged({ group, onChanged }: JudgedProps) {
  const { name, calculation, tenant, networks, thresholds, thresholds_outgoing: outgoing } = group;
  return (
    <>
      <Panel title={t`Hostgroup ${name}`} actions={<GroupSettingsButtons group={group} onChanged={onChanged} />}>
        <Facts
          facts={[
            [t`Judged`, calculation === "total" ? t`as a whole` : t`host by host`],
            tenant === undefined ? null : [t`Tenant`, tenant],
            [t`Networks`, networks.length === 0 ? networksText(group) : networks.join(", ")],
            group.contacts === undefined ? null : [t`Contacts`, group.contacts.join(", ")],
            group.settings === undefined ? null : [t`Set by the API`, settingsText(group.settings)],
          ]}
        />
      </Panel>
      <Panel title={t`Thresholds of incoming traffic`}>
        <Facts facts={thresholdFacts(thresholds)} />
      </Panel>
      <Panel title={t`Thresholds of outgoing traffic`}>
        {outgoing === undefined ? (
          <p class="muted">{t`Outgoing traffic of its hosts is not judged.`}</p>
        ) : (
          <Facts facts={thresholdFacts(outgoing)} />
        )}
      </Panel>
    </>
  );
}

function Baseline({ group: { baseline } }: { readonly group: HostgroupConfigWire }) {
  return (
    <Panel title={t`Learned thresholds`}>
      {baseline === undefined ? (
        <p class="muted">{t`Off: its thresholds are fixed.`}</p>
      ) : (
        <Facts
          facts={[
            [t`Limit`, t`${baseline.factor} times the normal rate`],
            [
              t`Never below`,
              thresholdFacts(baseline.floor)
                .map(([, value]) => value)
                .join(", "),
            ],
            [t`Never above`, t`its thresholds`],
            [t`Learned from`, baseline.seasonal ? t`the same hour of the week` : t`the time before`],
            [t`Half-life`, duration(baseline.half_life_seconds)],
            [t`Warm-up`, duration(baseline.warmup_seconds)],
          ]}
        />
      )}
    </Panel>
  );
}

function Done({ group }: { readonly group: HostgroupConfigWire }) {
  if (!group.ban) {
    return (
      <Panel title={t`Mitigation`}>
        <p>{t`An attack is reported and not banned: the group is judged as a whole.`}</p>
      </Panel>
    );
  }
  return (
    <Panel title={t`Mitigation`}>
      <Facts
        facts={[
          [t`Method`, mitigationText(group)],
          [t`Fallback`, methodName(group.fallback)],
          [t`A ban lasts`, duration(group.ttl_seconds)],
          [t`After the attack`, duration(group.unban_hysteresis_seconds)],
          [t`No new ban after an unban for`, duration(group.cooldown_seconds)],
        ]}
      />
    </Panel>
  );
}

/** `Blackhole, in dry run`. */
function mitigationText(group: HostgroupConfigWire): string {
  const { value } = status.state;
  const groups = value.kind === "ready" ? value.data.hostgroups : [];
  const dry = groups.filter(({ name }) => name === group.name).map(dryRunText);
  return [ladderText(group), ...dry].filter(Boolean).join(", ");
}

function networksText({ networks }: HostgroupConfigWire): string {
  return networks.length === 0 ? t`All other addresses` : networks.join(", ");
}
