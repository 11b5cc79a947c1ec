/** One scrub node: its configuration, its report, and the bans that are diverted to it. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { names } from "../../api/known-names.ts";
import { bans } from "../../api/live.ts";
import { banKey } from "../../api/tables.ts";
import { t, tx } from "../../language.ts";
import { Callout, Empty } from "../../parts/callout.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { Ago } from "../../parts/moment.tsx";
import { LastPoll, NoSuchNode, NotPolling } from "../../parts/nodes.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { modeWord } from "../../text/capture-words.ts";
import { bitRate, byteCount, packetRate, scaled } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { CAPABILITIES, wordOf } from "../../text/interface-words.ts";
import { withName } from "../../text/known-names.ts";
import { BAN_COLUMNS } from "../bans/bans-panel.tsx";
import { lacksRules, loadText, NodeState, type ScrubNode } from "./scrub-node-state.tsx";

interface ScrubNodeDetailProps {
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
        <a href={linkTo(["scrub"])}>{t`All scrub nodes`}</a>
      </p>
      {node === undefined ? (
        <NoSuchNode what={t`scrub node`} name={name} list="scrubbing.nodes" />
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
      <NotPolling
        node={node}
        staleSeconds={staleSeconds}
      >{tx`Check that ${<code>floodwall-scrub</code>} runs there, that its token is right, and that it can reach this service.`}</NotPolling>
      {lacksRules(node) && (
        <Callout
          tone="warn"
          title={t`${counted(leftOut ?? 0, "rule")} left out`}
        >{t`Its agent does not understand them, and rules that it understands would drop too much of users: a part of what they match is not dropped. Update the agent to this version.`}</Callout>
      )}
      <Faults node={node} />
      <Facts
        facts={[
          node.description === undefined ? null : [t`Is`, node.description],
          [t`State`, <NodeState node={node} />],
          [t`Last poll`, <LastPoll node={node} />],
          hop === undefined ? null : [t`Next hop`, withName(names.value, hop)],
          hop6 === undefined ? null : [t`Next hop, IPv6`, withName(names.value, hop6)],
          [t`Capacity`, capacity === undefined ? t`not configured` : bitRate(capacity)],
          [t`Hostgroups`, hostgroups === undefined ? t`all hostgroups` : hostgroups.join(", ")],
          [t`Diverted bans`, node.active_bans],
          split === undefined ? null : [t`Rules split into simpler ones`, split],
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
        <Callout
          tone="danger"
          title={t`Its rules are not in force`}
        >{tx`It got rules ${<Ago at={since} />} and reports others: its log says why. Bans go to other nodes.`}</Callout>
      )}
      {refused > 0 && (
        <Callout tone="danger" title={t`${counted(refused, "ban")} refused`}>
          {tx`These do not go to it. Where they are of another site, set ${<code>hostgroups</code>} of the node in ${<code>scrubbing.nodes</code>}; else see its ${<code>bounds</code>}, or update its agent.`}
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
      <Panel title={t`Report`}>
        <Empty
          title={t`No report yet`}
        >{t`Load and drops appear with its first report. Polls, not reports, show that a node is alive.`}</Empty>
      </Panel>
    );
  }
  const { load_pps: pps, dropped_packets: packets, dropped_bytes: bytes, capabilities, dry_run: isDryRun } = report;
  return (
    <Panel title={t`Report`}>
      {isDryRun === true && (
        <Callout
          tone="warn"
          title={t`Dry run on the node`}
        >{tx`It counts what it would drop and drops nothing. Set ${<code>dry_run: false</code>} in its own configuration.`}</Callout>
      )}
      <Facts
        facts={[
          [t`Load`, loadText(node)],
          pps === undefined ? null : [t`Packets in`, packetRate(pps)],
          packets === undefined
            ? null
            : [
                isDryRun === true ? t`Would drop` : t`Dropped`,
                t`${scaled(packets)} packets (${byteCount(bytes ?? 0)})`,
              ],
          [t`XDP mode`, report.xdp_mode === undefined ? t`not reported` : modeWord(report.xdp_mode)],
          [t`Version`, report.version ?? t`not reported`],
          [t`Rules document`, report.rules_etag ?? t`not reported`],
          [
            t`Capabilities`,
            capabilities === undefined
              ? t`the rules of the first version`
              : capabilities.map((each) => wordOf(CAPABILITIES, each)).join(", "),
          ],
          [t`Reported`, <Ago at={at} />],
        ]}
      />
    </Panel>
  );
}

function DivertedBans({ name }: { readonly name: string }) {
  return (
    <Panel title={t`Diverted bans`} isWide>
      <Show loaded={bans.value} what={t`bans`}>
        {(all) => {
          const own = all.filter((ban: BanWire) => ban.node === name && ban.state === "active");
          return own.length === 0 ? (
            <Empty
              title={t`Nothing is diverted to it`}
            >{tx`A hostgroup with ${<code>mitigation: divert</code>} sends its attacks to a scrub node.`}</Empty>
          ) : (
            <DataTable label={t`Diverted bans`} columns={BAN_COLUMNS} rows={own} rowKey={banKey} />
          );
        }}
      </Show>
    </Panel>
  );
}
