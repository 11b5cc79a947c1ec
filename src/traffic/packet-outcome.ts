/** What became of a packet on this machine, where its interface filters: the filter's verdicts in three kinds. */
import type { FilterVerdict } from "../dataplane/native.d.ts";

export const PACKET_OUTCOMES = ["passed", "dropped", "answered"] as const;
export type PacketOutcome = (typeof PACKET_OUTCOMES)[number];

export function outcomeOf(verdict: FilterVerdict): PacketOutcome {
  if (verdict.startsWith("pass_")) return "passed";
  return verdict.startsWith("drop_") ? "dropped" : "answered";
}
