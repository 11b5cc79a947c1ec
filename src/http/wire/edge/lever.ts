/** The challenge lever of a zone: the request, and the resulting setting (docs/interface.md#lever). */

import { type Static, Type } from "@sinclair/typebox";
import type { Lever, LeverOrder } from "../../../edge/zones/levers.ts";
import type { Zone } from "../../../edge/zones/zone.ts";
import { LEVER_REASON_MAX, LEVER_SECONDS_MAX, LEVER_SECONDS_MIN } from "../../../limits.ts";
import { closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { invalidBody } from "../../refusal.ts";
import { type FieldCheck, fieldCheck } from "../../server/fields.ts";
import { omitNulls } from "../omit-nulls.ts";
import { plainTextFault } from "../plain-text.ts";
import { KEPT_FIELDS, type Settled, savedToWire } from "../saved.ts";

export type LeverRequest = LeverOrder | { readonly mode: "off"; readonly reason: string };

/** The schema in the API's description. */
const LeverRequestWire = Type.Union([
  closedObject({
    mode: oneOf("manual", "auto"),
    ttl_seconds: Type.Integer({ minimum: LEVER_SECONDS_MIN, maximum: LEVER_SECONDS_MAX }),
    reason: Type.Optional(Type.String({ maxLength: LEVER_REASON_MAX })),
  }),
  closedObject({
    mode: Type.Literal("off"),
    /** Ignored. */
    ttl_seconds: Type.Optional(Type.Unknown()),
    reason: Type.Optional(Type.String({ maxLength: LEVER_REASON_MAX })),
  }),
]);

const fields = fieldCheck(
  closedObject({
    mode: Type.String(),
    ttl_seconds: Type.Optional(Type.Unknown()),
    reason: Type.Optional(Type.String()),
  }),
);

export const leverCheck: FieldCheck<LeverRequest> = {
  schema: LeverRequestWire,
  check(value) {
    const checked = fields.check(value);
    if (checked.kind !== "fields") return checked;
    const { mode, ttl_seconds: ttlSeconds, reason: words = "" } = checked.fields;
    // Half of a surrogate pair would be stored as another character by the databases.
    const reason = words.toWellFormed();
    if (mode !== "manual" && mode !== "auto" && mode !== "off") return invalidBody("mode must be manual, auto or off");
    const fault = plainTextFault("reason", reason, LEVER_REASON_MAX);
    if (fault !== null) return invalidBody(fault);
    if (mode === "off") return { kind: "fields", fields: { mode, reason } };
    if (isLeverTime(ttlSeconds)) return { kind: "fields", fields: { mode, ttlSeconds, reason } };
    return invalidBody(`ttl_seconds must be a whole number from ${LEVER_SECONDS_MIN} to ${LEVER_SECONDS_MAX}`);
  },
};

function isLeverTime(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= LEVER_SECONDS_MIN && Number(value) <= LEVER_SECONDS_MAX;
}

export const LeverWire = closedObject({
  zone: Type.String(),
  /** All three absent: the zone follows its file. */
  mode: Type.Optional(oneOf("auto", "manual")),
  until: Type.Optional(Timestamp),
  reason: Type.Optional(Type.String()),
  /** policy.challenge of the zones file; empty: the zone is not in the file any more. */
  file_mode: oneOf("auto", "manual", "off", ""),
  ...KEPT_FIELDS,
  /** policy.dry_run and policy.challenge_options.dry_run of the zones file. */
  zone_watch_only: Type.Boolean(),
  rung_watch_only: Type.Boolean(),
  /** Nodes that serve the zone. */
  nodes: Type.Array(
    closedObject({
      name: Type.String(),
      alive: Type.Boolean(),
      /** Absent: the node has not reported yet. */
      dry_run: Type.Optional(Type.Boolean()),
    }),
  ),
});

interface LeverView {
  readonly name: string;
  /** null: it is not in the zones file any more. */
  readonly zone: Zone | null;
  /** The lever in force; null: none. */
  readonly lever: Lever | null;
  /** False: the disk has not taken the order yet. */
  readonly settled: Settled;
  readonly nodes: readonly { readonly name: string; readonly isAlive: boolean; readonly dryRun: boolean | null }[];
}

export function leverToWire({ name, zone, lever, settled, nodes }: LeverView): Static<typeof LeverWire> {
  return {
    zone: name,
    ...(lever === null ? {} : { mode: lever.mode, until: timestamp(lever.untilMs), reason: lever.reason }),
    file_mode: zone?.policy.challenge ?? "",
    ...savedToWire(settled),
    zone_watch_only: zone?.policy.dryRun ?? false,
    rung_watch_only: zone?.policy.challengeOptions.dryRun ?? false,
    nodes: nodes.map((node) => omitNulls({ name: node.name, alive: node.isAlive, dry_run: node.dryRun })),
  };
}
