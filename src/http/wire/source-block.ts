/**
 * The source block (docs/interface.md#source-block), and the requests for it (docs/interface.md#source-block-command).
 */
import { type Static, Type } from "@sinclair/typebox";
import { SOURCE_BLOCK_REASON_MAX, SOURCE_BLOCK_SECONDS_MAX } from "../../limits.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import type { SourceBlockView } from "../../sourceblock/source-blocks.ts";
import type { Dropping } from "../backend.ts";
import { ADDRESS_TEXTS } from "./request-texts.ts";
import { KEPT_FIELDS, SETTLED, savedToWire } from "./saved.ts";
import { DROPPED_FIELDS, droppedToWire } from "./traffic/dropped.ts";

const reason = Type.Optional(Type.String({ maxLength: SOURCE_BLOCK_REASON_MAX }));
const ttlSeconds = Type.Integer({ minimum: 1, maximum: SOURCE_BLOCK_SECONDS_MAX });

/** Both addresses must be of the same family. */
export const SourceBlockRequest = Type.Union(
  ADDRESS_TEXTS.map((address) => closedObject({ victim: address, source: address, ttl_seconds: ttlSeconds, reason })),
);

/** `ttl_seconds` is ignored, so that a caller may send the same body as for the block. */
export const SourceUnblockRequest = Type.Union(
  ADDRESS_TEXTS.map((address) =>
    closedObject({
      victim: address,
      source: address,
      ttl_seconds: Type.Optional(Type.Unknown()),
      reason: Type.Optional(Type.String()),
    }),
  ),
);

const pair = { victim: Type.String(), source: Type.String() };

/** The route itself checks numbers and addresses, so that the audit row of an invalid one names the pair as well. */
export const SourceBlockFields = closedObject({
  ...pair,
  ttl_seconds: Type.Number(),
  reason: Type.Optional(Type.String()),
});
export const SourceUnblockFields = closedObject({
  ...pair,
  ttl_seconds: Type.Optional(Type.Unknown()),
  reason: Type.Optional(Type.String()),
});

export const SourceBlockWire = closedObject({
  source: Type.String(),
  victim: Type.String(),
  created_at: Timestamp,
  expires_at: Timestamp,
  dry_run: Type.Boolean(),
  reason: Type.String(),
  /** False while it is not installed in the kernel, which is tried again. Otherwise absent. */
  installed: Type.Optional(Type.Literal(false)),
  ...KEPT_FIELDS,
  ...DROPPED_FIELDS,
});
export type SourceBlockWire = Static<typeof SourceBlockWire>;

export const SourceBlocksWire = closedObject({ sources: Type.Array(SourceBlockWire) });
export type SourceBlocksWire = Static<typeof SourceBlocksWire>;

export function sourceBlockToWire({
  block,
  dryRun,
  isInstalled,
  dropped,
  settled = SETTLED,
}: SourceBlockView & Dropping): SourceBlockWire {
  const { source, victim, createdAt, expiresAt, reason } = block;
  return {
    source,
    victim,
    created_at: timestamp(createdAt),
    expires_at: timestamp(expiresAt),
    dry_run: dryRun,
    reason,
    ...(dryRun || isInstalled ? {} : { installed: false }),
    ...savedToWire(settled),
    ...droppedToWire(dropped),
  };
}
