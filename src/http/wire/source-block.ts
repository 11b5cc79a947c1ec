/**
 * The source block (docs/interface.md#source-block), and what a caller sends for one
 * (docs/interface.md#source-block-command).
 */
import { type Static, Type } from "@sinclair/typebox";
import { SOURCE_BLOCK_REASON_MAX, SOURCE_BLOCK_SECONDS_MAX } from "../../limits.ts";
import type { SourceBlockView } from "../../sourceblock/source-blocks.ts";
import type { Dropping } from "../backend.ts";
import { DROPPED_FIELDS, droppedToWire } from "./dropped.ts";
import { Timestamp, timestamp } from "./timestamp.ts";

const closed = { additionalProperties: false } as const;

const pair = { victim: Type.String(), source: Type.String() };
const reason = Type.Optional(Type.String({ maxLength: SOURCE_BLOCK_REASON_MAX }));

export const SourceBlockRequest = Type.Object(
  { ...pair, ttl_seconds: Type.Integer({ minimum: 1, maximum: SOURCE_BLOCK_SECONDS_MAX }), reason },
  closed,
);

/** What is left to the route to judge, so that the audit row of a wrong number names the pair as well. */
export const SourceBlockFields = Type.Object(
  { ...pair, ttl_seconds: Type.Number(), reason: Type.Optional(Type.String()) },
  closed,
);

/** `ttl_seconds` is ignored, whatever it is: a caller may send what it sent for the block. */
export const SourceUnblockRequest = Type.Object(
  { ...pair, ttl_seconds: Type.Optional(Type.Unknown()), reason: Type.Optional(Type.String()) },
  closed,
);

export const SourceBlockWire = Type.Object(
  {
    source: Type.String(),
    victim: Type.String(),
    created_at: Timestamp,
    expires_at: Timestamp,
    dry_run: Type.Boolean(),
    reason: Type.String(),
    /** False while the kernel has not taken it, which is tried again. Absent else. */
    installed: Type.Optional(Type.Literal(false)),
    ...DROPPED_FIELDS,
  },
  closed,
);
export type SourceBlockWire = Static<typeof SourceBlockWire>;

export const SourceBlocksWire = Type.Object({ sources: Type.Array(SourceBlockWire) }, closed);
export type SourceBlocksWire = Static<typeof SourceBlocksWire>;

export function sourceBlockToWire({
  block,
  dryRun,
  isInstalled,
  dropped,
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
    ...droppedToWire(dropped),
  };
}
