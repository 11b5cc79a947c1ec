/** A rule as the kernel of this machine is given it. */
import type { DropReason } from "../scrub/scrub-rules.ts";
import type { FilterRule } from "./rule.ts";

/** The bit of a named set that is in force in the kernel; null: none. */
export type SetBitOf = (name: string) => number | null;

export interface KernelRule {
  /** At most 63 bytes, unique: from its owner and its text, so that an unchanged rule keeps its counts, also over restarts. */
  readonly id: string;
  readonly rule: FilterRule;
  /** The rule's effect is only counted. */
  readonly isDryRun?: boolean;
  /** Wall clock, ms. */
  readonly expiresAtMs: number;
}

/** With what it is there for. */
export interface OwnedRule extends KernelRule {
  /** The id of its ban, the prefix of a ban in a document, or the name of the operator's rule; "": a standing rule. */
  readonly owner: string;
  readonly reason: DropReason;
  /** Rules with the same are in force together or not at all. Absent: each by itself. */
  readonly whole?: string;
}
