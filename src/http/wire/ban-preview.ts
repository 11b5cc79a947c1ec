/** What an order to ban an address would come to, for who is about to give it. */
import { type Static, Type } from "@sinclair/typebox";
import type { BanPreview } from "../backend.ts";
import { BanWire, banToWire } from "./ban.ts";
import { closed } from "./closed.ts";

export const BanPreviewWire = Type.Object(
  {
    /** As the order would answer it now: rejected with its reason where policy refuses. */
    ban: BanWire,
    /** Absent: the address is outside of all networks. */
    hostgroup: Type.Optional(Type.String()),
    /** The address has a ban: the order would prolong it, and make it an operator's. */
    refresh: Type.Boolean(),
  },
  closed,
);
export type BanPreviewWire = Static<typeof BanPreviewWire>;

export function banPreviewToWire({ ban, group, isRefresh }: BanPreview): BanPreviewWire {
  return {
    ban: banToWire({ ban, routeState: null }),
    ...(group === null ? {} : { hostgroup: group }),
    refresh: isRefresh,
  };
}
