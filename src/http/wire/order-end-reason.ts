/** Why an order is ended, or the file read again, for the audit trail: a body that may be empty. */
import { Type } from "@sinclair/typebox";
import { ORDER_END_REASON_MAX } from "../../limits.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import type { Commander } from "../../system/standing-orders.ts";
import type { Call } from "../route.ts";
import { type FieldCheck, fieldCheck } from "../server/fields.ts";
import { plainTextFault } from "./plain-text.ts";

const fields = fieldCheck(closedObject({ reason: Type.Optional(Type.String()) }));

export interface OrderEndReason {
  /** Empty: none is given. */
  readonly reason: string;
}

export const orderEndCheck: FieldCheck<OrderEndReason> = {
  schema: closedObject({ reason: Type.Optional(Type.String({ maxLength: ORDER_END_REASON_MAX })) }),
  check(value) {
    const checked = fields.check(value);
    if (checked.kind !== "fields") return checked;
    const reason = (checked.fields.reason ?? "").toWellFormed();
    const detail = plainTextFault("reason", reason, ORDER_END_REASON_MAX);
    return detail === null ? { kind: "fields", fields: { reason } } : { kind: "invalid_body", detail };
  },
};

/** The part of a route that ends an order. */
export const ORDER_END = { method: "DELETE", body: orderEndCheck, isBodyOptional: true } as const;

/** The caller, for those who are notified of the command. */
export function commanderOf(
  { principal }: Pick<Call, "principal">,
  { reason = "" }: Partial<OrderEndReason>,
): Commander {
  return { operator: principal.operator, tenant: principal.tenant, reason };
}

/** The text of the audit row: the ended order, and the caller's reason. @param reason absent: the body was empty */
export function endedText(what: string, { reason = "" }: Partial<OrderEndReason>): string {
  return [what, reason].filter((text) => text !== "").join(": ");
}
