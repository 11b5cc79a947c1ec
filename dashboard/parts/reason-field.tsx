/** The reason of an order, for the audit trail: it may be left empty. */
import { ORDER_END_REASON_MAX } from "../../src/limits.ts";
import { t } from "../language.ts";
import { TextField } from "./field.tsx";

/** Part of an order's body. */
export type GivenReason = { readonly reason?: string };

interface ReasonFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

export function ReasonField(props: ReasonFieldProps) {
  return <TextField label={t`Reason`} maxLength={ORDER_END_REASON_MAX} placeholder={t`ticket 7`} {...props} />;
}

export function givenReason(reason: string): GivenReason {
  return reason.trim() === "" ? {} : { reason: reason.trim() };
}
