/**
 * The rule document (docs/interface.md#rule-document): every active diverted victim, what is to be dropped of its
 * traffic, and until when. The same for all nodes, so that a victim can move to another node without a gap, but for
 * rules that not all understand.
 */
import type { Ban } from "../mitigation/ban.ts";
import { type DivertMeasure, scrubRules } from "../mitigation/measure.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { addressOrder } from "../net/address.ts";
import { formsOf, type RuleForms, type Understanding, understandingKey } from "./rule-forms.ts";

export interface RuleDocument {
  /** By target, IPv4 first, then by number. */
  readonly bans: readonly DocumentBan[];
  /** Rules that stand there in several simpler ones, and rules that are not there. */
  readonly splitRules: number;
  readonly leftOutRules: number;
}

export interface DocumentBan {
  readonly ban: Ban;
  /** Wall clock, ms; in steps of EXPIRY_STEP_MS, so that a ban that is pushed on seldom changes the document. */
  readonly expiresAt: number;
  readonly forms: RuleForms;
}

/** What became of the document: `expiry` can wait for others, so that many bans do not change it all the time. */
export type DocumentChange = "none" | "expiry" | "content";

const EXPIRY_STEP_MS = 10_000;

type Diverted = Ban & { readonly measure: DivertMeasure };

export class RuleDocuments {
  /** Diverted bans in force, by id. */
  readonly #bans = new Map<string, Diverted>();
  /** Made of them as they were at the last refresh(), or later; by what a node understands. */
  readonly #documents = new Map<string, RuleDocument>();
  /** Made once for a ban, by the same. */
  readonly #made = new Map<string, WeakMap<Ban, DocumentBan>>();

  get size(): number {
    return this.#bans.size;
  }

  /** Documents that were made stay as they are until refresh(). */
  put(ban: Ban): DocumentChange {
    const before = this.#bans.get(ban.id);
    if (!isDiverted(ban)) {
      if (before === undefined) return "none";
      this.#bans.delete(ban.id);
      return "content";
    }
    this.#bans.set(ban.id, ban);
    if (before === undefined || !isSameContent(before, ban)) return "content";
    return toldExpiry(before) === toldExpiry(ban) ? "none" : "expiry";
  }

  /** Documents are of bans as they are now. */
  refresh(): void {
    this.#documents.clear();
  }

  of(understood: Understanding): RuleDocument {
    const key = understandingKey(understood);
    const known = this.#documents.get(key);
    if (known !== undefined) return known;
    const bans = sorted([...this.#bans.values()]).map((ban) => this.#documentBan(ban, understood, key));
    const sum = (count: "split" | "leftOut") => bans.reduce((total, { forms }) => total + forms[count], 0);
    const document = { bans, splitRules: sum("split"), leftOutRules: sum("leftOut") };
    this.#documents.set(key, document);
    return document;
  }

  #documentBan(ban: Diverted, understood: Understanding, key: string): DocumentBan {
    const made = this.#made.get(key) ?? new WeakMap<Ban, DocumentBan>();
    this.#made.set(key, made);
    const known = made.get(ban);
    if (known !== undefined) return known;
    const documentBan = { ban, expiresAt: toldExpiry(ban), forms: formsOf(toldRules(ban), understood) };
    made.set(ban, documentBan);
    return documentBan;
  }
}

/** Its traffic goes to a scrubber, or would in dry run. */
export function isDiverted(ban: Ban): ban is Diverted {
  return ban.state === "active" && ban.measure.kind === "divert" && ban.measure.route !== null;
}

/** Not before the ban's own, which a node would take for its end. */
function toldExpiry({ expiresAt }: Ban): number {
  return Math.ceil(expiresAt / EXPIRY_STEP_MS) * EXPIRY_STEP_MS;
}

/** Traffic that the victim sends does not come by a scrubber. */
function toldRules({ measure }: Diverted): readonly Rule[] {
  return scrubRules(measure).filter(({ destination }) => destination !== null);
}

function isSameContent(a: Diverted, b: Diverted): boolean {
  return a.dryRun === b.dryRun && a.prefix.text === b.prefix.text && a.measure.rules === b.measure.rules;
}

function sorted(bans: readonly Diverted[]): Diverted[] {
  const keyed = bans.map((ban) => ({ ban, key: addressOrder(ban.target) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.ban.prefix.length - b.ban.prefix.length));
  return keyed.map(({ ban }) => ban);
}
