/**
 * A node's report on the documents that it got (docs/interface.md#scrub-report): which one is in force there,
 * and what it refuses. Read leniently and with bounds: other agents may use these keys for something else. Pure.
 */

/** Bans that a scrub node refuses, by name in its report, their different reasons, and the characters of each. */
export const REFUSED_BANS_LISTED_MAX = 768;
export const REFUSAL_REASONS_MAX = 16;
export const REFUSAL_CHARACTERS_MAX = 120;

/** The capability of agents that refuse single bans and report at once what they enforce. */
export const REPORTS_REFUSED_BANS = "refused_bans";

export interface EnforcedReport {
  /** Whether the agent refuses single bans, and reports which document is in force; else only `documentRefused` counts. */
  readonly isComplete: boolean;
  /** The entity tag of the document in force; null: none, or not reported. */
  readonly etag: string | null;
  /** The reason by prefix. */
  readonly refused: ReadonlyMap<string, string>;
  /** How many in all: more than listed are not known by name. */
  readonly refusedTotal: number;
  /** Why it refused the last document as a whole; null: it did not. */
  readonly documentRefused: string | null;
  /** When the agent started, in its own words; null: not reported. */
  readonly startedAt: string | null;
}

type Wire = Readonly<Record<string, unknown>>;

export function readEnforced(report: unknown): EnforcedReport {
  const wire = objectOf(report);
  const { rules_etag: etag, document_refused: refusal, started_at: startedAt, refused_bans_total: total } = wire;
  const isComplete = listOf(wire["capabilities"]).includes(REPORTS_REFUSED_BANS);
  const refused = isComplete ? refusedIn(wire["refused_bans"]) : new Map<string, string>();
  const counted = isComplete && typeof total === "number" && Number.isSafeInteger(total) ? total : 0;
  return {
    isComplete,
    etag: typeof etag === "string" ? etag : null,
    refused,
    refusedTotal: Math.max(counted, refused.size),
    documentRefused: typeof refusal === "string" && refusal !== "" ? refusalText(refusal) : null,
    startedAt: typeof startedAt === "string" ? startedAt.slice(0, REFUSAL_CHARACTERS_MAX) : null,
  };
}

function refusedIn(value: unknown): ReadonlyMap<string, string> {
  const refused = new Map<string, string>();
  for (const group of listOf(value).slice(0, REFUSAL_REASONS_MAX)) {
    const { reason, prefixes } = objectOf(group);
    const text = typeof reason === "string" && reason !== "" ? refusalText(reason) : "no reason given";
    for (const prefix of listOf(prefixes)) {
      if (refused.size >= REFUSED_BANS_LISTED_MAX) return refused;
      if (typeof prefix === "string") refused.set(prefix, text);
    }
  }
  return refused;
}

/** One line, which neither a log nor a page is filled with. */
function refusalText(text: string): string {
  return text.slice(0, REFUSAL_CHARACTERS_MAX).replaceAll(/[\p{Cc}\u2028\u2029]/gu, "?");
}

function objectOf(value: unknown): Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Wire) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
