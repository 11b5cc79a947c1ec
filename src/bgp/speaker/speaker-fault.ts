/** Faults of the BGP speaker. */
import { messageOf } from "../../system/error-message.ts";

type FaultKind =
  /** Nothing listens, or the connection broke. */
  | "unreachable"
  /** Connected, and no answer within the deadline. */
  | "silent"
  /** It answers, but has no configuration yet. */
  | "unconfigured"
  /** It answers, with another API. */
  | "unknown_call"
  | "failed";

/** The speaker is missing, does not answer or refuses. Expected at any time; a retry follows. */
export class SpeakerFault extends Error {
  readonly operation: string;
  readonly kind: FaultKind;
  /** For operators: what failed, and the remedy if one is known. */
  readonly reason: string;

  constructor(operation: string, reason: string, kind: FaultKind = "failed") {
    super(`${operation}: ${reason}`);
    this.name = "SpeakerFault";
    this.operation = operation;
    this.kind = kind;
    this.reason = reason;
  }
}

export function faultReason(error: unknown): string {
  if (error instanceof SpeakerFault) return error.reason;
  return messageOf(error);
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Throws the fault unless the speaker answered and refused, as it does when the neighbor was just removed. */
export function ignoreRefusal(fault: unknown): void {
  if (!(fault instanceof SpeakerFault) || fault.kind !== "failed") throw fault;
}
