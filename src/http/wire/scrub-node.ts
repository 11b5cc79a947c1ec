/** The report of a scrub node, and the inventory of all scrub nodes (docs/interface.md#scrub-inventory). */

import { type Static, Type } from "@sinclair/typebox";
import { REFUSED_BANS_SHOWN } from "../../limits.ts";
import { Count, closedObject } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { readEnforced } from "../../scrub/enforced-report.ts";
import type { ScrubNodeView } from "../../scrub/scrub-nodes.ts";
import type { ScrubReport } from "../../scrub/scrub-report.ts";
import { type FieldCheck, fieldCheck } from "../server/fields.ts";
import { rewritten } from "./node-text.ts";
import { omitNulls } from "./omit-nulls.ts";

const total = Type.Optional(Type.Number({ minimum: 0 }));

/** Unknown keys are kept. */
export const ScrubReportWire = Type.Object({
  version: Type.Optional(Type.String()),
  xdp_mode: Type.Optional(Type.String()),
  dry_run: Type.Optional(Type.Boolean()),
  load_pps: total,
  load_mbps: total,
  dropped_packets: total,
  dropped_bytes: total,
  rules_etag: Type.Optional(Type.String()),
  /**
   * Match fields that it supports beyond those of the first version: `port_ranges`, `tcp_flags_unset`, `packet_length`,
   * `protocol_ranges`.
   */
  capabilities: Type.Optional(Type.Array(Type.String())),
});
export type ScrubReportWire = Static<typeof ScrubReportWire>;

const wireCheck = fieldCheck(ScrubReportWire);

export const scrubReportCheck: FieldCheck<ScrubReport> = {
  schema: wireCheck.schema,
  check(value, text) {
    const checked = wireCheck.check(value);
    if (checked.kind !== "fields") return checked;
    const result = rewritten(text);
    if (result.kind !== "text") return result;
    const { load_mbps: loadMbps = null, capabilities = [] } = checked.fields;
    return { kind: "fields", fields: { text: result.text, loadMbps, capabilities, enforced: readEnforced(value) } };
  },
};

const ScrubNodeWire = closedObject({
  name: Type.String(),
  /** As configured, for people. */
  description: Type.Optional(Type.String()),
  next_hop: Type.Optional(Type.String()),
  next_hop6: Type.Optional(Type.String()),
  capacity_mbps: Type.Optional(Type.Number()),
  /** Absent: it accepts the traffic of all hostgroups. */
  hostgroups: Type.Optional(Type.Array(Type.String())),
  alive: Type.Boolean(),
  /** Another brain saw it last, and is out of reach: nothing that is done with it changes. Absent: it is known. */
  unknown: Type.Optional(Type.Literal(true)),
  /** A poll of the node is parked now. */
  holding: Type.Boolean(),
  /** When its last poll started or ended. Absent: none since the service started. */
  last_seen: Type.Optional(Timestamp),
  /** Bans diverted to it. */
  active_bans: Count,
  /**
   * Rules that it gets split into simpler ones, and rules that it does not get, because its last report does not list
   * the needed capability. Absent: none.
   */
  split_rules: Type.Optional(Type.Integer({ minimum: 1 })),
  left_out_rules: Type.Optional(Type.Integer({ minimum: 1 })),
  /**
   * Bans that it refuses, whose traffic therefore does not go to it: how many, and the first of them. Absent: none.
   */
  refused_bans: Type.Optional(Type.Integer({ minimum: 1 })),
  refusals: Type.Optional(
    Type.Array(closedObject({ prefix: Type.String(), reason: Type.String() }), {
      maxItems: REFUSED_BANS_SHOWN,
    }),
  ),
  /** Since when it has rules that it did not put in force in time. Absent: it has none. */
  not_applied_since: Type.Optional(Timestamp),
  /** The last report, rewritten. */
  report: Type.Optional(ScrubReportWire),
  reported_at: Type.Optional(Timestamp),
});

export const ScrubInventoryWire = closedObject({
  nodes_total: Count,
  stale_after_seconds: Type.Integer({ minimum: 1 }),
  nodes: Type.Array(ScrubNodeWire),
});

/** Without the report, whose text is added. */
export function scrubNodeToWire(view: ScrubNodeView): Static<typeof ScrubNodeWire> {
  const { node, report, lastSeenAt, faults } = view;
  const { notAppliedSince } = faults;
  return omitNulls({
    name: node.name,
    description: node.description ?? null,
    next_hop: node.nextHop,
    next_hop6: node.nextHop6,
    capacity_mbps: node.capacityMbps,
    hostgroups: node.hostgroups === null ? null : [...node.hostgroups],
    alive: view.liveness === "alive",
    unknown: view.liveness === "unknown" ? (true as const) : null,
    holding: view.isHolding,
    last_seen: lastSeenAt === null ? null : timestamp(lastSeenAt),
    active_bans: view.activeBans,
    split_rules: view.splitRules || null,
    left_out_rules: view.leftOutRules || null,
    refused_bans: faults.refusedBans || null,
    refusals: faults.refusals.length === 0 ? null : [...faults.refusals],
    not_applied_since: notAppliedSince === null ? null : timestamp(notAppliedSince),
    reported_at: report === null ? null : timestamp(report.reportedAt),
  });
}
