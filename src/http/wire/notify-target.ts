/** Targets of notifications on the wire. */
import { type Static, Type } from "@sinclair/typebox";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { EVENT_KINDS, SEVERITIES, TENANT_KINDS } from "../../targets/target-words.ts";
import { type FieldCheck, fieldCheck } from "../server/fields.ts";
import { omitNulls } from "./omit-nulls.ts";
import { SAVED_FIELD } from "./saved.ts";

/** Bounds of the texts that a tenant gives for a target of its own. */
const [URL_CHARACTERS_MAX, SECRET_CHARACTERS_MAX] = [2048, 512];

/** Times by the wall clock, ms. */
export interface NotifyTargetView {
  readonly name: string;
  readonly kind: string;
  /** That set it; null: it is of the configuration. */
  readonly tenant: string | null;
  /** Events. */
  readonly waiting: number;
  /** null: nothing was delivered since the start. */
  readonly deliveredAt: number | null;
  /** null: no attempt failed since the last delivery. */
  readonly lastFault: { readonly atMs: number; readonly cause: string } | null;
}

const NotifyTargetWire = closedObject({
  name: Type.String(),
  kind: Type.String(),
  /** That set it. Absent: it is of the configuration. */
  tenant: Type.Optional(Type.String()),
  waiting: Count,
  delivered_at: Type.Optional(Timestamp),
  failed_at: Type.Optional(Timestamp),
  failure: Type.Optional(Type.String()),
});
type NotifyTargetWire = Static<typeof NotifyTargetWire>;

export const NotifyTargetsWire = closedObject({ targets: Type.Array(NotifyTargetWire) });
/** In an order. */
const OwnTargetWire = closedObject({
  kind: oneOf(...TENANT_KINDS),
  url: Type.Optional(Type.String({ maxLength: URL_CHARACTERS_MAX })),
  secret: Type.Optional(Type.String({ minLength: 1, maxLength: SECRET_CHARACTERS_MAX })),
  chat_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  severity: Type.Optional(oneOf(...SEVERITIES)),
  events: Type.Optional(Type.Array(oneOf(...EVENT_KINDS), { minItems: 1, maxItems: EVENT_KINDS.length })),
});
export type OwnTargetOrder = Static<typeof OwnTargetWire>;

export const OwnTargetSetWire = closedObject({ target: Type.String(), ...SAVED_FIELD });

/** The fields that each kind has; `url?` is optional there. */
const FIELDS: Readonly<Record<(typeof TENANT_KINDS)[number], readonly string[]>> = {
  webhook: ["url", "secret?"],
  slack: ["url"],
  teams: ["url"],
  telegram: ["secret", "chat_id"],
  pagerduty: ["secret", "url?"],
  opsgenie: ["secret", "url?"],
  alertmanager: ["url", "secret?"],
};

const shape = fieldCheck(OwnTargetWire);

export const ownTargetCheck: FieldCheck<OwnTargetOrder> = {
  schema: OwnTargetWire,
  check(value) {
    const checked = shape.check(value);
    if (checked.kind !== "fields") return checked;
    const fault = fieldsFault(checked.fields);
    return fault === null ? checked : { kind: "invalid_body", detail: fault };
  },
};

function fieldsFault(order: OwnTargetOrder): string | null {
  const fields = FIELDS[order.kind];
  for (const field of ["url", "secret", "chat_id"] as const) {
    const [isNeeded, isKnown] = [fields.includes(field), fields.includes(field) || fields.includes(`${field}?`)];
    if (isNeeded && order[field] === undefined) return `${field} is required for ${order.kind}`;
    if (!isKnown && order[field] !== undefined) return `${field} is not for ${order.kind}`;
  }
  const url = order.url === undefined ? null : URL.parse(order.url);
  if (order.url !== undefined && (url === null || !["http:", "https:"].includes(url.protocol)))
    return "url must be an http or https URL";
  return url !== null && (url.username !== "" || url.password !== "") ? "url must not hold an account" : null;
}

export const NotifyTestWire = closedObject({ target: Type.String(), queued: Type.Boolean() });

export function notifyTargetToWire({
  name,
  kind,
  tenant,
  waiting,
  deliveredAt,
  lastFault,
}: NotifyTargetView): NotifyTargetWire {
  return omitNulls({
    ...{ name, kind, tenant, waiting },
    delivered_at: deliveredAt === null ? null : timestamp(deliveredAt),
    failed_at: lastFault === null ? null : timestamp(lastFault.atMs),
    failure: lastFault?.cause ?? null,
  });
}
