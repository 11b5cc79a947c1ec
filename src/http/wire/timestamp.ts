/** RFC 3339 in UTC with milliseconds, from wall-clock milliseconds since the epoch. */
import { Type } from "@sinclair/typebox";

export const Timestamp = Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$" });

export function timestamp(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
