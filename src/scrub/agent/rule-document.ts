/**
 * Reads the rule document on a node (docs/interface.md#rule-document), completely or not at all. Unknown keys are
 * ignored, an unknown version is refused. Pure.
 */
import { parseTimestamp } from "../../http/wire/timestamp.ts";
import { ACTIVE_BANS_MAX } from "../../limits.ts";
import type { Rule } from "../../mitigation/rules/rule.ts";
import { RuleProblem, readRule } from "../../mitigation/rules/rule-reader.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import { readScrub } from "../../mitigation/scrub/scrub-wire.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import { excessIn } from "./document-scan.ts";

export interface WantedBan {
  /** The protected prefix; unique. An address and the prefix that starts there are different. */
  readonly prefix: Prefix;
  /** Virtual: recorded by the service, not enforced. */
  readonly isVirtual: boolean;
  /** On the service's wall clock. */
  readonly expiresAtMs: number;
  /** Empty: no rule distinguishes the attack from other traffic. */
  readonly rules: readonly Rule[];
  /** What is done beside these; null: nothing. */
  readonly filter: ScrubFilter | null;
}

/** The document is unusable; the message says where and why. */
export class DocumentProblem extends Error {}
/** The document is beyond the bounds of this node. */
export class BoundsProblem extends DocumentProblem {}

const VERSION = 1;
/** Maximum number of quoted characters in a message. */
const QUOTED_CHARACTERS_MAX = 60;
/** A range of ports is 7 deep; unknown keys may be deeper. */
const DEPTH_MAX = 16;
/** A rule with all fields and port ranges has 45 values; unknown keys may have more. */
const [VALUES_OF_BAN, VALUES_OF_RULE] = [16, 64];

type Wire = Readonly<Record<string, unknown>>;

/**
 * @param maxRules in all; it bounds the memory that is used as well.
 * Throws DocumentProblem, BoundsProblem if there is too much of something.
 */
export function readDocument(text: string, maxRules: number): readonly WantedBan[] {
  checkSize(text, maxRules);
  const document = asObject(parse(text), "the document");
  const { version, bans } = document;
  if (version !== VERSION) {
    const shown = JSON.stringify(version)?.slice(0, QUOTED_CHARACTERS_MAX) ?? "missing";
    throw new DocumentProblem(`version: ${shown} is not ${VERSION}, the supported version: update the agent`);
  }
  if (!Array.isArray(bans)) throw new DocumentProblem("bans: must be a list");
  if (bans.length > ACTIVE_BANS_MAX) throw new BoundsProblem(`bans: more than ${ACTIVE_BANS_MAX}`);
  // Before any rule is read.
  const rules = bans.reduce((sum: number, ban: unknown) => sum + ruleCount(ban), 0);
  if (rules > maxRules) throw new BoundsProblem(`bans: more than ${maxRules} rules in all`);
  const wanted = bans.map((ban: unknown, i) => readBan(ban, `bans[${i}]`));
  if (new Set(wanted.map(({ prefix }) => prefix.text)).size < wanted.length) {
    throw new DocumentProblem("bans: duplicate prefix");
  }
  return wanted;
}

function checkSize(text: string, maxRules: number): void {
  const valuesMax = ACTIVE_BANS_MAX * VALUES_OF_BAN + maxRules * VALUES_OF_RULE;
  const excess = excessIn(text, { depthMax: DEPTH_MAX, valuesMax });
  if (excess === "depth") throw new BoundsProblem(`lists and objects in more than ${DEPTH_MAX} levels`);
  if (excess === "values") throw new BoundsProblem(`more values than ${maxRules} rules can have`);
}

/** Each service becomes a rule, and one with a rate two. */
function ruleCount(ban: unknown): number {
  const { flowspec, scrub } = (ban ?? {}) as Wire;
  const { services } = (scrub ?? {}) as Wire;
  const limited = listOf(services).filter((each) => ((each ?? {}) as Wire)["packets"] !== undefined);
  return listOf(flowspec).length + listOf(services).length + limited.length;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DocumentProblem("it is no JSON");
  }
}

function readBan(value: unknown, at: string): WantedBan {
  const { prefix: text, dry_run: dryRun = false, expires_at: expiresAt, flowspec = [], scrub } = asObject(value, at);
  const prefix = typeof text === "string" ? parsePrefix(text) : null;
  if (prefix === null) throw new DocumentProblem(`${at}.prefix: must be a CIDR without host bits`);
  if (typeof dryRun !== "boolean") throw new DocumentProblem(`${at}.dry_run: must be true or false`);
  const expiresAtMs = typeof expiresAt === "string" ? parseTimestamp(expiresAt) : null;
  if (expiresAtMs === null) throw new DocumentProblem(`${at}.expires_at: must be a time (RFC 3339)`);
  if (!Array.isArray(flowspec)) throw new DocumentProblem(`${at}.flowspec: must be a list`);
  const rules = flowspec.map((rule: unknown, i) => readAt(() => readRule(rule, prefix), `${at}.flowspec[${i}]`));
  const filter = scrub === undefined ? null : readAt(() => readScrub(scrub, prefix), `${at}.scrub`);
  return { prefix, isVirtual: dryRun, expiresAtMs, rules, filter };
}

function readAt<Read>(read: () => Read, at: string): Read {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RuleProblem)) throw cause;
    throw new DocumentProblem(`${at}: ${cause.message}`);
  }
}

function asObject(value: unknown, at: string): Wire {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Wire;
  throw new DocumentProblem(`${at}: must be an object`);
}
