/**
 * The operator's rules for the kernel: each destination gets one list with all rules that are for it, in their order,
 * so that one look-up finds them. Pure.
 */
import { addressBits, type Prefix, prefixCovers } from "../../net/prefix.ts";
import type { KernelAction } from "../rules/action.ts";
import type { OwnedRule } from "../rules/kernel-rule.ts";
import { type FilterRule, ruleText } from "../rules/rule.ts";
import type { OperatorRule, RateLimit } from "./operator-rule.ts";

export interface OperatorKernelRules {
  readonly rules: readonly OwnedRule[];
  readonly destinations: readonly { readonly prefix: Prefix; readonly rules: readonly OwnedRule[] }[];
  /** Number of destinations and banned addresses whose rules did not fit, or not all of them. */
  readonly leftOut: number;
}

export const NO_OPERATOR_RULES: OperatorKernelRules = { rules: [], destinations: [], leftOut: 0 };

export interface OperatorRulesRequest {
  readonly rules: readonly OperatorRule[];
  readonly networks: readonly Prefix[];
  /** Those with a ban in force, the most valuable first, and the ban's expiry. */
  readonly attacked: readonly { readonly prefix: Prefix; readonly expiresAt: number }[];
  readonly wallMs: number;
  /** Places of rules in the lists of all destinations. */
  readonly room: number;
}

/** Renewed with every change of the rules, so that they do not end while the service runs. */
export const LASTS_MS = 10 * 365 * 86_400_000;

export function operatorKernelRules(request: OperatorRulesRequest): OperatorKernelRules {
  const { rules, networks, attacked, wallMs, room } = request;
  const placed = rules.map((rule) => ({
    rule,
    destinations: rule.destinations.length === 0 ? networks : rule.destinations,
  }));
  const lists = new Lists(room);
  const always = placed.filter(({ rule }) => rule.when === "always").flatMap(({ destinations }) => destinations);
  const wanted = new Map(always.map((prefix) => [prefix.text, prefix]));
  let leftOut = 0;
  for (const prefix of wanted.values()) if (!lists.add(prefix, listFor(prefix, placed, false))) leftOut++;
  const whileAttacked = placed.filter(({ rule }) => rule.when === "attacked");
  let untilMs = 0;
  for (const { prefix, expiresAt } of whileAttacked.length === 0 ? [] : attacked) {
    const own = whileAttacked.flatMap(({ destinations }) => shared(destinations, prefix));
    if (own.length === 0) continue;
    const within = new Map([...own, ...lists.inside(prefix)].map((one) => [one.text, one]));
    const isIn = [...within.values()].every((one) => lists.add(one, listFor(one, placed, true)));
    if (isIn) untilMs = Math.max(untilMs, expiresAt);
    else leftOut++;
  }
  return kernelForm(lists, { always: wallMs + LASTS_MS, attacked: untilMs, leftOut });
}

interface Placed {
  readonly rule: OperatorRule;
  readonly destinations: readonly Prefix[];
}

/** The lists of rules by destination, within a room for all of them. */
class Lists {
  readonly byText = new Map<string, { readonly prefix: Prefix; readonly rules: readonly OperatorRule[] }>();
  #left: number;

  constructor(room: number) {
    this.#left = room;
  }

  /** The destinations within a prefix that have a list. */
  inside(prefix: Prefix): Prefix[] {
    if (prefix.length === addressBits(prefix.family)) return [];
    return [...this.byText.values()].map((list) => list.prefix).filter((one) => prefixCovers(prefix, one));
  }

  /** False: there is no room. */
  add(prefix: Prefix, rules: readonly OperatorRule[]): boolean {
    const before = this.byText.get(prefix.text)?.rules.length ?? 0;
    // A rule takes up to FORMS_MAX places.
    const more = FORMS_MAX * Math.max(0, rules.length - before);
    if (more > this.#left) return false;
    this.#left -= more;
    if (rules.length >= before) this.byText.set(prefix.text, { prefix, rules });
    return true;
  }
}

/** A limit of packets and one of bits, each a rule of its own. */
const FORMS_MAX = 2;

/** The rules for a destination. @param isAttacked it has a ban in force. */
function listFor(prefix: Prefix, placed: readonly Placed[], isAttacked: boolean): OperatorRule[] {
  return placed
    .filter(({ rule, destinations }) => (isAttacked || rule.when === "always") && isFor(rule, destinations, prefix))
    .map(({ rule }) => rule);
}

function isFor({ match }: OperatorRule, destinations: readonly Prefix[], prefix: Prefix): boolean {
  if (match.source !== null && match.source.family !== prefix.family) return false;
  return destinations.some((destination) => prefixCovers(destination, prefix));
}

/** The intersection of the destinations and the prefix. */
function shared(destinations: readonly Prefix[], prefix: Prefix): Prefix[] {
  if (destinations.some((destination) => prefixCovers(destination, prefix))) return [prefix];
  return destinations.filter((destination) => prefixCovers(prefix, destination));
}

function kernelForm(
  lists: Lists,
  { always, attacked, leftOut }: { readonly always: number; readonly attacked: number; readonly leftOut: number },
): OperatorKernelRules {
  const made = new Map<string, OwnedRule>();
  const formsOf = (rule: OperatorRule, family: 4 | 6) =>
    forms(rule, family).map((form) => {
      const id = idOf(rule, form);
      const known = made.get(id);
      if (known !== undefined) return known;
      const expiresAtMs = rule.when === "always" ? always : attacked;
      const one = { id, rule: form, isDryRun: rule.isDryRun, expiresAtMs, owner: rule.name, reason: "rule" } as const;
      made.set(id, one);
      return one;
    });
  const destinations = [...lists.byText.values()].map(({ prefix, rules }) => ({
    prefix,
    rules: rules.flatMap((rule) => formsOf(rule, prefix.family)),
  }));
  return { rules: [...made.values()], destinations, leftOut };
}

/** The rule's forms for destinations of a family. */
function forms({ action, match, limit }: OperatorRule, family: 4 | 6): FilterRule[] {
  if (limit !== null) return rates(limit).map((rate) => ({ ...match, action: limited(limit, rate, family) }));
  return [{ ...match, action: { kind: action === "pass" ? "pass" : "discard" } }];
}

type Rate = Pick<RateLimit, "packetsPerSecond" | "bytesPerSecond">;

function rates({ packetsPerSecond, bytesPerSecond }: RateLimit): Rate[] {
  const both = [
    { packetsPerSecond, bytesPerSecond: 0 },
    { packetsPerSecond: 0, bytesPerSecond },
  ];
  return both.filter((rate) => rate.packetsPerSecond + rate.bytesPerSecond > 0);
}

function limited(limit: RateLimit, rate: Rate, family: 4 | 6): KernelAction {
  if (!limit.isPerSource) return { kind: "limit", ...rate };
  // The kernel counts an IPv4 address in its mapped form.
  const mapped = addressBits(6) - addressBits(4);
  return {
    kind: "limit_source",
    ...rate,
    prefixLength: family === 4 ? mapped + limit.ipv4Length : limit.ipv6Length,
  };
}

const ID_PREFIX = "operator/";

/** Whether a rule in the kernel is one of the operator, by its id. */
export function isOperatorRuleId(id: string): boolean {
  return id.startsWith(ID_PREFIX);
}

function idOf({ name, isDryRun }: OperatorRule, rule: FilterRule): string {
  return `${ID_PREFIX}${Bun.hash(JSON.stringify([name, isDryRun, ruleText(rule)])).toString(16)}`;
}
