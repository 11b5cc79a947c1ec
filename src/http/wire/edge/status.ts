/** The zones as the alive edge nodes serve them, on the wire (docs/interface.md#zone-status). */
import { type Static, Type } from "@sinclair/typebox";
import {
  FLEET_COUNTERS,
  type FleetCounts,
  type FleetRow,
  type NodeCert,
  type NodeChallenge,
  type WouldBeSource,
  type ZoneStatus,
} from "../../../edge/fleet-status.ts";
import type { ChallengeOverride } from "../../../edge/zone-documents.ts";
import { round } from "../../../traffic/rates.ts";
import { omitNulls } from "../omit-nulls.ts";
import { oneOf } from "../one-of.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

const closed = { additionalProperties: false } as const;
const total = Type.Integer({ minimum: 0 });
const atLeastOne = Type.Optional(Type.Integer({ minimum: 1 }));
const names = Type.Optional(Type.Array(Type.String(), { minItems: 1 }));
const onlyTrue = Type.Optional(Type.Literal(true));

const NodeChallengeWire = Type.Object(
  {
    node: Type.String(),
    reason: Type.Optional(Type.String()),
    until: Type.Optional(Timestamp),
    dry_run: Type.Boolean(),
  },
  closed,
);

/** Of a lever in force. */
const OverrideWire = Type.Object({ mode: oneOf("auto", "manual"), until: Timestamp, reason: Type.String() }, closed);

const WouldBeWire = Type.Object(
  {
    source: Type.String(),
    /** The strongest of all nodes. */
    state: oneOf("would-deny", "would-challenge"),
    requests: total,
    nodes: Type.Array(Type.String()),
  },
  closed,
);

const NodeCertWire = Type.Object(
  { node: Type.String(), not_after: Timestamp, issuer: Type.Optional(Type.String()) },
  closed,
);

export const ZoneStatusWire = Type.Object(
  {
    zone: Type.String(),
    /** For tokens without a tenant, and zones that have one. */
    tenant: Type.Optional(Type.String()),
    /** Absent of a zone that is not in the zones file any more and has a lever still, as is file_challenge. */
    mode: Type.Optional(oneOf("decide", "none")),
    file_challenge: Type.Optional(oneOf("auto", "manual", "off")),
    /** What the nodes apply; mixed: not all the same. Absent: none says so. */
    challenge: Type.Optional(Type.String()),
    /** Alive ones whose last report names the zone. */
    nodes: total,
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
    /** How many of these the nodes did not tell of. */
    would_be_truncated: atLeastOne,
    partial: onlyTrue,
    certs: Type.Optional(Type.Array(NodeCertWire, { minItems: 1 })),
    /** Nodes that the configuration places it on, and alive ones of these; the hostgroup for tokens without a tenant. */
    placement: Type.Optional(
      Type.Object({ hostgroup: Type.Optional(Type.String()), nodes: total, alive: total }, closed),
    ),
    unserved: onlyTrue,
    /** Numbers of nodes, and of requests. */
    h3: Type.Optional(
      Type.Object({ enabled: Type.Boolean(), serving: total, unsupported: total, requests: total }, closed),
    ),
  },
  closed,
);
export type ZoneStatusWire = Static<typeof ZoneStatusWire>;

export const FleetStatusWire = Type.Object(
  {
    nodes_alive: total,
    /** Alive ones with a report. */
    nodes_reporting: total,
    /** What their reports had no room for, of all zones. */
    zones_truncated: total,
    certs_truncated: total,
    zones: Type.Array(ZoneStatusWire),
  },
  closed,
);

/** @param isUnscoped the caller has no tenant. */
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

/** null: nobody speaks HTTP/3 or asks for it. */
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
