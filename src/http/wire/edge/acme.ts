/** The calls of edge nodes for slots and challenges (docs/interface.md#acme). */
import { type Static, Type } from "@sinclair/typebox";
import type { ChallengeOrder, SlotAnswer } from "../../../edge/zones/acme-issuance.ts";
import {
  ACME_TOKEN_CHARACTERS_MAX,
  KEY_AUTHORIZATION_CHARACTERS_MAX,
  SLOT_RETRY_SECONDS_MAX,
} from "../../../limits.ts";
import { closedObject } from "../../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../../schema/timestamp.ts";
import { invalidBody } from "../../refusal.ts";
import { type FieldCheck, fieldCheck } from "../../server/fields.ts";
import { NameText } from "../request-texts.ts";

export type SlotOrder =
  | { readonly kind: "request"; readonly zone: string }
  /** `zone`: null: all slots of the node. */
  | { readonly kind: "release"; readonly zone: string | null };

const slotFields = fieldCheck(
  closedObject({
    /** Required unless release is true. */
    zone: Type.Optional(Type.String()),
    /** Returns the slot of the zone; without a zone, all slots of the node. */
    release: Type.Optional(Type.Boolean()),
  }),
);

export const slotCheck: FieldCheck<SlotOrder> = {
  schema: Type.Union([
    closedObject({ zone: NameText, release: Type.Optional(Type.Boolean()) }),
    closedObject({ release: Type.Literal(true) }),
  ]),
  check(value) {
    const checked = slotFields.check(value);
    if (checked.kind !== "fields") return checked;
    const { zone, release } = checked.fields;
    if (release === true) {
      return { kind: "fields", fields: { kind: "release", zone: zone === undefined ? null : zoneName(zone) } };
    }
    if (zone === undefined) return invalidBody("zone is required");
    return { kind: "fields", fields: { kind: "request", zone: zoneName(zone) } };
  },
};

export const SlotWire = Type.Union([
  closedObject({ granted: Type.Literal(true), expires_at: Timestamp }),
  closedObject({
    granted: Type.Literal(false),
    /** The node that holds the slot. */
    holder: Type.String(),
    retry_after_seconds: Type.Integer({ minimum: 1, maximum: SLOT_RETRY_SECONDS_MAX }),
  }),
]);

export function slotToWire(answer: Exclude<SlotAnswer, { kind: "unknown_zone" }>): Static<typeof SlotWire> {
  return answer.kind === "granted"
    ? { granted: true, expires_at: timestamp(answer.expiresAtMs) }
    : { granted: false, holder: answer.holder, retry_after_seconds: answer.retryAfterSeconds };
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;
/** RFC 8555, 8.1: the token, a dot, and the thumbprint of the account's key. */
const KEY_AUTHORIZATION = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

const challengeFields = fieldCheck(
  closedObject({ zone: Type.String(), token: Type.String(), key_authorization: Type.String() }),
);

export const challengeCheck: FieldCheck<ChallengeOrder> = {
  schema: closedObject({
    zone: Type.String(),
    token: Type.String({ pattern: BASE64URL.source, maxLength: ACME_TOKEN_CHARACTERS_MAX }),
    key_authorization: Type.String({
      pattern: KEY_AUTHORIZATION.source,
      maxLength: KEY_AUTHORIZATION_CHARACTERS_MAX,
    }),
  }),
  check(value) {
    const checked = challengeFields.check(value);
    if (checked.kind !== "fields") return checked;
    const { zone, token, key_authorization: keyAuthorization } = checked.fields;
    if (!BASE64URL.test(token) || token.length > ACME_TOKEN_CHARACTERS_MAX) {
      return invalidBody(`token must be base64url, 1 to ${ACME_TOKEN_CHARACTERS_MAX} characters`);
    }
    if (!KEY_AUTHORIZATION.test(keyAuthorization) || keyAuthorization.length > KEY_AUTHORIZATION_CHARACTERS_MAX) {
      return invalidBody(
        `key_authorization must be base64url, a dot, base64url, ${KEY_AUTHORIZATION_CHARACTERS_MAX} characters at most`,
      );
    }
    return { kind: "fields", fields: { zone: zoneName(zone), token, keyAuthorization } };
  },
};

function zoneName(zone: string): string {
  return zone.toLowerCase();
}
