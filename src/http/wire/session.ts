/** The caller's identity and rights. */
import { type Static, Type } from "@sinclair/typebox";
import { isUnscoped, type Principal } from "../../access/principal.ts";
import { closed } from "./closed.ts";
import { omitNulls } from "./omit-nulls.ts";
import { oneOf } from "./one-of.ts";

export const SessionWire = Type.Object(
  {
    /** No token is configured: everyone who reaches the listener is an operator. */
    open: Type.Boolean(),
    role: oneOf("viewer", "operator", "agent"),
    unscoped: Type.Boolean(),
    /** Name of the token; absent on an open API. */
    name: Type.Optional(Type.String()),
    /** Absent: not bound to one. */
    tenant: Type.Optional(Type.String()),
  },
  closed,
);
export type SessionWire = Static<typeof SessionWire>;

export function sessionToWire(principal: Principal): SessionWire {
  const { operator, role, tenant } = principal;
  return omitNulls({ open: operator === "", role, unscoped: isUnscoped(principal), name: operator || null, tenant });
}
