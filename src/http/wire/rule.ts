/** The rules of a ban (docs/interface.md#rule). */
import { Type } from "@sinclair/typebox";
import { type Measure, scrubbedRules } from "../../mitigation/measure.ts";
import { type RuleWire, routerActionToWire, ruleToWire } from "../../mitigation/rules/rule.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";

const RangeWire = closedObject({ from: Type.Integer(), to: Type.Integer() });

export const FlowspecWire = Type.Array(
  Type.Unsafe<RuleWire>(
    closedObject({
      dst: Type.Optional(Type.String()),
      src: Type.Optional(Type.String()),
      proto: Type.Optional(Type.Integer()),
      src_port: Type.Optional(Type.Integer()),
      dst_port: Type.Optional(Type.Integer()),
      tcp_flags: Type.Optional(Type.Integer()),
      fragment: Type.Optional(Type.Boolean()),
      action: oneOf("discard", "rate_limit", "redirect", "mark"),
      rate_bytes: Type.Optional(Type.Number()),
      src_ports: Type.Optional(Type.Array(RangeWire)),
      dst_ports: Type.Optional(Type.Array(RangeWire)),
      tcp_flags_unset: Type.Optional(Type.Integer()),
      packet_length: Type.Optional(closedObject({ min: Type.Integer(), max: Type.Integer() })),
      protos: Type.Optional(Type.Array(RangeWire)),
      rate_packets: Type.Optional(Type.Number()),
      redirect_to: Type.Optional(Type.String()),
      dscp: Type.Optional(Type.Integer({ minimum: 0, maximum: 63 })),
    }),
  ),
);

/** null: the method has no rules, which is different from having none yet. */
export function flowspecToWire(measure: Measure): RuleWire[] | null {
  if (measure.kind === "scrub") return scrubbedRules(measure).map(ruleToWire);
  if (measure.kind !== "flowspec") return null;
  const { rules, routers } = measure;
  if (routers === undefined) return rules.map(ruleToWire);
  return rules.map((rule) => {
    const { rate_bytes: _, ...match } = ruleToWire(rule);
    return { ...match, ...routerActionToWire(routers) };
  });
}
