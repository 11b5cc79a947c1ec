/**
 * Reads the rule document on a node (docs/interface.md#rule-document), completely or not at all. Unknown keys are
 * ignored, an unknown version is refused. Pure.
 */
import { parseTimestamp } from "../../http/wire/timestamp.ts";
import { ACTIVE_BANS_MAX, DYNAMIC_RULES_MAX } from "../../limits.ts";
import type { Rule } from "../../mitigation/rules/rule.ts";
import { RuleProblem, readRule } from "../../mitigation/rules/rule-reader.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";

export interface WantedBan {
  /** The protected prefix; unique. An address and the prefix that starts there are different. */
  readonly prefix: Prefix;
  /** Virtual: recorded by the service, not enforced. */
  readonly isVirtual: boolean;
  /** On the service's wall clock. */
  readonly expiresAtMs: number;
  /** Empty: no rule distinguishes the attack from other traffic. */
  readonly rules: readonly Rule[];
}

/** The document is unusable; the message says where and why. */
export class DocumentProblem extends Error {}

const VERSION = 1;
/** Maximum number of quoted characters in a message. */
const QUOTED_CHARACTERS_MAX = 60;

type Wire = Readonly<Record<string, unknown>>;

/** Throws DocumentProblem. */
export function readDocument(text: string): readonly WantedBan[] {
  const document = asObject(parse(text), "the document");
  const { version, bans } = document;
  if (version !== VERSION) {
    const shown = JSON.stringify(version)?.slice(0, QUOTED_CHARACTERS_MAX) ?? "missing";
    throw new DocumentProblem(`version: ${shown} is not ${VERSION}, the supported version: update the agent`);
  }
  if (!Array.isArray(bans)) throw new DocumentProblem("bans: must be a list");
  if (bans.length > ACTIVE_BANS_MAX) throw new DocumentProblem(`bans: more than ${ACTIVE_BANS_MAX}`);
  const wanted = bans.map((ban: unknown, i) => readBan(ban, `bans[${i}]`));
  if (new Set(wanted.map(({ prefix }) => prefix.text)).size < wanted.length) {
    throw new DocumentProblem("bans: duplicate prefix");
  }
  const rules = wanted.reduce((sum, ban) => sum + ban.rules.length, 0);
  if (rules > DYNAMIC_RULES_MAX) throw new DocumentProblem(`bans: more than ${DYNAMIC_RULES_MAX} rules in all`);
  return wanted;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DocumentProblem("it is no JSON");
  }
}

function readBan(value: unknown, at: string): WantedBan {
  const { prefix: text, dry_run: dryRun = false, expires_at: expiresAt, flowspec = [] } = asObject(value, at);
  const prefix = typeof text === "string" ? parsePrefix(text) : null;
  if (prefix === null) throw new DocumentProblem(`${at}.prefix: must be a CIDR without host bits`);
  if (typeof dryRun !== "boolean") throw new DocumentProblem(`${at}.dry_run: must be true or false`);
  const expiresAtMs = typeof expiresAt === "string" ? parseTimestamp(expiresAt) : null;
  if (expiresAtMs === null) throw new DocumentProblem(`${at}.expires_at: must be a time (RFC 3339)`);
  if (!Array.isArray(flowspec)) throw new DocumentProblem(`${at}.flowspec: must be a list`);
  const rules = flowspec.map((rule: unknown, i) => readRuleAt(rule, prefix, `${at}.flowspec[${i}]`));
  return { prefix, isVirtual: dryRun, expiresAtMs, rules };
}

function readRuleAt(value: unknown, within: Prefix, at: string): Rule {
  try {
    return readRule(value, within);
  } catch (cause) {
    if (!(cause instanceof RuleProblem)) throw cause;
    throw new DocumentProblem(`${at}: ${cause.message}`);
  }
}

function asObject(value: unknown, at: string): Wire {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Wire;
  throw new DocumentProblem(`${at}: must be an object`);
}
