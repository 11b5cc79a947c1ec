/** Shared links (docs/interface.md#shared-links): the list, the order of one, and what one shows. */
import { type Static, Type } from "@sinclair/typebox";
import type { SharedLink, SharedSubject } from "../../access/guest-links.ts";
import type { Principal } from "../../access/principal.ts";
import { SHARED_LINK_REASON_MAX, SHARED_LINK_SECONDS_MAX, SHARED_LINK_SECONDS_MIN } from "../../limits.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { type FieldCheck, fieldCheck } from "../server/fields.ts";
import { AttackWire } from "./attack.ts";
import { SeriesWire, TimelineWire } from "./attack-series.ts";
import { IncidentRowWire, IncidentWire } from "./incident.ts";
import { omitNulls } from "./omit-nulls.ts";
import { plainTextFault } from "./plain-text.ts";

/** One of them: what is shared. */
const Key = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$" });
const SUBJECT = {
  attack: Type.Optional(Key),
  incident: Type.Optional(Key),
  /** A customer: a tenant, or a hostgroup. */
  tenant: Type.Optional(Key),
  hostgroup: Type.Optional(Key),
};

const LINK = {
  id: Type.String(),
  ...SUBJECT,
  created_at: Timestamp,
  expires_at: Timestamp,
  /** Name of the token; absent on an open API. */
  by: Type.Optional(Type.String()),
};
export const SharedLinkWire = closedObject(LINK);
export type SharedLinkWire = Static<typeof SharedLinkWire>;

export const NewSharedLinkWire = closedObject({
  ...LINK,
  /** It is in no other answer. */
  secret: Type.String(),
});
export type NewSharedLinkWire = Static<typeof NewSharedLinkWire>;

export const SharedLinksWire = closedObject({
  /** `api.shared_links`. */
  allowed: Type.Boolean(),
  links: Type.Array(SharedLinkWire),
});
export type SharedLinksWire = Static<typeof SharedLinksWire>;

export const SharedWire = closedObject({
  expires_at: Timestamp,
  attack: Type.Optional(AttackWire),
  timeline: Type.Optional(TimelineWire),
  series: Type.Optional(SeriesWire),
  incident: Type.Optional(IncidentWire),
  /** Incidents of a customer, the newest first. */
  incidents: Type.Optional(Type.Array(IncidentRowWire)),
});
export type SharedWire = Static<typeof SharedWire>;

export interface SharedLinkRequest extends SharedSubject {
  readonly ttlSeconds: number;
  /** Empty: none is given. */
  readonly reason: string;
}

const OrderFields = closedObject({
  ...SUBJECT,
  ttl_seconds: Type.Integer({ minimum: SHARED_LINK_SECONDS_MIN, maximum: SHARED_LINK_SECONDS_MAX }),
  reason: Type.Optional(Type.String({ maxLength: SHARED_LINK_REASON_MAX })),
});
const orderFields = fieldCheck(OrderFields);

export const sharedLinkCheck: FieldCheck<SharedLinkRequest> = {
  schema: OrderFields,
  check(value) {
    const checked = orderFields.check(value);
    if (checked.kind !== "fields") return checked;
    const { ttl_seconds: ttlSeconds, reason = "", ...named } = checked.fields;
    const [subject, ...others] = Object.entries(named) as [SharedSubject["kind"], string][];
    if (subject === undefined || others.length > 0) {
      return { kind: "invalid_body", detail: "one of attack, incident, tenant and hostgroup is needed" };
    }
    const detail = plainTextFault("reason", reason, SHARED_LINK_REASON_MAX);
    if (detail !== null) return { kind: "invalid_body", detail };
    return { kind: "fields", fields: { kind: subject[0], key: subject[1], ttlSeconds, reason: reason.toWellFormed() } };
  },
};

/** A tenant sees its own callers' names. */
export function sharedLinkToWire(link: SharedLink, { tenant }: Principal): SharedLinkWire {
  const { id, kind, key, createdAt, expiresAt, by } = link;
  const isShown = by.operator !== "" && (tenant === null || tenant === by.tenant);
  return omitNulls({
    id,
    [kind]: key,
    created_at: timestamp(createdAt),
    expires_at: timestamp(expiresAt),
    by: isShown ? by.operator : null,
  });
}
