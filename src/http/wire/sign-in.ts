/** Signing in by an identity provider (docs/interface.md#sign-in). */
import { type Static, Type } from "@sinclair/typebox";
import type { SessionView } from "../../access/browser-sessions.ts";
import type { Principal } from "../../access/principal.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { fieldCheck } from "../server/fields.ts";
import { omitNulls } from "./omit-nulls.ts";
import { SAVED_FIELD } from "./saved.ts";

export const SignInWire = closedObject({
  /** Absent: none is configured. */
  provider: Type.Optional(
    closedObject({
      name: Type.String(),
      /** Where the browser goes. */
      url: Type.String(),
      /** False: the provider does not answer, or its document cannot be used. */
      available: Type.Boolean(),
    }),
  ),
});
export type SignInWire = Static<typeof SignInWire>;

const BrowserSessionWire = closedObject({
  id: Type.String(),
  name: Type.String(),
  role: oneOf("viewer", "operator"),
  tenant: Type.Optional(Type.String()),
  created_at: Timestamp,
  expires_at: Timestamp,
  seen_at: Timestamp,
  /** It is that of this request. */
  current: Type.Boolean(),
});
export type BrowserSessionWire = Static<typeof BrowserSessionWire>;

export const BrowserSessionsWire = closedObject({ sessions: Type.Array(BrowserSessionWire) });
export type BrowserSessionsWire = Static<typeof BrowserSessionsWire>;

const SignOutFields = closedObject({
  /** Default: false. */
  everywhere: Type.Optional(Type.Boolean()),
});
export type SignOutRequest = Static<typeof SignOutFields>;
export const signOutCheck = fieldCheck(SignOutFields);

export const SignedOutWire = closedObject({
  /** Sessions that have ended. */
  ended: Type.Integer(),
  /** Where the user ends the session with the provider itself; absent: it has no such page. */
  provider_url: Type.Optional(Type.String()),
  ...SAVED_FIELD,
});
export type SignedOutWire = Static<typeof SignedOutWire>;

export function browserSessionToWire(session: SessionView, caller: Principal): BrowserSessionWire {
  const { id, principal, createdAt, expiresAt, seenAt } = session;
  return omitNulls({
    id,
    name: principal.operator,
    role: principal.role as "viewer" | "operator",
    tenant: principal.tenant,
    created_at: timestamp(createdAt),
    expires_at: timestamp(expiresAt),
    seen_at: timestamp(seenAt),
    current: caller.session === id,
  });
}
