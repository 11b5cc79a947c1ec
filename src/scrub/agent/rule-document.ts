/**
 * Reads the rule document on a node (docs/interface.md#rule-document). Each ban is read completely or refused: a part of a
 * filter could drop everything. Unknown keys are ignored; an unknown version, and what is no document, is refused as a
 * whole. Pure.
 */
import { ACTIVE_BANS_MAX } from "../../limits.ts";
import type { Rule } from "../../mitigation/rules/rule.ts";
import { RuleProblem, readRule } from "../../mitigation/rules/rule-reader.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import { readScrub } from "../../mitigation/scrub/scrub-wire.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import { parseTimestamp } from "../../schema/timestamp.ts";
import { excessIn } from "./document-scan.ts";

/** Bytes of a rule document that a scrub node accepts: the largest number of bans with all their rules. */
export const RULE_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;

export interface WantedBan {
  /** The protected prefix; unique. An address and the prefix that starts there are different. */
  readonly prefix: Prefix;
  /** Virtual: recorded by the service, not enforced. */
  readonly isVirtual: boolean;
  /** On the service's wall clock. */
  readonly expiresAtMs: number;
  /** Empty: no rule distinguishes the attack from other traffic. */
  readonly rules: readonly Rule[];
  /** The filter beside these rules; null: none. */
  readonly filter: ScrubFilter | null;
}

export interface ReadDocument {
  readonly bans: readonly WantedBan[];
  readonly refused: readonly RefusedBan[];
}

/** A ban that is not taken. The others are. */
export interface RefusedBan {
  /** null: it cannot be read. */
  readonly prefix: Prefix | null;
  readonly isVirtual: boolean;
  readonly cause: RefusalCause;
  readonly reason: string;
}

/** `no_room`: the kernel has none for its rules. */
export type RefusalCause = "unreadable" | "out_of_bounds" | "no_room";

export interface ReadingBounds {
  /** In all bans; it bounds the memory that is used as well. */
  readonly maxRules: number;
  /** Prefixes of bans that have room before others: those that were taken before. */
  readonly isKnown: (prefix: string) => boolean;
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

/** Throws DocumentProblem, BoundsProblem if there is too much of something. */
export function readDocument(text: string, { maxRules, isKnown }: ReadingBounds): ReadDocument {
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
  const fitting = fittingBans(bans, maxRules, isKnown);
  const ofPrefix = Map.groupBy(bans, prefixTextOf);
  const read = (bans as unknown[]).map((ban): WantedBan | RefusedBan => {
    const prefix = prefixOf(ban);
    const isVirtual = ((ban ?? {}) as Wire)["dry_run"] === true;
    const refused = (cause: RefusalCause, reason: string) => ({ prefix, isVirtual, cause, reason });
    if (!fitting.has(ban)) return refused("out_of_bounds", `more than bounds.max_rules, ${maxRules}, in all`);
    if (prefix !== null && (ofPrefix.get(prefix.text)?.length ?? 0) > 1) {
      return refused("unreadable", "the document has another ban of this prefix");
    }
    try {
      return readBan(ban);
    } catch (cause) {
      if (cause instanceof RuleProblem) return refused("unreadable", cause.message);
      throw cause;
    }
  });
  const isRefused = (ban: WantedBan | RefusedBan): ban is RefusedBan => "reason" in ban;
  return {
    bans: read.filter((ban): ban is WantedBan => !isRefused(ban)),
    refused: read.filter(isRefused),
  };
}

/** The first whose rules have room: of those that were taken before, then of the others. */
function fittingBans(bans: readonly unknown[], maxRules: number, isKnown: (prefix: string) => boolean): Set<unknown> {
  const [known, others] = [[], []] as [unknown[], unknown[]];
  for (const ban of bans) (isKnown(prefixTextOf(ban)) ? known : others).push(ban);
  let rules = 0;
  const fits = (ban: unknown) => {
    const more = ruleCount(ban);
    if (rules + more > maxRules) return false;
    rules += more;
    return true;
  };
  return new Set([...known, ...others].filter(fits));
}

/** Empty: it has none. */
function prefixTextOf(ban: unknown): string {
  const { prefix } = (ban ?? {}) as Wire;
  return typeof prefix === "string" ? prefix : "";
}

function prefixOf(ban: unknown): Prefix | null {
  return parsePrefix(prefixTextOf(ban));
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

/** Throws RuleProblem. */
function readBan(value: unknown): WantedBan {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new RuleProblem("must be an object");
  const { dry_run: dryRun = false, expires_at: expiresAt, flowspec = [], scrub } = value as Wire;
  const prefix = prefixOf(value);
  if (prefix === null) throw new RuleProblem("prefix: must be a CIDR without host bits");
  if (typeof dryRun !== "boolean") throw new RuleProblem("dry_run: must be true or false");
  const expiresAtMs = typeof expiresAt === "string" ? parseTimestamp(expiresAt) : null;
  if (expiresAtMs === null) throw new RuleProblem("expires_at: must be a time (RFC 3339)");
  if (!Array.isArray(flowspec)) throw new RuleProblem("flowspec: must be a list");
  const rules = flowspec.map((rule: unknown, i) => readAt(() => readRule(rule, prefix), `flowspec[${i}]`));
  const filter = scrub === undefined ? null : readAt(() => readScrub(scrub, prefix), "scrub");
  return { prefix, isVirtual: dryRun, expiresAtMs, rules, filter };
}

function readAt<Read>(read: () => Read, at: string): Read {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RuleProblem)) throw cause;
    throw new RuleProblem(`${at}: ${cause.message}`);
  }
}

function asObject(value: unknown, at: string): Wire {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Wire;
  throw new DocumentProblem(`${at}: must be an object`);
}
