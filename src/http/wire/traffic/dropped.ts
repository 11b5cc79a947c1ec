/** The drops of this machine's data plane for a ban or a source block, if known. */

import { Type } from "@sinclair/typebox";
import { Count } from "../../../schema/schema-forms.ts";
import type { Dropping } from "../../backend.ts";

const count = Type.Optional(Count);

/** Bytes of whole frames. */
export const DROPPED_FIELDS = { dropped_packets: count, dropped_bytes: count };

export function droppedToWire(dropped: Dropping["dropped"]): { dropped_packets?: number; dropped_bytes?: number } {
  return dropped == null ? {} : { dropped_packets: dropped.packets, dropped_bytes: dropped.bytes };
}
