/** The preview of a ban. */
import { type Static, Type } from "@sinclair/typebox";
import type { BlockRefusal } from "../../sourceblock/admission.ts";
import type { BanPreview } from "../backend.ts";
import { blockRefusalText } from "../refusal.ts";
import { BanWire, banToWire } from "./ban.ts";
import { closed } from "./closed.ts";

export const BanPreviewWire = Type.Object(
  {
    /** The answer that the command would get now: rejected with its reason if policy refuses. */
    ban: BanWire,
    /** Absent: the address is outside of all networks. */
    hostgroup: Type.Optional(Type.String()),
    /** The address has a ban: the command would extend it and make it a manual one. */
    refresh: Type.Boolean(),
    /** Why a source block for the address would be refused now, whatever the source is. Absent: it would not. */
    source_block_refused: Type.Optional(Type.String()),
  },
  closed,
);
export type BanPreviewWire = Static<typeof BanPreviewWire>;

export function banPreviewToWire(
  { ban, group, isRefresh }: BanPreview,
  blockRefusal: BlockRefusal | null,
): BanPreviewWire {
  return {
    ban: banToWire({ ban, routeState: null }),
    ...(group === null ? {} : { hostgroup: group }),
    refresh: isRefresh,
    ...(blockRefusal === null ? {} : { source_block_refused: blockRefusalText(blockRefusal) }),
  };
}
