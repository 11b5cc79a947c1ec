/** All zones that the caller may see, zones with problems first. */
import type { Static } from "@sinclair/typebox";
import type { FleetStatusWire, ZoneStatusWire } from "../../../src/http/wire/edge/status.ts";
import { useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { numberColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { now } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { certDays, zoneWords } from "../../text/edge.ts";
import { scaled } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { CHALLENGES, wordOf } from "../../text/interface-words.ts";

export type FleetStatus = Static<typeof FleetStatusWire>;

export const ZONES_PATH = "/api/v1/edge/zones/status";
/** Nodes report every ten seconds. */
export const ZONES_EVERY_MS = 5000;
const WORDS_MAX = 2;

export function EdgeZones() {
  const status = useResource<FleetStatus>(ZONES_PATH, ZONES_EVERY_MS);
  return (
    <Show loaded={status.state.value} what={t`zones`} onRetry={() => void status.refresh()}>
      {(fleet) => (fleet.zones.length === 0 ? <NoZones /> : <ZoneList fleet={fleet} />)}
    </Show>
  );
}

const COUNT = { format: scaled, width: "wide" } as const;
const COLUMNS: readonly Column<ZoneStatusWire>[] = [
  {
    key: "zone",
    title: t`Zone`,
    cell: ({ zone }) => <a href={linkTo(["edge", "zones", zone])}>{zone}</a>,
    order: ({ zone }) => zone,
  },
  { key: "state", title: t`State`, cell: (zone) => <ZoneState zone={zone} />, order: urgency },
  {
    key: "challenge",
    title: t`Challenge`,
    cell: ({ challenge, file_challenge: inFile }) =>
      challenge === undefined
        ? inFile === undefined
          ? "–"
          : t`${CHALLENGES[inFile]} (file)`
        : wordOf(CHALLENGES, challenge),
    order: ({ challenge, file_challenge: inFile }) => challenge ?? inFile ?? "",
    width: "medium",
  },
  numberColumn(t`Requests/s`, ({ rps }) => rps, { format: scaled }),
  numberColumn(t`Denied`, ({ denied = 0 }) => denied, COUNT),
  numberColumn(t`Challenged`, ({ challenged = 0 }) => challenged, COUNT),
  numberColumn(t`Would deny`, ({ would_deny: deny = 0, would_challenge: challenge = 0 }) => deny + challenge, COUNT),
  {
    key: "nodes",
    title: t`Nodes alive`,
    cell: ({ placement }) => (placement === undefined ? "–" : t`${placement.alive} of ${placement.nodes}`),
    order: ({ placement }) => placement?.alive ?? -1,
    isNumber: true,
    width: "medium",
  },
  {
    key: "cert",
    title: t`Certificate`,
    cell: (zone) => certText(certDays(zone, now.value)),
    order: (zone) => certDays(zone, now.peek()) ?? Number.POSITIVE_INFINITY,
    isNumber: true,
    width: "wide",
  },
];

function certText(days: number | null): string {
  return days === null ? "–" : days < 0 ? t`expired` : t`${days} d`;
}

const TONES = ["danger", "warn", "info", "ok", "none"];

/** 0 is the most urgent. */
function urgency(zone: ZoneStatusWire): number {
  return Math.min(...zoneWords(zone, now.peek()).map(({ tone }) => TONES.indexOf(tone)), TONES.length);
}

function ZoneState({ zone }: { readonly zone: ZoneStatusWire }) {
  const words = zoneWords(zone, now.value);
  return (
    <span class="badges">
      {words.slice(0, WORDS_MAX).map(({ tone, text }) => (
        <Badge key={text} tone={tone}>
          {text}
        </Badge>
      ))}
      {words.length > WORDS_MAX && <span class="muted">+{words.length - WORDS_MAX}</span>}
    </span>
  );
}

function ZoneList({ fleet }: { readonly fleet: FleetStatus }) {
  const search = (place.value.query.get("q") ?? "").toLowerCase();
  const rows = fleet.zones.filter(({ zone, tenant = "" }) => `${zone} ${tenant}`.toLowerCase().includes(search));
  return (
    <Panel title={counted(fleet.zones.length, "zone")}>
      <FleetFaults fleet={fleet} />
      <div class="filters">
        <SearchField
          label={t`Find`}
          value={search}
          onSearch={(q) => setQuery({ q })}
          placeholder={t`hostname, tenant`}
        />
      </div>
      {rows.length === 0 ? (
        <Empty title={t`No zone matches`}>{t`Make the search shorter.`}</Empty>
      ) : (
        <DataTable
          label={t`Zones`}
          columns={COLUMNS}
          rows={rows}
          rowKey={({ zone }) => zone}
          firstSort={{ key: "state", isDescending: false }}
        />
      )}
      <p class="muted">{t`${counted(fleet.nodes_alive, "edge node")} alive, ${fleet.nodes_reporting} of them with a report. The figures are from their last windows, of ten seconds each.`}</p>
    </Panel>
  );
}

function FleetFaults({ fleet }: { readonly fleet: FleetStatus }) {
  const { nodes_alive: alive, zones_truncated: zones, certs_truncated: certs } = fleet;
  return (
    <>
      {alive === 0 && (
        <Callout
          tone="danger"
          title={t`No edge node is alive`}
        >{t`No node polls. Nodes that still run use the last document that they received. Check that they run and can reach this service.`}</Callout>
      )}
      {zones + certs > 0 && (
        <Callout
          tone="info"
          title={t`Reports had no room for all`}
        >{t`${counted(zones, "zone")} and ${counted(certs, "certificate")} are missing in what nodes say: figures here are too low.`}</Callout>
      )}
    </>
  );
}

function NoZones() {
  return isUnscoped() ? (
    <Empty
      title={t`No zone`}
    >{tx`Edge nodes serve the zones of a file. Name it in ${<code>edge.zones_file</code>} and the nodes in ${<code>edge.nodes</code>}, give each node a token with ${<code>role: agent</code>}, and reload.`}</Empty>
  ) : (
    <Empty
      title={t`No zone of your tenant`}
    >{tx`A zone belongs to your tenant if its ${<code>tenant</code>} in the zones file is yours. Ask the administrator of Floodwall.`}</Empty>
  );
}
