/** The rules of a ban (docs/interface.md#rule). */
import { Type } from "@sinclair/typebox";
import { type Measure, scrubbedRules } from "../../mitigation/measure.ts";
import { type RuleWire, ruleToWire } from "../../mitigation/rules/rule.ts";
import { closed } from "./closed.ts";

const RangeWire = Type.Object({ from: Type.Integer(), to: Type.Integer() }, closed);

export const FlowspecWire = Type.Array(
  Type.Unsafe<RuleWire>(
    Type.Object(
      {
        dst: Type.Optional(Type.String()),
        src: Type.Optional(Type.String()),
        proto: Type.Optional(Type.Integer()),
        src_port: Type.Optional(Type.Integer()),
        dst_port: Type.Optional(Type.Integer()),
        tcp_flags: Type.Optional(Type.Integer()),
        fragment: Type.Optional(Type.Boolean()),
        action: Type.Union([Type.Literal("discard"), Type.Literal("rate_limit")]),
        rate_bytes: Type.Optional(Type.Number()),
        src_ports: Type.Optional(Type.Array(RangeWire)),
        dst_ports: Type.Optional(Type.Array(RangeWire)),
        tcp_flags_unset: Type.Optional(Type.Integer()),
        packet_length: Type.Optional(Type.Object({ min: Type.Integer(), max: Type.Integer() }, closed)),
        protos: Type.Optional(Type.Array(RangeWire)),
      },
      closed,
    ),
  ),
);

/** null: the method has no rules, which is different from having none yet. */
export function flowspecToWire(measure: Measure): RuleWire[] | null {
  if (measure.kind === "scrub") return scrubbedRules(measure).map(ruleToWire);
  return measure.kind === "flowspec" ? measure.rules.map(ruleToWire) : null;
}
