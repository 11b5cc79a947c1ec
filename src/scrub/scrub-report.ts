/** The report of a scrub node, as far as the service uses it (docs/interface.md#scrub-report). */
import type { EnforcedReport } from "./enforced-report.ts";
import type { RuleSupport } from "./rule-forms.ts";

/** The content of a node's report. */
export interface ScrubReport {
  /** Its JSON, rewritten: with unknown keys, and with numbers that JavaScript would round. */
  readonly text: string;
  /** null: not reported. */
  readonly loadMbps: number | null;
  readonly capabilities: readonly string[];
  /** Absent: it says nothing of it. */
  readonly enforced?: EnforcedReport;
}

export interface StoredReport extends ScrubReport {
  /** Wall clock, ms. */
  readonly reportedAt: number;
  readonly ruleSupport: RuleSupport;
}
