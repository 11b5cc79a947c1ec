/** Targets of notifications on the wire. */
import { type Static, Type } from "@sinclair/typebox";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { closed } from "./closed.ts";
import { omitNulls } from "./omit-nulls.ts";

/** Times by the wall clock, ms. */
export interface NotifyTargetView {
  readonly name: string;
  readonly kind: string;
  /** Events. */
  readonly waiting: number;
  /** null: nothing was delivered since the start. */
  readonly deliveredAt: number | null;
  /** null: no attempt failed since the last delivery. */
  readonly lastFault: { readonly atMs: number; readonly cause: string } | null;
}

const NotifyTargetWire = Type.Object(
  {
    name: Type.String(),
    kind: Type.String(),
    waiting: Type.Integer({ minimum: 0 }),
    delivered_at: Type.Optional(Timestamp),
    failed_at: Type.Optional(Timestamp),
    failure: Type.Optional(Type.String()),
  },
  closed,
);
type NotifyTargetWire = Static<typeof NotifyTargetWire>;

export const NotifyTargetsWire = Type.Object({ targets: Type.Array(NotifyTargetWire) }, closed);
export const NotifyTestWire = Type.Object({ target: Type.String(), queued: Type.Boolean() }, closed);

export function notifyTargetToWire({
  name,
  kind,
  waiting,
  deliveredAt,
  lastFault,
}: NotifyTargetView): NotifyTargetWire {
  return omitNulls({
    ...{ name, kind, waiting },
    delivered_at: deliveredAt === null ? null : timestamp(deliveredAt),
    failed_at: lastFault === null ? null : timestamp(lastFault.atMs),
    failure: lastFault?.cause ?? null,
  });
}
