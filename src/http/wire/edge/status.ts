/** The zones as the alive edge nodes serve them, on the wire (docs/interface.md#zone-status). */
import { type Static, Type } from "@sinclair/typebox";
import type {
  FleetCounts,
  FleetRow,
  NodeCert,
  NodeChallenge,
  WouldBeSource,
  ZoneStatus,
} from "../../../edge/fleet-status.ts";
import { FLEET_COUNTERS } from "../../../edge/reports/edge-history.ts";
import type { ChallengeOverride } from "../../../edge/zones/zone-documents.ts";
import { Count, closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { round } from "../../../traffic/rates.ts";
import { omitNulls } from "../omit-nulls.ts";

const atLeastOne = Type.Optional(Type.Integer({ minimum: 1 }));
const names = Type.Optional(Type.Array(Type.String(), { minItems: 1 }));
const onlyTrue = Type.Optional(Type.Literal(true));

const NodeChallengeWire = closedObject({
  node: Type.String(),
  reason: Type.Optional(Type.String()),
  until: Type.Optional(Timestamp),
  dry_run: Type.Boolean(),
});

/** A lever in force. */
const OverrideWire = closedObject({ mode: oneOf("auto", "manual"), until: Timestamp, reason: Type.String() });

const WouldBeWire = closedObject({
  source: Type.String(),
  /** The strongest state reported by any node. */
  state: oneOf("would-deny", "would-challenge"),
  requests: Count,
  nodes: Type.Array(Type.String()),
});

const NodeCertWire = closedObject({ node: Type.String(), not_after: Timestamp, issuer: Type.Optional(Type.String()) });

export const ZoneStatusWire = closedObject({
  zone: Type.String(),
  /** For tokens without a tenant, if the zone has one. */
  tenant: Type.Optional(Type.String()),
  /** Absent for a zone that is not in the zones file any more but still has a lever; so is file_challenge. */
  mode: Type.Optional(oneOf("decide", "none")),
  file_challenge: Type.Optional(oneOf("auto", "manual", "off")),
  /** The setting that the nodes apply; mixed: they differ. Absent: no node reports it. */
  challenge: Type.Optional(Type.String()),
  /** Alive nodes whose last report has the zone. */
  nodes: Count,
  rps: Type.Number(),
  ...(Object.fromEntries(FLEET_COUNTERS.map((name) => [name, atLeastOne])) as Record<
    keyof FleetCounts,
    typeof atLeastOne
  >),
  watch_only: names,
  rung_watch_only: names,
  challenge_active: Type.Optional(Type.Array(NodeChallengeWire, { minItems: 1 })),
  override: Type.Optional(OverrideWire),
  would_be: Type.Optional(Type.Array(WouldBeWire, { minItems: 1 })),
  /** Number of such sources that the nodes left out. */
  would_be_truncated: atLeastOne,
  partial: onlyTrue,
  certs: Type.Optional(Type.Array(NodeCertWire, { minItems: 1 })),
  /**
   * Configured nodes that serve the zone, and the alive ones of these; the hostgroup only for tokens without a
   * tenant.
   */
  placement: Type.Optional(closedObject({ hostgroup: Type.Optional(Type.String()), nodes: Count, alive: Count })),
  unserved: onlyTrue,
  /** Numbers of nodes, and of requests. */
  h3: Type.Optional(closedObject({ enabled: Type.Boolean(), serving: Count, unsupported: Count, requests: Count })),
});
export type ZoneStatusWire = Static<typeof ZoneStatusWire>;

export const FleetStatusWire = closedObject({
  nodes_alive: Count,
  /** Alive nodes with a report. */
  nodes_reporting: Count,
  /** The number of entries that their reports left out, over all zones. */
  zones_truncated: Count,
  certs_truncated: Count,
  zones: Type.Array(ZoneStatusWire),
});

/** @param isUnscoped whether the caller has no tenant. */
export function fleetRowToWire(row: FleetRow, isUnscoped: boolean): ZoneStatusWire {
  if (row.kind === "removed") return { zone: row.name, nodes: 0, rps: 0, override: overrideToWire(row.override) };
  const { zone, placed, placedAlive } = row;
  return omitNulls({
    zone: zone.name,
    tenant: isUnscoped ? zone.tenant : null,
    mode: zone.policy.mode,
    file_challenge: zone.policy.challenge,
    challenge: row.challenge,
    nodes: row.nodes,
    rps: round(row.rps),
    ...countsToWire(row.counts),
    watch_only: filled(row.watchOnly),
    rung_watch_only: filled(row.rungWatchOnly),
    challenge_active: filled(row.challengeActive.map(challengeToWire)),
    override: row.override === null ? null : overrideToWire(row.override),
    would_be: filled(row.wouldBe.map(wouldBeToWire)),
    would_be_truncated: row.wouldBeCut || null,
    partial: onlyIf(row.isWouldBePartial),
    certs: filled(row.certs.map(certToWire)),
    placement: omitNulls({ hostgroup: isUnscoped ? zone.hostgroup : null, nodes: placed, alive: placedAlive }),
    unserved: onlyIf(placed > 0 && placedAlive === 0),
    h3: h3ToWire(row),
  });
}

function countsToWire(counts: FleetCounts): Partial<FleetCounts> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function challengeToWire({ node, reason, untilMs, isDryRun }: NodeChallenge): Static<typeof NodeChallengeWire> {
  return omitNulls({ node, reason, until: untilMs === null ? null : timestamp(untilMs), dry_run: isDryRun });
}

function overrideToWire({ mode, untilMs, reason }: ChallengeOverride): Static<typeof OverrideWire> {
  return { mode, until: timestamp(untilMs), reason };
}

function wouldBeToWire({ source, state, requests, nodes }: WouldBeSource): Static<typeof WouldBeWire> {
  return { source, state, requests, nodes: [...nodes] };
}

function certToWire({ node, notAfterMs, issuer }: NodeCert): Static<typeof NodeCertWire> {
  return omitNulls({ node, not_after: timestamp(notAfterMs), issuer });
}

/** null: no node serves or requests HTTP/3. */
function h3ToWire({ zone, h3 }: ZoneStatus): NonNullable<ZoneStatusWire["h3"]> | null {
  const enabled = zone.tls.h3;
  return enabled || h3.serving + h3.unsupported + h3.requests > 0 ? { enabled, ...h3 } : null;
}

function filled<T>(list: readonly T[]): T[] | null {
  return list.length === 0 ? null : [...list];
}

function onlyIf(isSo: boolean): true | null {
  return isSo || null;
}
