/** The operator's rules for the data plane, and the orders that add and remove them. */

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import type { RuleCounts } from "../../dataplane/rule-counts.ts";
import { FILTER_RULE_REASON_MAX, FILTER_RULE_SECONDS_MAX } from "../../limits.ts";
import type { FilterRuleView } from "../../mitigation/operator/filter-rules.ts";
import { type OperatorRule, operatorRuleText } from "../../mitigation/operator/operator-rule.ts";
import { buildFilterRule, FilterRuleFile } from "../../mitigation/operator/rule-file.ts";
import { filterRuleFindings } from "../../mitigation/operator/rule-findings.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { takeShape } from "../../schema/shape.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { invalidBody } from "../refusal.ts";
import type { FieldCheck } from "../server/fields.ts";
import { plainTextFault } from "./plain-text.ts";
import { KEPT_FIELDS, SETTLED, savedToWire } from "./saved.ts";

export interface FilterRuleRequest {
  readonly rule: OperatorRule;
  /** In the form of the configuration. */
  readonly file: FilterRuleFile;
  readonly ttlSeconds: number;
  readonly reason: string;
}

const ORDER_FIELDS = {
  ttl_seconds: Type.Integer({ minimum: 1, maximum: FILTER_RULE_SECONDS_MAX }),
  reason: Type.Optional(Type.String({ maxLength: FILTER_RULE_REASON_MAX })),
};

export const filterRuleCheck: FieldCheck<FilterRuleRequest> = {
  schema: closedObject({ ...plainProperties(), ...ORDER_FIELDS }),
  check(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return invalidBody("not an object");
    const { ttl_seconds: ttlSeconds, reason = "", ...rest } = value as Record<string, unknown>;
    const { file, findings } = takeShape(FilterRuleFile, rest);
    const [finding] = [...findings, ...filterRuleFindings(file, undefined)];
    if (finding !== undefined) return invalidBody(`${finding.path.join(".")}: ${finding.rule}`);
    if (typeof reason !== "string") return invalidBody("reason must be a string");
    const fault = plainTextFault("reason", reason, FILTER_RULE_REASON_MAX);
    if (fault !== null) return invalidBody(fault);
    if (!isTime(ttlSeconds))
      return invalidBody(`ttl_seconds must be a whole number from 1 to ${FILTER_RULE_SECONDS_MAX}`);
    // Without findings nothing was removed, so the rule is complete.
    const whole = file as FilterRuleFile;
    const fields = { rule: buildFilterRule(whole), file: whole, ttlSeconds, reason: reason.toWellFormed() };
    return { kind: "fields", fields };
  },
};

function isTime(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= FILTER_RULE_SECONDS_MAX;
}

/** The configuration's schema in words that OpenAPI knows: its formats are ours. */
function plainProperties(): Record<string, TSchema> {
  const properties = structuredClone(FilterRuleFile.properties) as Record<string, TSchema>;
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => {
      const plain = withoutFormats(schema) as TSchema;
      const isNeeded = key === "name" || key === "action";
      return [key, isNeeded ? plain : Type.Optional(plain)];
    }),
  );
}

export function withoutFormats(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutFormats);
  if (typeof schema !== "object" || schema === null) return schema;
  const {
    format: _format,
    examples: _examples,
    ifAbsent: _ifAbsent,
    valueIfAbsent: _value,
    ...rest
  } = schema as Record<string, unknown>;
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withoutFormats(value)]));
}

export const FilterRuleWire = closedObject({
  name: Type.String(),
  action: oneOf("drop", "pass", "limit"),
  when: oneOf("always", "attacked"),
  dry_run: Type.Boolean(),
  /** The match, as one line. */
  match: Type.String(),
  /** Absent: no limit. */
  packets_per_second: Type.Optional(Type.Number()),
  mbps: Type.Optional(Type.Number()),
  per: Type.Optional(oneOf("all", "source")),
  origin: oneOf("configuration", "order"),
  /** For an order. */
  created_at: Type.Optional(Timestamp),
  expires_at: Type.Optional(Timestamp),
  reason: Type.Optional(Type.String()),
  /** The rule before it that decides about all that it matches. */
  hidden_by: Type.Optional(Type.String()),
  ...KEPT_FIELDS,
  /** Matched since it is in force, and of that dropped, or in a dry run what would be. Absent: not in the kernel. */
  packets: Type.Optional(Type.Integer()),
  bytes: Type.Optional(Type.Integer()),
  dropped_packets: Type.Optional(Type.Integer()),
  dropped_bytes: Type.Optional(Type.Integer()),
});

export const FilterRulesWire = closedObject({ rules: Type.Array(FilterRuleWire) });

export function filterRuleToWire(
  { rule, order, hiddenBy }: FilterRuleView,
  counts: RuleCounts | null,
  settled = SETTLED,
): Static<typeof FilterRuleWire> {
  const { name, action, when, isDryRun, limit } = rule;
  return {
    name,
    action,
    when,
    dry_run: isDryRun,
    match: operatorRuleText(rule),
    ...(limit === null || limit.packetsPerSecond === 0 ? {} : { packets_per_second: limit.packetsPerSecond }),
    ...(limit === null || limit.bytesPerSecond === 0 ? {} : { mbps: (limit.bytesPerSecond * 8) / 1e6 }),
    ...(limit === null ? {} : { per: limit.isPerSource ? "source" : "all" }),
    origin: order === null ? "configuration" : "order",
    ...(order === null
      ? {}
      : { created_at: timestamp(order.createdAt), expires_at: timestamp(order.expiresAt), reason: order.reason }),
    ...(hiddenBy === null ? {} : { hidden_by: hiddenBy }),
    ...savedToWire(settled),
    ...(counts === null
      ? {}
      : {
          packets: counts.packets,
          bytes: counts.bytes,
          dropped_packets: counts.droppedPackets,
          dropped_bytes: counts.droppedBytes,
        }),
  };
}
