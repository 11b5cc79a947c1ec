/** The base trio of the group `global`'s thresholds, as status and reload show it (interface 2.1, 4.3). */
import { type Static, Type } from "@sinclair/typebox";
import type { Thresholds } from "../../traffic/rates.ts";

export const ThresholdsWire = Type.Object(
  { pps: Type.Number(), mbps: Type.Number(), flows_per_sec: Type.Number() },
  { additionalProperties: false },
);

export function thresholdsToWire([pps = 0, mbps = 0, flows_per_sec = 0]: Thresholds): Static<typeof ThresholdsWire> {
  return { pps, mbps, flows_per_sec };
}
