/**
 * Documents that one scrub node enforces, by its reports: bans that it refuses, and documents that
 * it got and did not put in force in time. A node that reports neither is never at fault here. Time is an argument.
 */
import { REFUSED_BANS_SHOWN } from "../limits.ts";
import type { Now } from "../system/now.ts";
import type { EnforcedReport } from "./enforced-report.ts";
import { REFUSED_BANS_LISTED_MAX } from "./enforced-report.ts";
import { NO_FAULTS, type NodeFault, type NodeFaults } from "./node-faults.ts";
import { type DivertedBan, type DocumentBan, isSameContent, type RuleDocument } from "./rule-documents.ts";

/** Documents that a node was sent and has not reported to enforce. */
export const SENT_DOCUMENTS_MAX = 32;

interface Sent {
  readonly etag: string;
  readonly document: RuleDocument;
  readonly at: Now;
}

/**
 * How long a ban that ended is remembered as not in force, ms: it ended since no node enforced it, and comes back while
 * its attack lasts.
 */
export const FAULT_KEPT_MS = 300_000;
/** The shortest time between two restarts of an agent that are believed, ms: each one has its faults forgotten. */
export const RESTART_BELIEVED_MS = 60_000;

export interface Judging {
  /** How long a node may take to put a document in force. */
  readonly withinMs: number;
  /** Whether the ban's traffic may go to the node: others are not its fault. */
  readonly concerns: (ban: DivertedBan) => boolean;
}

export class NodeEnforcement {
  /** Not reported to be in force, oldest first. */
  #sent: Sent[] = [];
  #applied: Omit<Sent, "at"> | null = null;
  /** By prefix; only of bans that it was sent. */
  readonly #faults = new Map<string, KeptFault>();
  /** Why any ban that is not in force is not; null: such bans are on their way. */
  #refusesAll: NodeFault | null = null;
  /** The number of bans that it refuses without naming them. */
  #unnamed = 0;
  #notAppliedSince: number | null = null;
  #startedAt: string | null = null;
  #startedMs = Number.NEGATIVE_INFINITY;

  /** The node has the document, by its poll. */
  sent(etag: string, document: RuleDocument, at: Now): void {
    if (this.#sent.at(-1)?.etag === etag) return;
    if (this.#sent.length === 0 && this.#applied?.etag === etag) return;
    // The oldest says since when it waits, the newest ones are those that are reported.
    if (this.#sent.length >= SENT_DOCUMENTS_MAX) this.#sent.splice(1, 1);
    this.#sent.push({ etag, document, at });
  }

  reported(report: EnforcedReport, { wallMs, monotonicMs }: Now, { withinMs, concerns }: Judging): void {
    this.#restarted(report.startedAt, monotonicMs);
    for (const [prefix, { untilMs }] of this.#faults) if (untilMs <= monotonicMs) this.#faults.delete(prefix);
    this.#confirm(report.etag);
    this.#unnamed = report.refusedTotal - report.refused.size;
    this.#takeRefusals(report, monotonicMs, concerns);
    const oldest = report.isComplete ? this.#sent[0] : undefined;
    const waitedMs = oldest === undefined ? 0 : monotonicMs - oldest.at.monotonicMs;
    this.#notAppliedSince = oldest === undefined || waitedMs <= withinMs ? null : oldest.at.wallMs;
    this.#refusesAll = faultOfAll(report, this.#notAppliedSince === null ? null : waitedMs);
    if (this.#refusesAll === null) return;
    for (const ban of this.#newest?.bans ?? []) {
      if (concerns(ban.ban) && !this.#isEnforced(ban, wallMs)) this.#put(ban.ban, this.#refusesAll, monotonicMs);
    }
  }

  /** null: none is known. */
  faultOf(prefix: string, monotonicMs: number): NodeFault | null {
    const known = this.#faults.get(prefix);
    if (known !== undefined && known.untilMs > monotonicMs) return known;
    return this.#refusesAll === null || this.enforces(prefix) ? null : this.#refusesAll;
  }

  /** Nothing is known against it. */
  get isFaultless(): boolean {
    return this.#faults.size === 0 && this.#refusesAll === null && this.#unnamed === 0;
  }

  /** Whether it reported that the ban is in force, in whatever form. */
  enforces(prefix: string): boolean {
    return this.#applied !== null && banIn(this.#applied.document, prefix) !== undefined && !this.#faults.has(prefix);
  }

  forget(isGone: (ban: DivertedBan) => boolean): void {
    for (const [prefix, { ban }] of this.#faults) if (isGone(ban)) this.#faults.delete(prefix);
  }

  view(monotonicMs: number): NodeFaults {
    if (this.isFaultless) return NO_FAULTS;
    const live = [...this.#faults].filter(([, { untilMs }]) => untilMs > monotonicMs);
    if (live.length + this.#unnamed === 0 && this.#notAppliedSince === null) return NO_FAULTS;
    const refused = live.filter(([, { kind }]) => kind === "refused");
    return {
      refusedBans: refused.length + this.#unnamed,
      refusals: refused.slice(0, REFUSED_BANS_SHOWN).map(([prefix, { reason }]) => ({ prefix, reason })),
      notAppliedSince: this.#notAppliedSince,
    };
  }

  /** An operator starts an agent again to change what it accepts. */
  #restarted(startedAt: string | null, monotonicMs: number): void {
    if (startedAt === null || startedAt === this.#startedAt) return;
    this.#startedAt = startedAt;
    if (monotonicMs - this.#startedMs < RESTART_BELIEVED_MS) return;
    this.#startedMs = monotonicMs;
    this.#faults.clear();
  }

  #confirm(etag: string | null): void {
    const at = this.#sent.findLastIndex((sent) => sent.etag === etag);
    const found = this.#sent[at];
    if (found === undefined) return;
    this.#applied = found;
    this.#sent = this.#sent.slice(at + 1);
  }

  #takeRefusals({ refused, refusedTotal }: EnforcedReport, monotonicMs: number, concerns: Judging["concerns"]): void {
    const isNamed = refusedTotal === refused.size;
    for (const { ban } of isNamed ? (this.#applied?.document.bans ?? []) : []) {
      if (!refused.has(ban.prefix.text)) this.#faults.delete(ban.prefix.text);
    }
    for (const [prefix, reason] of refused) {
      const ban = this.#banSent(prefix);
      if (ban !== undefined && concerns(ban)) this.#put(ban, { kind: "refused", reason }, monotonicMs);
    }
  }

  #put(ban: DivertedBan, { kind, reason }: NodeFault, monotonicMs: number): void {
    const prefix = ban.prefix.text;
    if (!this.#faults.has(prefix) && this.#faults.size >= FAULTS_MAX) return;
    this.#faults.set(prefix, { kind, reason, ban, untilMs: monotonicMs + FAULT_KEPT_MS });
  }

  get #newest(): RuleDocument | null {
    return this.#sent.at(-1)?.document ?? this.#applied?.document ?? null;
  }

  #banSent(prefix: string): DivertedBan | undefined {
    for (const each of [this.#applied, ...this.#sent]) {
      const ban = each === null ? undefined : banIn(each.document, prefix);
      if (ban !== undefined) return ban.ban;
    }
    return undefined;
  }

  /** With the content that it was sent last, and not past the expiry that the node knows. */
  #isEnforced({ ban }: DocumentBan, wallMs: number): boolean {
    const applied = this.#applied === null ? undefined : banIn(this.#applied.document, ban.prefix.text);
    return applied !== undefined && applied.expiresAt > wallMs && isSameContent(applied.ban, ban);
  }
}

interface KeptFault extends NodeFault {
  readonly ban: DivertedBan;
  /** Monotonic. */
  readonly untilMs: number;
}

/** More is not taken from a node: it would take too much memory of the service. */
const FAULTS_MAX = 4 * REFUSED_BANS_LISTED_MAX;

function faultOfAll({ documentRefused }: EnforcedReport, waitedMs: number | null): NodeFault | null {
  if (documentRefused !== null) return { kind: "refused", reason: documentRefused };
  if (waitedMs === null) return null;
  return { kind: "not_applied", reason: `it has had the rules for ${Math.round(waitedMs / 1000)} s` };
}

const BY_PREFIX = new WeakMap<RuleDocument, ReadonlyMap<string, DocumentBan>>();

function banIn(document: RuleDocument, prefix: string): DocumentBan | undefined {
  let byPrefix = BY_PREFIX.get(document);
  if (byPrefix === undefined) {
    byPrefix = new Map(document.bans.map((each) => [each.ban.prefix.text, each]));
    BY_PREFIX.set(document, byPrefix);
  }
  return byPrefix.get(prefix);
}
