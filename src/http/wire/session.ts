/** The caller's identity and rights. */
import { type Static, Type } from "@sinclair/typebox";
import type { SessionView } from "../../access/browser-sessions.ts";
import { isUnscoped, type Principal } from "../../access/principal.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { omitNulls } from "./omit-nulls.ts";

export const SessionWire = closedObject({
  /** No token is configured: everyone who reaches the listener is an operator. */
  open: Type.Boolean(),
  role: oneOf("viewer", "operator", "agent"),
  unscoped: Type.Boolean(),
  /** Name of the token, or of the user with `user ` before it; absent on an open API. */
  name: Type.Optional(Type.String()),
  /** Absent: not bound to one. */
  tenant: Type.Optional(Type.String()),
  /** When the sign-in of this browser ends; absent: the caller has a token, or needs none. */
  signed_in_until: Type.Optional(Timestamp),
});
export type SessionWire = Static<typeof SessionWire>;

/** @param session of the browser; null: the caller has none */
export function sessionToWire(principal: Principal, session: SessionView | null): SessionWire {
  const { operator, role, tenant } = principal;
  const until = session === null ? null : timestamp(session.expiresAt);
  const who = { open: operator === "", role, unscoped: isUnscoped(principal), name: operator || null, tenant };
  return omitNulls({ ...who, signed_in_until: until });
}
