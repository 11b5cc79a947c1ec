/** Whether the disk has taken an order that is in force (docs/interface.md#saved). */
import { Type } from "@sinclair/typebox";

/** Absent once the order is on disk. */
export const SAVED_FIELD = { saved: Type.Optional(Type.Literal(false)) };

export function savedToWire(isSaved: boolean): { readonly saved?: false } {
  return isSaved ? {} : { saved: false };
}
