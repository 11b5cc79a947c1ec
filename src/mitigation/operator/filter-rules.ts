/**
 * The operator's rules in force: those ordered by the API, the newest first, then those of the configuration. An order
 * is on disk before it takes effect, and ends at once, whatever the disk does. Times are wall clock, ms.
 */
import { FILTER_RULE_ORDERS_MAX, FILTER_RULE_SECONDS_MAX } from "../../limits.ts";
import { type Prefix, prefixCovers } from "../../net/prefix.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { type Commander, type OrderObserver, type OrderTimes, StandingOrders } from "../../system/standing-orders.ts";
import { hiddenRules } from "./hidden-rules.ts";
import type { OperatorRule } from "./operator-rule.ts";

/** As it is kept. */
export interface RuleOrder {
  readonly name: string;
  /** In the form of the configuration: it is read again after an update. */
  readonly rule: object;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly reason: string;
}

export interface FilterRulesPolicy {
  readonly configured: readonly OperatorRule[];
  readonly networks: readonly Prefix[];
  readonly hasDataplane: boolean;
  /** Names of the sets of prefixes that there are. */
  readonly sets: readonly string[];
}

export interface FilterRulesOptions {
  readonly policy: FilterRulesPolicy;
  /** By name. */
  readonly store: RecordTable<RuleOrder>;
  /** null: this build does not understand it. */
  readonly read: (rule: object) => OperatorRule | null;
  /** The rules in force are others. */
  readonly onChange: () => void;
  readonly observer: FilterRulesObserver;
}

export const RULE_ORDER_REFUSALS = [
  "no_dataplane",
  "name_configured",
  "outside_networks",
  "unknown_set",
  "too_many_rules",
] as const;
export type RuleOrderRefusal = (typeof RULE_ORDER_REFUSALS)[number];

export type RuleOrderEnd = "removed" | "expired";

export interface FilterRulesObserver extends OrderObserver<RuleOrder, RuleOrderRefusal, RuleOrderEnd> {
  /** A kept order that cannot be in force. */
  unusable(order: RuleOrder): void;
}

export interface FilterRuleView {
  readonly rule: OperatorRule;
  /** null: it is of the configuration. */
  readonly order: RuleOrder | null;
  /** The rule before it that decides about all that it matches; null: none. */
  readonly hiddenBy: string | null;
}

export type RuleOrderAnswer =
  /** `isSaved` false: the disk has not taken it yet. */
  | { readonly kind: "done"; readonly view: FilterRuleView; readonly isSaved: boolean }
  | { readonly kind: "refused"; readonly refusal: RuleOrderRefusal };

export interface RuleOrderPreview {
  readonly view: FilterRuleView;
  /** null: it would be accepted. */
  readonly refusal: RuleOrderRefusal | null;
  /** Names of the rules that would never match behind it. */
  readonly hides: readonly string[];
}

const TIMES: OrderTimes<RuleOrder> = {
  endsAt: ({ expiresAt }) => expiresAt,
  endingAt: (order, expiresAt) => ({ ...order, expiresAt }),
  longestMs: () => FILTER_RULE_SECONDS_MAX * 1000,
};

export class FilterRules {
  readonly #options: FilterRulesOptions;
  readonly #orders: StandingOrders<RuleOrder, RuleOrderRefusal, RuleOrderEnd>;
  /** By name, the rules of the orders that are in force. */
  readonly #rules = new Map<string, OperatorRule>();
  #policy: FilterRulesPolicy;

  /** @param kept orders of an earlier process; some may have expired since. */
  constructor(options: FilterRulesOptions, kept: Iterable<RuleOrder> = []) {
    this.#options = options;
    this.#policy = options.policy;
    const { store, observer } = options;
    this.#orders = new StandingOrders({ store, keyOf: ({ name }) => name, times: TIMES, observer });
    this.#orders.restore(kept);
    this.#readAll();
  }

  /** In the order in which they are tried. */
  inForce(): OperatorRule[] {
    return this.#all().map(({ rule }) => rule);
  }

  /** As above. */
  views(): FilterRuleView[] {
    const all = this.#all();
    const hidden = hiddenRules(
      all.map(({ rule }) => rule),
      this.#policy.networks,
    );
    return all.map(({ rule, order }, i) => ({ rule, order, hiddenBy: hidden.get(i)?.name ?? null }));
  }

  /** Slots in the kernel that they take at most: one for each destination. */
  get places(): number {
    const { networks } = this.#policy;
    return this.inForce().reduce((sum, { destinations }) => sum + (destinations.length || networks.length), 0);
  }

  /** Number of those in force. */
  counts(): Readonly<Record<"configuration" | "order", number>> {
    return { configuration: this.#policy.configured.length, order: this.#rules.size };
  }

  /** Adds a rule, or replaces the one ordered under its name. Rejects with the store's error: then nothing changed. */
  async order(order: RuleOrder, rule: OperatorRule, by?: Commander): Promise<RuleOrderAnswer> {
    const outcome = await this.#orders.place({
      decide: () => {
        const refusal = this.#refusal(rule);
        if (refusal !== null) return { kind: "refused", refusal };
        return { kind: "begins", key: order.name, record: order, basis: [] };
      },
      takeEffect: () => {
        this.#rules.set(order.name, rule);
        this.#options.onChange();
      },
      ...(by && { by }),
    });
    if (outcome.kind === "refused") return outcome;
    const view = this.views().find(({ order: one }) => one === order) ?? { rule, order, hiddenBy: null };
    return { kind: "done", view, isSaved: outcome.isSaved };
  }

  /** The answer that order() would give now. Changes nothing, and counts no refusal. */
  preview(order: RuleOrder, rule: OperatorRule): RuleOrderPreview {
    const others = this.#all().filter(({ order: one }) => one?.name !== rule.name);
    const rules = [rule, ...others.map((one) => one.rule)];
    const hidden = hiddenRules(rules, this.#policy.networks);
    const hides = [...hidden].flatMap(([i, by]) => (by === rule ? [(rules[i] as OperatorRule).name] : []));
    return { view: { rule, order, hiddenBy: null }, refusal: this.#refusal(rule), hides };
  }

  /** null: there is no order of this name. Otherwise resolves with whether its end is on disk. */
  async remove(name: string, by?: Commander): Promise<boolean | null> {
    const order = this.#orders.get(name);
    if (order === null) return null;
    this.#rules.delete(name);
    const saved = this.#orders.endSaved("removed", [order], by);
    this.#options.onChange();
    return saved;
  }

  /** The orders of callers, also those that are not in force, by name. */
  get orders(): ReadonlyMap<string, RuleOrder> {
    return this.#orders.all;
  }

  /** The order of another brain, in place of the one of its name. Returns null, or why it cannot be in force here. */
  adopt(order: RuleOrder): RuleOrderRefusal | "not_understood" | null {
    const rule = this.#options.read(order.rule);
    const refusal = rule === null ? "not_understood" : this.#refusal(rule);
    if (rule === null || refusal !== null) return refusal;
    this.#orders.adopt(order);
    this.#rules.set(order.name, rule);
    this.#options.onChange();
    return null;
  }

  /** Another brain has ended it. */
  endAdopted(order: RuleOrder): void {
    this.#rules.delete(order.name);
    this.#orders.end("removed", [order]);
    this.#options.onChange();
  }

  /** Ends what has expired. */
  tick(wallMs: number): void {
    this.#orders.shorten(wallMs);
    const expired = this.#orders.expire("expired", wallMs);
    for (const { name } of expired) this.#rules.delete(name);
    if (expired.length > 0) this.#options.onChange();
  }

  /** The wall clock was set by `byMs`: the time that is left does not change. */
  clockStepped(byMs: number): void {
    this.#orders.shift(byMs);
  }

  reconfigure(next: FilterRulesPolicy): void {
    this.#policy = next;
    this.#readAll();
    this.#options.onChange();
  }

  #readAll(): void {
    const { networks, sets } = this.#policy;
    this.#rules.clear();
    for (const order of this.#orders.all.values()) {
      const rule = this.#options.read(order.rule);
      if (rule !== null && liesInNetworks(rule, networks) && hasSets(rule, sets)) this.#rules.set(order.name, rule);
      else this.#options.observer.unusable(order);
    }
  }

  #all(): { readonly rule: OperatorRule; readonly order: RuleOrder | null }[] {
    const ordered = [...this.#orders.all.values()]
      .sort((a, b) => b.createdAt - a.createdAt)
      .flatMap((order) => {
        const rule = this.#rules.get(order.name);
        return rule === undefined ? [] : [{ rule, order }];
      });
    return [...ordered, ...this.#policy.configured.map((rule) => ({ rule, order: null }))];
  }

  #refusal(rule: OperatorRule): RuleOrderRefusal | null {
    const { configured, networks, hasDataplane, sets } = this.#policy;
    if (!hasDataplane) return "no_dataplane";
    if (configured.some(({ name }) => name === rule.name)) return "name_configured";
    if (!liesInNetworks(rule, networks)) return "outside_networks";
    if (!hasSets(rule, sets)) return "unknown_set";
    return this.#orders.get(rule.name) !== null || this.#orders.all.size < FILTER_RULE_ORDERS_MAX
      ? null
      : "too_many_rules";
  }
}

function hasSets({ match }: OperatorRule, sets: readonly string[]): boolean {
  return [...match.inSets, ...match.notInSets].every((name) => sets.includes(name));
}

function liesInNetworks({ destinations }: OperatorRule, networks: readonly Prefix[]): boolean {
  return destinations.every((prefix) => networks.some((network) => prefixCovers(network, prefix)));
}
