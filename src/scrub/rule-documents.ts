/**
 * The rule document (docs/interface.md#rule-document): every active diverted victim, the rules for its traffic, and the
 * expiry. It is equal for all nodes, so that a victim can move to another node without a gap, except for rules that
 * some nodes do not support.
 */
import type { Ban } from "../mitigation/ban.ts";
import { type DivertMeasure, narrowRules } from "../mitigation/measure.ts";
import { addressOrder } from "../net/address.ts";
import { formsOf, type RuleForms, type RuleSupport, ruleSupportKey, rulesTowardsVictim } from "./rule-forms.ts";

export interface RuleDocument {
  /** Sorted by target, IPv4 first, then by number. */
  readonly bans: readonly DocumentBan[];
  /** Number of rules that were split into simpler ones, and of rules that were left out. */
  readonly splitRules: number;
  readonly leftOutRules: number;
}

export interface DocumentBan {
  readonly ban: DivertedBan;
  /** Wall clock, ms; in steps of EXPIRY_STEP_MS, so that an extended ban seldom changes the document. */
  readonly expiresAt: number;
  readonly forms: RuleForms;
}

/** How the document changed: `expiry` may wait for further changes, so that many bans do not change it continuously. */
export type DocumentChange = "none" | "expiry" | "content";

const EXPIRY_STEP_MS = 10_000;

export type DivertedBan = Ban & { readonly measure: DivertMeasure };

export class RuleDocuments {
  /** Active diverted bans, by id. */
  readonly #bans = new Map<string, DivertedBan>();
  /** Documents as of the last refresh() or later, by the capabilities of nodes. */
  readonly #documents = new Map<string, RuleDocument>();
  /** Cached by the same key and by ban. */
  readonly #made = new Map<string, WeakMap<Ban, DocumentBan>>();

  get size(): number {
    return this.#bans.size;
  }

  /** Existing documents do not change until refresh(). */
  put(ban: Ban): DocumentChange {
    const before = this.#bans.get(ban.id);
    if (!isDiverted(ban)) {
      if (before === undefined) return "none";
      this.#bans.delete(ban.id);
      return "content";
    }
    this.#bans.set(ban.id, ban);
    if (before === undefined || !isSameContent(before, ban)) return "content";
    return documentExpiry(before) === documentExpiry(ban) ? "none" : "expiry";
  }

  /** Drops all documents, so that they are generated from the present bans. */
  refresh(): void {
    this.#documents.clear();
  }

  of(support: RuleSupport): RuleDocument {
    const key = ruleSupportKey(support);
    const known = this.#documents.get(key);
    if (known !== undefined) return known;
    const bans = sorted([...this.#bans.values()]).map((ban) => this.#documentBan(ban, support, key));
    const sum = (count: "split" | "leftOut") => bans.reduce((total, { forms }) => total + forms[count], 0);
    const document = { bans, splitRules: sum("split"), leftOutRules: sum("leftOut") };
    this.#documents.set(key, document);
    return document;
  }

  /** Number of the ban's rules that nodes with this support do not get, and that nothing replaces. */
  leftOutOf(ban: Ban, support: RuleSupport): number {
    return isDiverted(ban) ? this.#documentBan(ban, support, ruleSupportKey(support)).forms.leftOut : 0;
  }

  #documentBan(ban: DivertedBan, support: RuleSupport, key: string): DocumentBan {
    const made = this.#made.get(key) ?? new WeakMap<Ban, DocumentBan>();
    this.#made.set(key, made);
    const known = made.get(ban);
    if (known !== undefined) return known;
    const documentBan = { ban, expiresAt: documentExpiry(ban), forms: documentForms(ban, support, key) };
    made.set(ban, documentBan);
    return documentBan;
  }
}

/** Whether its traffic is diverted, or would be without dry run. */
export function isDiverted(ban: Ban): ban is DivertedBan {
  return ban.state === "active" && ban.measure.kind === "divert" && ban.measure.route !== null;
}

/** Rounded up: a node would take an earlier time for the end of the ban. */
function documentExpiry({ expiresAt }: Ban): number {
  return Math.ceil(expiresAt / EXPIRY_STEP_MS) * EXPIRY_STEP_MS;
}

function documentForms({ measure }: DivertedBan, support: RuleSupport, key: string): RuleForms {
  const own = measure.nodeRules?.find((each) => each.support === key);
  if (own !== undefined) return { ...formsOf(own.rules, support), leftOut: own.leftOut };
  return formsOf(rulesTowardsVictim(narrowRules(measure.rules)), support);
}

function isSameContent(a: DivertedBan, b: DivertedBan): boolean {
  const isSameRules = a.measure.rules === b.measure.rules && a.measure.nodeRules === b.measure.nodeRules;
  const isSameBan = a.dryRun === b.dryRun && a.prefix.text === b.prefix.text;
  return isSameRules && isSameBan && Bun.deepEquals(a.measure.filter, b.measure.filter);
}

function sorted(bans: readonly DivertedBan[]): DivertedBan[] {
  const keyed = bans.map((ban) => ({ ban, key: addressOrder(ban.target) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.ban.prefix.length - b.ban.prefix.length));
  return keyed.map(({ ban }) => ban);
}
