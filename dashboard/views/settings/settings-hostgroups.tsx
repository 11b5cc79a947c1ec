/** The hostgroups: all in a table, and one in full. */
import type { HostgroupConfigWire } from "../../../src/http/wire/configured.ts";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, flowRate, packetRate } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import { ladderText, otherThresholds, settingsText, thresholdFacts } from "../../text/settings.ts";

const COLUMNS: readonly Column<HostgroupConfigWire>[] = [
  { key: "name", title: "Name", cell: ({ name }) => <a href={linkTo(["settings", name])}>{name}</a> },
  { key: "networks", title: "Networks", cell: networksText, width: "wide" },
  { key: "pps", title: "Packets", cell: ({ thresholds }) => packetRate(thresholds.pps), isNumber: true },
  {
    key: "mbps",
    title: "Bandwidth",
    cell: ({ thresholds }) => bitRate(thresholds.mbps),
    isNumber: true,
    width: "medium",
  },
  {
    key: "flows",
    title: "New flows",
    cell: ({ thresholds }) => flowRate(thresholds.flows_per_sec),
    isNumber: true,
    width: "wide",
  },
  {
    key: "others",
    title: "Other thresholds",
    cell: ({ thresholds }) => otherThresholds(thresholds) || "–",
    width: "wide",
  },
  { key: "action", title: "Mitigation", cell: ladderText },
  {
    key: "ttl",
    title: "A ban lasts",
    cell: ({ ban, ttl_seconds: seconds }) => (ban ? duration(seconds) : "–"),
    isNumber: true,
    width: "medium",
  },
  { key: "tenant", title: "Tenant", cell: ({ tenant }) => tenant ?? "–", width: "wide" },
];

export function HostgroupTable({ hostgroups }: { readonly hostgroups: readonly HostgroupConfigWire[] }) {
  if (hostgroups.length === 0) {
    return (
      <Empty title="Your tenant has no hostgroup">
        Ask the administrator of Floodwall to give your tenant a hostgroup.
      </Empty>
    );
  }
  return <DataTable label="Hostgroups" columns={COLUMNS} rows={hostgroups} rowKey={({ name }) => name} />;
}

export interface HostgroupPageProps {
  readonly name: string;
  readonly hostgroups: readonly HostgroupConfigWire[];
}

export function HostgroupPage({ name, hostgroups }: HostgroupPageProps) {
  const group = hostgroups.find((one) => one.name === name);
  return (
    <>
      <p>
        <a href={linkTo(["settings"])}>All settings</a>
      </p>
      {group === undefined ? (
        <Empty title={`There is no hostgroup ${name}`}>
          It was removed from the configuration, or belongs to another tenant.
        </Empty>
      ) : (
        <div class="masonry">
          <Judged group={group} />
          <Baseline group={group} />
          <Done group={group} />
        </div>
      )}
    </>
  );
}

function Judged({ group }: { readonly group: HostgroupConfigWire }) {
  const { name, calculation, tenant, networks, thresholds, thresholds_outgoing: outgoing } = group;
  return (
    <>
      <Panel title={`Hostgroup ${name}`}>
        <Facts
          facts={[
            ["Judged", calculation === "total" ? "as a whole" : "host by host"],
            tenant === undefined ? null : ["Tenant", tenant],
            ["Networks", networks.length === 0 ? networksText(group) : networks.join(", ")],
            group.contacts === undefined ? null : ["Contacts", group.contacts.join(", ")],
            group.settings === undefined ? null : ["Set by the API", settingsText(group.settings)],
          ]}
        />
      </Panel>
      <Panel title="Thresholds of incoming traffic">
        <Facts facts={thresholdFacts(thresholds)} />
      </Panel>
      <Panel title="Thresholds of outgoing traffic">
        {outgoing === undefined ? (
          <p class="muted">Outgoing traffic of its hosts is not judged.</p>
        ) : (
          <Facts facts={thresholdFacts(outgoing)} />
        )}
      </Panel>
    </>
  );
}

function Baseline({ group: { baseline } }: { readonly group: HostgroupConfigWire }) {
  return (
    <Panel title="Learned thresholds">
      {baseline === undefined ? (
        <p class="muted">Off: its thresholds are fixed.</p>
      ) : (
        <Facts
          facts={[
            ["Limit", `${baseline.factor} times the normal rate`],
            [
              "Never below",
              thresholdFacts(baseline.floor)
                .map(([, value]) => value)
                .join(", "),
            ],
            ["Never above", "its thresholds"],
            ["Learned from", baseline.seasonal ? "the same hour of the week" : "the time before"],
            ["Half-life", duration(baseline.half_life_seconds)],
            ["Warm-up", duration(baseline.warmup_seconds)],
          ]}
        />
      )}
    </Panel>
  );
}

function Done({ group }: { readonly group: HostgroupConfigWire }) {
  if (!group.ban) {
    return (
      <Panel title="Mitigation">
        <p>An attack is reported and not banned: the group is judged as a whole.</p>
      </Panel>
    );
  }
  return (
    <Panel title="Mitigation">
      <Facts
        facts={[
          ["Method", ladderText(group)],
          ["Fallback", methodName(group.fallback)],
          ["A ban lasts", duration(group.ttl_seconds)],
          ["After the attack", duration(group.unban_hysteresis_seconds)],
          ["No new ban after an unban for", duration(group.cooldown_seconds)],
        ]}
      />
    </Panel>
  );
}

function networksText({ networks }: HostgroupConfigWire): string {
  return networks.length === 0 ? "All other addresses" : networks.join(", ");
}
