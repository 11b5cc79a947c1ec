/**
 * The status object (docs/interface.md#status); tokens with a tenant get a part of it. Parts that are not configured
 * are absent, as `bgp` without an announcer. `notify` always has every channel.
 */
import { type Static, Type } from "@sinclair/typebox";
import { isUnscoped, type Principal } from "../../access/principal.ts";
import type { QueueStats } from "../../dataplane/native.d.ts";
import type { RouteTerms } from "../../mitigation/mitigation-config.ts";
import { communitiesText } from "../../net/community.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { FILE_KINDS, type FileFaultView } from "../../system/file-fault.ts";
import { TARGET_KINDS } from "../../targets/target-words.ts";
import type { BgpView, CaptureView, StatusView } from "../backend.ts";
import { Method } from "./ban.ts";
import { DataplaneWire, dataplaneToWire } from "./dataplane.ts";
import { omitNulls } from "./omit-nulls.ts";
import { TelemetrySummaryWire, telemetrySummaryToWire } from "./telemetry.ts";
import { ThresholdsWire, thresholdsToWire } from "./traffic/rates.ts";

const BgpWire = closedObject({
  local_asn: Count,
  router_id: Type.String(),
  next_hop: Type.String(),
  next_hop6: Type.String(),
  community: Type.String(),
  local_pref: Count,
  speaker: oneOf("managed", "external"),
  connected: Type.Boolean(),
  /** Major version of the speaker while it answers. */
  gobgp_version: Type.Optional(Count),
  /** Why the speaker does not answer. */
  error: Type.Optional(Type.String()),
  neighbors: Type.Array(
    closedObject({
      address: Type.String(),
      /** As configured, for people. */
      name: Type.Optional(Type.String()),
      description: Type.Optional(Type.String()),
      /** Name of the policy by which it gets routes. */
      policy: Type.Optional(Type.String()),
      /** It has a session and gets no route. */
      dry_run: Type.Optional(Type.Literal(true)),
      remote_asn: Count,
      state: Type.String(),
      since: Type.Optional(Timestamp),
      /** Only with a session: the address families that both ends support. */
      families: Type.Optional(Type.Array(Type.String())),
      advertised: Count,
      /** Only if there are some: rules over which this neighbor resets its session. */
      kept_back: Type.Optional(Count),
      /** The notification with which it ended its last session, while it has none. */
      error: Type.Optional(Type.String()),
    }),
  ),
});

/** Absent if nothing is diverted; a next hop is absent if the family has none. */
const ScrubbingWire = closedObject({
  next_hop: Type.Optional(Type.String()),
  next_hop6: Type.Optional(Type.String()),
  /** As configured, for people. */
  next_hop_name: Type.Optional(Type.String()),
  community: Type.String(),
});

const QueueWire = closedObject({
  /** Absent if the source has no queues. */
  queue: Type.Optional(Count),
  received_packets: Count,
  received_bytes: Count,
  counted_packets: Count,
  untracked_packets: Count,
  foreign_packets: Count,
  /** By reason, only those above zero. */
  parse_errors: Type.Record(Type.String(), Count),
  /** The kinds of the frames of `not_ip`, by Ethernet type, or `llc_0x42` for LLC; absent if none is known. */
  ether_types: Type.Optional(Type.Record(Type.String(), Count)),
  /** Packets that carry others which were not looked at, by what they are; only those above zero. */
  encapsulated: Type.Optional(Type.Record(Type.String(), Count)),
  /** Packets of mirror tunnels from senders that are not configured. */
  refused_packets: Type.Optional(Count),
  dropped_packets: Count,
  dropped_ring_full: Count,
  dropped_fill_empty: Count,
  dropped_kernel: Count,
});

const CaptureWire = closedObject({
  tracked_hosts: Count,
  max_hosts: Count,
  /** Capacity of all links together, if it is configured. */
  link_mbps: Type.Optional(Count),
  /** Empty: control plane only. */
  interfaces: Type.Array(
    closedObject({
      name: Type.String(),
      kind: Type.String(),
      state: oneOf("running", "failed", "ended"),
      mode: Type.String(),
      error: Type.Optional(Type.String()),
      /** Changes that the operator should make, although the service runs. */
      warning: Type.Optional(Type.String()),
      queues: Type.Array(QueueWire),
    }),
  ),
});

const NotifyWire = closedObject({
  telegram: Type.Boolean(),
  webhook: Type.Boolean(),
  slack: Type.Boolean(),
  email: Type.Boolean(),
  exec: Type.Boolean(),
  teams: Type.Boolean(),
  pagerduty: Type.Boolean(),
  opsgenie: Type.Boolean(),
  alertmanager: Type.Boolean(),
  syslog: Type.Boolean(),
});

const StorageWire = closedObject({
  /** Changes in force that are not on disk yet: they would be lost with the process. */
  unsaved: Count,
  /** Why no history is written now. */
  history_paused: Type.Optional(Type.String()),
});

const FilesWire = Type.Array(
  closedObject({
    key: Type.String(),
    /** The purpose. */
    kind: oneOf(...FILE_KINDS),
    error: Type.String(),
    /** The setting that holds in its place. */
    effect: Type.String(),
    since: Timestamp,
  }),
);

/** The fields for all callers; with a tenant, only its own hostgroups and counts. */
const TENANT_FIELDS = {
  dry_run: Type.Boolean(),
  uptime_seconds: Type.Number({ minimum: 0 }),
  version: Type.String(),
  update_available: Type.Boolean(),
  role: Type.String(),
  unscoped: Type.Boolean(),
  active_attacks: Count,
  active_bans: Count,
  hostgroups: Type.Array(
    closedObject({
      ...{ name: Type.String(), calculation: Type.String(), mitigation: Method, ban: Type.Boolean() },
      /** Directions whose attacks make virtual bans there. Absent: none beyond `dry_run`. */
      dry_run_directions: Type.Optional(Type.Array(oneOf("incoming", "outgoing"), { minItems: 1 })),
    }),
  ),
  nodes_total: Count,
  edge_nodes_total: Count,
};

export const TenantStatusWire = closedObject(TENANT_FIELDS);
export type TenantStatusWire = Static<typeof TenantStatusWire>;

export const StatusWire = closedObject({
  ...TENANT_FIELDS,
  latest_version: Type.Optional(Type.String()),
  latest_is_security: Type.Optional(Type.Boolean()),
  latest_url: Type.Optional(Type.String()),
  networks: Type.Array(Type.String()),
  thresholds: ThresholdsWire,
  bgp: Type.Optional(BgpWire),
  scrubbing: Type.Optional(ScrubbingWire),
  notify: NotifyWire,
  capture: CaptureWire,
  storage: StorageWire,
  /** The other brains: absent without a cluster. */
  cluster: Type.Optional(
    closedObject({
      brains: Count,
      up: Count,
      faults: Count,
    }),
  ),
  /** Absent if no flow telemetry is configured. */
  telemetry: Type.Optional(TelemetrySummaryWire),
  /** Absent if none is configured. */
  dataplane: Type.Optional(DataplaneWire),
  /** Files that the configuration names and that cannot be used now; absent: there is none. */
  faulty_files: Type.Optional(FilesWire),
});
export type StatusWire = Static<typeof StatusWire>;

/** `status` must be the caller's own already. */
export function statusToWire(status: StatusView, principal: Principal): StatusWire | TenantStatusWire {
  return isUnscoped(principal) ? wholeStatus(status, principal) : tenantStatus(status, principal);
}

export function wholeStatus(status: StatusView, principal: Principal): StatusWire {
  return omitNulls({
    ...tenantStatus(status, principal),
    latest_version: status.update?.latestVersion ?? null,
    latest_is_security: status.update?.isSecurity ?? null,
    latest_url: status.update?.latestUrl ?? null,
    networks: status.networks as string[],
    thresholds: thresholdsToWire(status.thresholds),
    bgp: status.bgp === null ? null : bgpToWire(status.bgp),
    scrubbing: status.scrubbing === null ? null : scrubbingToWire(status.scrubbing, status.scrubbingName),
    notify: notifyToWire(status.notify),
    capture: captureToWire(status.capture),
    storage: omitNulls({ unsaved: status.storage.unsaved, history_paused: status.storage.historyPaused }),
    cluster: clusterSummary(status.cluster),
    telemetry: status.telemetry === null ? null : telemetrySummaryToWire(status.telemetry),
    dataplane: status.dataplane === null ? null : dataplaneToWire(status.dataplane, status.machineProblems),
    faulty_files: status.files.length === 0 ? null : status.files.map(fileToWire),
  });
}

function fileToWire({ sinceMs, ...fault }: FileFaultView): Static<typeof FilesWire>[number] {
  return { ...fault, since: timestamp(sinceMs) };
}

function notifyToWire(kinds: StatusView["notify"]): Static<typeof NotifyWire> {
  const wire: Partial<Static<typeof NotifyWire>> = {};
  for (const kind of TARGET_KINDS) wire[kind] = kinds.has(kind);
  return wire as Static<typeof NotifyWire>;
}

export function tenantStatus(status: StatusView, principal: Principal): TenantStatusWire {
  return {
    dry_run: status.dryRun,
    uptime_seconds: Math.floor(status.uptimeSeconds),
    version: status.version,
    update_available: status.update !== null,
    role: principal.role,
    unscoped: isUnscoped(principal),
    active_attacks: status.activeAttacks,
    active_bans: status.activeBans,
    hostgroups: status.hostgroups.map(hostgroupToWire),
    nodes_total: status.scrubNodes,
    edge_nodes_total: status.edgeNodes,
  };
}

function hostgroupToWire({
  name,
  calculation,
  mitigation,
  ban,
  dryRunDirections = [],
}: StatusView["hostgroups"][number]) {
  const group = { name, calculation, mitigation, ban };
  return dryRunDirections.length === 0 ? group : { ...group, dry_run_directions: [...dryRunDirections] };
}

function bgpToWire({ config, connected, gobgpVersion, fault, neighbors }: BgpView): Static<typeof BgpWire> {
  return omitNulls({
    local_asn: config.localAsn,
    router_id: config.routerId,
    next_hop: config.nextHop,
    next_hop6: config.nextHop6,
    community: communitiesText(config.communities),
    local_pref: config.localPref,
    speaker: config.speaker,
    connected,
    gobgp_version: gobgpVersion,
    error: fault,
    neighbors: neighbors.map(({ address, remoteAsn, state, sinceMs, families, advertised, keptBack, fault: error }) =>
      omitNulls({
        address,
        ...namesOf(config, address),
        remote_asn: remoteAsn,
        state,
        since: sinceMs === 0 ? null : timestamp(sinceMs),
        families: families.length === 0 ? null : [...families],
        advertised,
        kept_back: keptBack === 0 ? null : keptBack,
        error,
      }),
    ),
  });
}

/** The names of a configured neighbor. */
function namesOf({ neighbors }: BgpView["config"], address: string) {
  const configured = neighbors.find((neighbor) => neighbor.address === address);
  const { name = null, description = null, policy, dryRun: dry_run = null } = configured ?? {};
  return { name, description, policy: policy?.name ?? null, dry_run };
}

function scrubbingToWire(
  { nextHop, nextHop6, communities }: RouteTerms,
  name: string | null,
): Static<typeof ScrubbingWire> {
  return omitNulls({
    next_hop: nextHop,
    next_hop6: nextHop6,
    next_hop_name: name,
    community: communitiesText(communities),
  });
}

function captureToWire({ trackedHosts, maxHosts, linkMbps, sources }: CaptureView): Static<typeof CaptureWire> {
  return {
    tracked_hosts: trackedHosts,
    max_hosts: maxHosts,
    ...(linkMbps !== null && { link_mbps: linkMbps }),
    interfaces: sources.map(({ name, kind, state, mode, error, warning, queues }) =>
      omitNulls({ name, kind, state, mode, error, warning, queues: queues.map(queueToWire) }),
    ),
  };
}

/** null: none is. */
function aboveZero(counts: Readonly<Record<string, number>>): Record<string, number> | null {
  const found = Object.entries(counts).filter(([, value]) => value > 0);
  return found.length === 0 ? null : Object.fromEntries(found);
}

function queueToWire(queue: QueueStats): Static<typeof QueueWire> {
  return omitNulls({
    queue: queue.queue < 0 ? null : queue.queue,
    received_packets: queue.receivedPackets,
    received_bytes: queue.receivedBytes,
    counted_packets: queue.countedPackets,
    untracked_packets: queue.untrackedPackets,
    foreign_packets: queue.foreignPackets,
    parse_errors: Object.fromEntries(Object.entries(queue.parseErrors).filter(([, errors]) => errors > 0)),
    ether_types: aboveZero(queue.etherTypes),
    encapsulated: aboveZero(queue.encapsulated),
    refused_packets: queue.refused > 0 ? queue.refused : null,
    dropped_packets: queue.droppedRingFull + queue.droppedFillEmpty + queue.droppedKernel,
    dropped_ring_full: queue.droppedRingFull,
    dropped_fill_empty: queue.droppedFillEmpty,
    dropped_kernel: queue.droppedKernel,
  });
}

function clusterSummary(report: StatusView["cluster"]): NonNullable<StatusWire["cluster"]> | null {
  if (report === null || report === undefined) return null;
  const { brains, faults } = report;
  return { brains: brains.length, up: brains.filter(({ isUp }) => isUp).length, faults: faults.length };
}
