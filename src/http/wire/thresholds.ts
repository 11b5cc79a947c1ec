/**
 * The base trio of the group `global`'s thresholds, as status and reload show it (docs/interface.md#status-thresholds).
 */
import { type Static, Type } from "@sinclair/typebox";
import type { Thresholds } from "../../config/config.ts";

export const ThresholdsWire = Type.Object(
  { pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() },
  { additionalProperties: false },
);

export function thresholdsToWire([pps = 0, mbps = 0, flows_per_sec = 0]: Thresholds): Static<typeof ThresholdsWire> {
  return { pps, mbps, flows_per_sec };
}
