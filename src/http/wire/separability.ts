/** Whether rules separate an attack from users (docs/interface.md#separability). */
import { type Static, Type } from "@sinclair/typebox";
import { ESTIMATES, type Separability } from "../../mitigation/separability.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";

export const SeparabilityWire = closedObject({
  verdict: oneOf("yes", "no", "unknown"),
  /** The share of the users' packets that the rules match; absent: nothing shows it. */
  users_at_risk: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  estimated_by: Type.Optional(Type.Union(ESTIMATES.map((estimate) => Type.Literal(estimate)))),
});

interface SeparabilityFields {
  readonly separable?: boolean;
  readonly separability?: Static<typeof SeparabilityWire>;
}

/** @param separability null: there are no rules, or they have not been looked for. */
export function separabilityToWire(separability: Separability | null): SeparabilityFields {
  if (separability === null) return {};
  const { verdict, usersAtRisk, estimatedBy } = separability;
  return {
    separable: verdict === "yes",
    separability: {
      verdict,
      ...(usersAtRisk === null ? {} : { users_at_risk: Math.round(usersAtRisk * 1e4) / 1e4 }),
      ...(estimatedBy === null ? {} : { estimated_by: estimatedBy }),
    },
  };
}
