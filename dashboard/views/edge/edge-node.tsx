/** One edge node: its polls and its last report. */
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Ago, Moment } from "../../parts/moment.tsx";
import { LastPoll, NoSuchNode, NotPolling } from "../../parts/nodes.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { scaled } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { CHALLENGES, HTTP3_STATES, wordOf } from "../../text/interface-words.ts";
import { EdgeEventList } from "./edge-events.tsx";
import {
  asText,
  type EdgeInventory,
  type EdgeNode,
  EdgeNodeState,
  NODES_EVERY_MS,
  NODES_PATH,
  terminatorText,
} from "./edge-nodes.tsx";

type Report = NonNullable<EdgeNode["report"]>;
type ZoneClaim = NonNullable<Report["zones"]>[number];

export function EdgeNodeView({ name }: { readonly name: string }) {
  const inventory = useResource<EdgeInventory>(NODES_PATH, NODES_EVERY_MS);
  return (
    <>
      <p>
        <a href={linkTo(["edge", "nodes"])}>{t`All edge nodes`}</a>
      </p>
      <Show loaded={inventory.state.value} what={t`edge node`} onRetry={() => void inventory.refresh()}>
        {({ nodes, stale_after_seconds: stale }) => {
          const node = nodes.find((each) => each.name === name);
          if (node === undefined) return <NoSuchNode what={t`edge node`} name={name} list="edge.nodes" />;
          return <Node node={node} staleSeconds={stale} />;
        }}
      </Show>
    </>
  );
}

function Node({ node, staleSeconds }: { readonly node: EdgeNode; readonly staleSeconds: number }) {
  const { report } = node;
  return (
    <div class="overview">
      <PollPanel node={node} staleSeconds={staleSeconds} />
      {report === undefined ? (
        <Panel title={t`Report`}>
          <Empty
            title={t`No report yet`}
          >{t`Nodes report every ten seconds; reports are no sign of life, polls are.`}</Empty>
        </Panel>
      ) : (
        <>
          <TerminatorPanel node={node} report={report} />
          <ZonesPanel report={report} />
        </>
      )}
      <Panel title={t`Events`} isWide>
        <EdgeEventList filter={{ node: node.name }} range="24h" />
      </Panel>
    </div>
  );
}

function PollPanel({ node, staleSeconds }: { readonly node: EdgeNode; readonly staleSeconds: number }) {
  return (
    <Panel title={node.name}>
      <NotPolling
        node={node}
        staleSeconds={staleSeconds}
      >{t`Check that the node runs, that its token is right, and that it can reach this service. It uses the last document that it received.`}</NotPolling>
      <Facts
        facts={[
          [t`State`, <EdgeNodeState node={node} />],
          [t`Last poll`, <LastPoll node={node} />],
          [t`Zones`, node.zones_placed],
          [t`Hostgroups`, node.hostgroups.join(", ")],
          [t`Bound tokens`, node.tokens?.join(", ") ?? t`none`],
          node.last_token === undefined ? null : [t`Token of the last poll`, node.last_token],
          node.reported_at === undefined ? null : [t`Reported`, <Ago at={node.reported_at} />],
        ]}
      />
    </Panel>
  );
}

function TerminatorPanel({ node, report }: { readonly node: EdgeNode; readonly report: Report }) {
  const { terminator = {}, dry_run: isDryRun } = report;
  const { generation, test_ok: isTestOk, test_error: testError, h3 } = terminator;
  return (
    <Panel title={t`Report`}>
      {isTestOk === false && (
        <Callout
          tone="danger"
          title={t`Its terminator refused the new configuration`}
        >{t`${testError ?? t`No reason was reported.`} What was in force before still is.`}</Callout>
      )}
      {h3?.advisory !== undefined && (
        <Callout tone="warn" title={t`Advisory`}>
          {asText(h3.advisory)}
        </Callout>
      )}
      <Facts
        facts={[
          [t`Version`, report.version ?? t`not reported`],
          [t`Dry run`, yesNo(isDryRun)],
          [t`Document`, report.zones_etag ?? t`not reported`],
          [t`Terminator`, terminatorText(node)],
          [t`Runs`, yesNo(terminator.alive)],
          [t`Generation`, generation === undefined ? t`not reported` : String(generation)],
          h3?.state === undefined ? null : ["HTTP/3", wordOf(HTTP3_STATES, h3.state)],
          h3?.module === undefined ? null : [t`HTTP/3 module`, <code>{asText(h3.module)}</code>],
          h3?.tls_library === undefined ? null : [t`TLS library`, asText(h3.tls_library)],
          h3?.listening === undefined ? null : [t`UDP 443 is open`, yesNo(h3.listening)],
          [t`Certificates`, report.certs?.length ?? 0],
          ...cuts(report),
        ]}
      />
    </Panel>
  );
}

/** Fields that the service does not read may have any type. */
function yesNo(flag: unknown): string {
  return flag === undefined ? t`not reported` : flag === true ? t`yes` : t`no`;
}

function cuts(report: Report): (readonly [string, string])[] {
  const { zones_truncated: zones = 0, certs_truncated: certs = 0, sources_truncated: sources = 0 } = report;
  if (zones + certs + sources === 0) return [];
  const left = [counted(zones, "zone"), counted(certs, "certificate"), counted(sources, "source")];
  return [[t`Left out for lack of space`, left.join(", ")]];
}

const COLUMNS: readonly Column<ZoneClaim>[] = [
  { key: "zone", title: t`Zone`, cell: ({ zone }) => <a href={linkTo(["edge", "zones", zone])}>{zone}</a> },
  { key: "rps", title: t`Requests/s`, cell: ({ rps = 0 }) => scaled(rps), isNumber: true },
  { key: "challenge", title: t`Challenge`, cell: (claim) => <Challenge claim={claim} /> },
  { key: "denied", title: t`Denied`, cell: ({ denied = 0 }) => scaled(denied), isNumber: true, width: "medium" },
  { key: "5xx", title: "5xx", cell: ({ status_5xx: failed = 0 }) => scaled(failed), isNumber: true, width: "medium" },
  {
    key: "at",
    title: t`Window until`,
    cell: ({ at }) => (at === undefined ? "–" : <Moment at={at} />),
    width: "wide",
  },
];

function Challenge({ claim }: { readonly claim: ZoneClaim }) {
  const { challenge, challenge_active: active, dry_run: isWatching } = claim;
  return (
    <span class="badges">
      {challenge === undefined ? t`not reported` : wordOf(CHALLENGES, challenge)}
      {active !== undefined && (
        <Badge tone={active.dry_run === true ? "info" : "warn"}>
          {active.dry_run === true ? t`would challenge` : t`challenging`}
        </Badge>
      )}
      {isWatching === true && <Badge tone="info">{t`watch only`}</Badge>}
    </span>
  );
}

function ZonesPanel({ report: { zones = [] } }: { readonly report: Report }) {
  return (
    <Panel title={t`Reported zones`} isWide>
      {zones.length === 0 ? (
        <Empty
          title={t`It reports no zone`}
        >{t`A report has only zones with decisions, each with the last closed window.`}</Empty>
      ) : (
        <DataTable label={t`Reported zones`} columns={COLUMNS} rows={zones} rowKey={({ zone }) => zone} />
      )}
    </Panel>
  );
}
