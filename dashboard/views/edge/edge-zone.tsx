/** One zone: placement, lever, history, sources, and certificates. */
import type { ZoneStatusWire } from "../../../src/http/wire/edge/status.ts";
import { useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment, now } from "../../parts/moment.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { CERT_DAYS_SHORT, daysLeft, zoneWords } from "../../text/edge.ts";
import { scaled, wholeNumber } from "../../text/format/numbers.ts";
import { EdgeEventList } from "./edge-events.tsx";
import { EdgeHistory } from "./edge-history.tsx";
import { LeverPanel } from "./edge-lever.tsx";
import { EdgeSources } from "./edge-sources.tsx";
import { type FleetStatus, ZONES_EVERY_MS, ZONES_PATH } from "./edge-zones.tsx";

export function EdgeZone({ name }: { readonly name: string }) {
  const status = useResource<FleetStatus>(ZONES_PATH, ZONES_EVERY_MS);
  return (
    <>
      <p>
        <a href={linkTo(["edge", "zones"])}>{t`All zones`}</a>
      </p>
      <Show loaded={status.state.value} what={t`state of the zone`} onRetry={() => void status.refresh()}>
        {({ zones }) => {
          const zone = zones.find((each) => each.zone === name.toLowerCase());
          if (zone === undefined) {
            return (
              <Empty
                title={t`No zone ${name}`}
              >{t`The zones file does not name it, or it is not your tenant's.`}</Empty>
            );
          }
          return <Zone zone={zone} onChanged={() => void status.refresh()} />;
        }}
      </Show>
    </>
  );
}

function Zone({ zone, onChanged }: { readonly zone: ZoneStatusWire; readonly onChanged: () => void }) {
  const isInFile = zone.file_challenge !== undefined;
  return (
    <div class="overview">
      <ServedPanel zone={zone} />
      <LeverPanel zone={zone} onChanged={onChanged} />
      {isInFile && (
        <>
          <EdgeHistory zone={zone.zone} />
          <WouldBe zone={zone} />
          <EdgeSources zone={zone.zone} />
          <Certificates zone={zone} />
          {isUnscoped() && (
            <Panel title={t`Events`} isWide>
              <EdgeEventList filter={{ zone: zone.zone }} range="24h" />
            </Panel>
          )}
        </>
      )}
    </div>
  );
}

function ServedPanel({ zone }: { readonly zone: ZoneStatusWire }) {
  const { placement, h3, watch_only: watching, rung_watch_only: rungWatching } = zone;
  return (
    <Panel title={zone.zone}>
      {zone.unserved === true && (
        <Callout
          tone="danger"
          title={t`No node with the current policy serves it`}
        >{t`All its nodes are lost. Nodes that still run use the last document that they received.`}</Callout>
      )}
      <Facts
        facts={[
          [t`State`, <Words zone={zone} />],
          zone.tenant === undefined ? null : [t`Tenant`, zone.tenant],
          [t`Requests`, t`${scaled(zone.rps)} req/s`],
          ...COUNTS.map(([key, title]) =>
            zone[key] === undefined ? null : ([title, wholeNumber(zone[key])] as const),
          ),
          placement === undefined ? null : [t`Nodes alive`, t`${placement.alive} of ${placement.nodes}`],
          placement?.hostgroup === undefined ? null : [t`Hostgroup`, placement.hostgroup],
          watching === undefined ? null : [t`Dry run on`, watching.join(", ")],
          rungWatching === undefined ? null : [t`Challenges in dry run on`, rungWatching.join(", ")],
          h3 === undefined ? null : ["HTTP/3", h3Text(h3)],
        ]}
      />
    </Panel>
  );
}

/** Sums of the last windows of its nodes. */
const COUNTS = [
  ["decided", t`Decided`],
  ["denied", t`Denied`],
  ["challenged", t`Challenged`],
  ["cleared", t`Passed the challenge`],
  ["would_deny", t`Would be denied`],
  ["would_challenge", t`Would be challenged`],
] as const;

function Words({ zone }: { readonly zone: ZoneStatusWire }) {
  return (
    <span class="badges">
      {zoneWords(zone, now.value).map(({ tone, text }) => (
        <Badge key={text} tone={tone}>
          {text}
        </Badge>
      ))}
    </span>
  );
}

function h3Text({ enabled, serving, unsupported, requests }: NonNullable<ZoneStatusWire["h3"]>): string {
  const parts = [
    enabled ? t`on` : t`off in the file`,
    t`${serving} serve it`,
    unsupported > 0 ? t`${unsupported} cannot` : "",
    t`${wholeNumber(requests)} requests`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

type Would = NonNullable<ZoneStatusWire["would_be"]>[number];

const WOULD = { "would-deny": t`denied`, "would-challenge": t`challenged` } as const satisfies Record<
  Would["state"],
  string
>;

const WOULD_COLUMNS: readonly Column<Would>[] = [
  { key: "source", title: t`Source`, cell: ({ source }) => source },
  {
    key: "state",
    title: t`Would be`,
    cell: ({ state }) => WOULD[state],
  },
  { key: "requests", title: t`Requests`, cell: ({ requests }) => wholeNumber(requests), isNumber: true },
  { key: "nodes", title: t`Seen by`, cell: ({ nodes }) => nodes.join(", "), width: "medium" },
];

/** Shown in dry run: the sources that the policy would deny or challenge. Hidden if there are none. */
function WouldBe({ zone: { would_be: sources, would_be_truncated: cut, partial } }: { readonly zone: ZoneStatusWire }) {
  if (sources === undefined && partial !== true) return null;
  return (
    <Panel title={t`Would be refused or challenged now`} isWide>
      {partial === true && (
        <Callout
          tone="info"
          title={t`There are more`}
        >{t`Each node reports at most twenty${cut === undefined ? "" : t`; ${wholeNumber(cut)} are known to be missing`}.`}</Callout>
      )}
      {sources !== undefined && (
        <DataTable label={t`Would-be sources`} columns={WOULD_COLUMNS} rows={sources} rowKey={({ source }) => source} />
      )}
    </Panel>
  );
}

type Cert = NonNullable<ZoneStatusWire["certs"]>[number];

const CERT_COLUMNS: readonly Column<Cert>[] = [
  { key: "node", title: t`Node`, cell: ({ node }) => node },
  { key: "left", title: t`Days left`, cell: ({ not_after: end }) => <DaysLeft end={end} />, isNumber: true },
  { key: "end", title: t`Until`, cell: ({ not_after: end }) => <Moment at={end} />, width: "medium" },
  { key: "issuer", title: t`Issuer`, cell: ({ issuer }) => issuer ?? t`not reported`, width: "medium" },
];

function DaysLeft({ end }: { readonly end: string }) {
  const days = daysLeft(Date.parse(end), now.value);
  if (days >= CERT_DAYS_SHORT) return <>{days}</>;
  return <Badge tone={days < 0 ? "danger" : "warn"}>{days < 0 ? t`expired` : `${days}`}</Badge>;
}

function Certificates({ zone: { certs } }: { readonly zone: ZoneStatusWire }) {
  return (
    <Panel title={t`Certificates`} isWide>
      {certs === undefined ? (
        <Empty
          title={t`No node reports a certificate`}
        >{t`Certificates appear with the next report of a node that has one.`}</Empty>
      ) : (
        <DataTable
          label={t`Certificates`}
          columns={CERT_COLUMNS}
          rows={certs}
          rowKey={({ node, not_after: end }) => `${node} ${end}`}
        />
      )}
    </Panel>
  );
}
