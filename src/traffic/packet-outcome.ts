/** The outcome of a packet on this machine, if its interface filters: the filter's verdicts in three kinds. */
import type { FILTER_VERDICTS } from "../native/constants.ts";

export type PacketVerdict = (typeof FILTER_VERDICTS)[number];

export const PACKET_OUTCOMES = ["passed", "dropped", "answered"] as const;
export type PacketOutcome = (typeof PACKET_OUTCOMES)[number];

export function outcomeOf(verdict: PacketVerdict): PacketOutcome {
  if (verdict.startsWith("pass_")) return "passed";
  return verdict.startsWith("drop_") ? "dropped" : "answered";
}
