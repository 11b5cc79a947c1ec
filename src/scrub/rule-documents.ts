/**
 * The rule documents (docs/interface.md#rule-document): active diverted victims, the rules for their traffic, and the
 * expiry. A node gets each victim that may be diverted to it, so that it can take one over without a gap. Nodes for whom
 * the content is the same share one document.
 */
import type { Ban } from "../mitigation/ban.ts";
import { type DivertMeasure, narrowRules } from "../mitigation/measure.ts";
import { addressOrder } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
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
  /** Unique. */
  readonly serial: number;
  /** Wall clock, ms; in steps of EXPIRY_STEP_MS, so that an extended ban seldom changes the document. */
  readonly expiresAt: number;
  readonly forms: RuleForms;
}

/** How the document changed: `expiry` may wait for further changes, so that many bans do not change it continuously. */
export type DocumentChange = "none" | "expiry" | "content";

const EXPIRY_STEP_MS = 10_000;

/** For whom a document is. */
export interface Audience {
  readonly support: RuleSupport;
  /** null: all victims. */
  readonly scope: Scope | null;
}

interface Scope {
  readonly hostgroups: readonly string[];
  /** Ids of further bans. */
  readonly others: ReadonlySet<string>;
}

/** Gets all victims. */
export function everyBan(support: RuleSupport): Audience {
  return { support, scope: null };
}

export type DivertedBan = Ban & { readonly measure: DivertMeasure };

export class RuleDocuments {
  /** Active diverted bans, by id. */
  readonly #bans = new Map<string, DivertedBan>();
  /** Documents as of the last refresh() or later, by audience. */
  readonly #documents = new Map<string, RuleDocument>();
  /** The same by content; what was in use before refresh() is used again where nothing changed. */
  #contents = new Map<string, RuleDocument>();
  #contentsBefore: ReadonlyMap<string, RuleDocument> = new Map();
  readonly #groupOf: (prefix: Prefix) => string;
  /** As of the last refresh() or later; null: to be made. */
  #sorted: Sorted | null = null;
  /** Cached by capabilities and by ban. */
  readonly #made = new Map<string, WeakMap<Ban, DocumentBan>>();
  #serial = 0;

  constructor(groupOf: (prefix: Prefix) => string) {
    this.#groupOf = groupOf;
  }

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
    if (this.#contents.size > 0) this.#contentsBefore = this.#contents;
    this.#contents = new Map();
    this.#sorted = null;
  }

  of({ support, scope }: Audience): RuleDocument {
    const supportKey = ruleSupportKey(support);
    const key = scope === null ? supportKey : JSON.stringify([supportKey, scope.hostgroups, [...scope.others]]);
    const known = this.#documents.get(key);
    if (known !== undefined) return known;
    this.#sorted ??= this.#sortedBans();
    const chosen = scope === null ? this.#sorted.bans : bansIn(scope, this.#sorted);
    const bans = chosen.map((ban) => this.#documentBan(ban, support, supportKey));
    const document = this.#shared(bans);
    this.#documents.set(key, document);
    return document;
  }

  #sortedBans(): Sorted {
    const bans = sorted([...this.#bans.values()]);
    return { bans, byGroup: Map.groupBy(bans.keys(), (at) => this.#groupOf((bans[at] as DivertedBan).prefix)) };
  }

  #shared(bans: readonly DocumentBan[]): RuleDocument {
    const content = bans.map(({ serial }) => serial).join();
    let document = this.#contents.get(content) ?? this.#contentsBefore.get(content);
    if (document === undefined) {
      const sum = (count: "split" | "leftOut") => bans.reduce((total, { forms }) => total + forms[count], 0);
      document = { bans, splitRules: sum("split"), leftOutRules: sum("leftOut") };
    }
    this.#contents.set(content, document);
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
    const serial = this.#serial++;
    const documentBan = { ban, serial, expiresAt: documentExpiry(ban), forms: documentForms(ban, support, key) };
    made.set(ban, documentBan);
    return documentBan;
  }
}

interface Sorted {
  readonly bans: readonly DivertedBan[];
  /** Indices of them, ascending. */
  readonly byGroup: ReadonlyMap<string, readonly number[]>;
}

function bansIn({ hostgroups, others }: Scope, { bans, byGroup }: Sorted): DivertedBan[] {
  const chosen = new Set(hostgroups.flatMap((group) => byGroup.get(group) ?? []));
  if (others.size > 0) for (const [at, { id }] of bans.entries()) if (others.has(id)) chosen.add(at);
  const ordered = hostgroups.length > 1 || others.size > 0 ? [...chosen].sort((a, b) => a - b) : [...chosen];
  return ordered.map((at) => bans[at] as DivertedBan);
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

/** But for the expiry. */
export function isSameContent(a: DivertedBan, b: DivertedBan): boolean {
  const isSameRules = a.measure.rules === b.measure.rules && a.measure.nodeRules === b.measure.nodeRules;
  const isSameBan = a.dryRun === b.dryRun && a.prefix.text === b.prefix.text;
  return isSameRules && isSameBan && Bun.deepEquals(a.measure.filter, b.measure.filter);
}

function sorted(bans: readonly DivertedBan[]): DivertedBan[] {
  const keyed = bans.map((ban) => ({ ban, key: addressOrder(ban.target) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.ban.prefix.length - b.ban.prefix.length));
  return keyed.map(({ ban }) => ban);
}
