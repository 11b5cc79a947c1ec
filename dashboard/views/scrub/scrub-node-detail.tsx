/** One scrub node: its configuration, its report, and the bans that are diverted to it. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { names } from "../../api/known-names.ts";
import { bans } from "../../api/live.ts";
import { banKey } from "../../api/tables.ts";
import { Callout, Empty } from "../../parts/callout.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { Ago } from "../../parts/moment.tsx";
import { LastPoll, NoSuchNode, NotPolling } from "../../parts/nodes.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, byteCount, packetRate, scaled } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { withName } from "../../text/known-names.ts";
import { BAN_COLUMNS } from "../bans/bans-panel.tsx";
import { lacksRules, loadText, NodeState, type ScrubNode } from "./scrub-node-state.tsx";

export interface ScrubNodeDetailProps {
  readonly name: string;
  /** undefined: the node is not in the configuration any more. */
  readonly node: ScrubNode | undefined;
  /** A node is lost after this time without a poll. */
  readonly staleSeconds: number;
}

export function ScrubNodeDetail({ name, node, staleSeconds }: ScrubNodeDetailProps) {
  return (
    <>
      <p>
        <a href={linkTo(["scrub"])}>All scrub nodes</a>
      </p>
      {node === undefined ? (
        <NoSuchNode what="scrub node" name={name} list="scrubbing.nodes" />
      ) : (
        <div class="overview">
          <NodePanel node={node} staleSeconds={staleSeconds} />
          <ReportPanel node={node} />
          <DivertedBans name={name} />
        </div>
      )}
    </>
  );
}

function NodePanel({ node, staleSeconds }: { readonly node: ScrubNode; readonly staleSeconds: number }) {
  const { name, next_hop: hop, next_hop6: hop6, capacity_mbps: capacity, hostgroups } = node;
  const { left_out_rules: leftOut, split_rules: split } = node;
  return (
    <Panel title={name}>
      <NotPolling node={node} staleSeconds={staleSeconds}>
        Check that <code>floodwall-scrub</code> runs there, that its token is right, and that it can reach this service.
      </NotPolling>
      {lacksRules(node) && (
        <Callout tone="warn" title={`${counted(leftOut ?? 0, "rule")} left out`}>
          Its agent does not understand them, and rules that it understands would drop too much of users: a part of what
          they match is not dropped. Update the agent to this version.
        </Callout>
      )}
      <Faults node={node} />
      <Facts
        facts={[
          node.description === undefined ? null : ["Is", node.description],
          ["State", <NodeState node={node} />],
          ["Last poll", <LastPoll node={node} />],
          hop === undefined ? null : ["Next hop", withName(names.value, hop)],
          hop6 === undefined ? null : ["Next hop, IPv6", withName(names.value, hop6)],
          ["Capacity", capacity === undefined ? "not configured" : bitRate(capacity)],
          ["Hostgroups", hostgroups === undefined ? "all hostgroups" : hostgroups.join(", ")],
          ["Diverted bans", node.active_bans],
          split === undefined ? null : ["Rules split into simpler ones", split],
        ]}
      />
    </Panel>
  );
}

/** The bans and documents that it does not enforce, and the remedy. */
function Faults({ node }: { readonly node: ScrubNode }) {
  const { refused_bans: refused = 0, refusals = [], not_applied_since: since } = node;
  return (
    <>
      {since !== undefined && (
        <Callout tone="danger" title="Its rules are not in force">
          It got rules <Ago at={since} /> and reports others: its log says why. Bans go to other nodes.
        </Callout>
      )}
      {refused > 0 && (
        <Callout tone="danger" title={`${counted(refused, "ban")} refused`}>
          These do not go to it. Where they are of another site, set <code>hostgroups</code> of the node in{" "}
          <code>scrubbing.nodes</code>; else see its <code>bounds</code>, or update its agent.
          <ul>
            {refusals.map(({ prefix, reason }) => (
              <li key={prefix}>
                {prefix}: {reason}
              </li>
            ))}
          </ul>
        </Callout>
      )}
    </>
  );
}

function ReportPanel({ node }: { readonly node: ScrubNode }) {
  const { report, reported_at: at } = node;
  if (report === undefined || at === undefined) {
    return (
      <Panel title="Report">
        <Empty title="No report yet">
          Load and drops appear with its first report. Polls, not reports, show that a node is alive.
        </Empty>
      </Panel>
    );
  }
  const { load_pps: pps, dropped_packets: packets, dropped_bytes: bytes, capabilities, dry_run: isDryRun } = report;
  return (
    <Panel title="Report">
      {isDryRun === true && (
        <Callout tone="warn" title="Dry run on the node">
          It counts what it would drop and drops nothing. Set <code>dry_run: false</code> in its own configuration.
        </Callout>
      )}
      <Facts
        facts={[
          ["Load", loadText(node)],
          pps === undefined ? null : ["Packets in", packetRate(pps)],
          packets === undefined ? null : ["Dropped", `${scaled(packets)} packets (${byteCount(bytes ?? 0)})`],
          ["XDP mode", report.xdp_mode ?? "not reported"],
          ["Version", report.version ?? "not reported"],
          ["Rules document", report.rules_etag ?? "not reported"],
          ["Capabilities", capabilities === undefined ? "the rules of the first version" : capabilities.join(", ")],
          ["Reported", <Ago at={at} />],
        ]}
      />
    </Panel>
  );
}

function DivertedBans({ name }: { readonly name: string }) {
  return (
    <Panel title="Diverted bans" isWide>
      <Show loaded={bans.value} what="bans">
        {(all) => {
          const own = all.filter((ban: BanWire) => ban.node === name && ban.state === "active");
          return own.length === 0 ? (
            <Empty title="Nothing is diverted to it">
              A hostgroup with <code>mitigation: divert</code> sends its attacks to a scrub node.
            </Empty>
          ) : (
            <DataTable label="Diverted bans" columns={BAN_COLUMNS} rows={own} rowKey={banKey} />
          );
        }}
      </Show>
    </Panel>
  );
}
