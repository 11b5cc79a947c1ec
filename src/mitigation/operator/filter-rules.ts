/**
 * The operator's rules in force: those ordered by the API, the newest first, then those of the configuration. An order
 * is on disk before it takes effect, and ends at once, whatever the disk does. Times are wall clock, ms.
 */
import { FILTER_RULE_ORDERS_MAX } from "../../limits.ts";
import { type Prefix, prefixContains } from "../../net/prefix.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { carryOut } from "../../system/stored-order.ts";
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
export const RULE_ORDER_ENDS = ["removed", "expired"] as const;

export interface FilterRulesObserver {
  ordered(order: RuleOrder): void;
  refused(refusal: RuleOrderRefusal): void;
  ended(end: (typeof RULE_ORDER_ENDS)[number], order: RuleOrder): void;
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

interface Ordered {
  readonly order: RuleOrder;
  /** null: not in force. */
  readonly rule: OperatorRule | null;
}

export class FilterRules {
  readonly #options: FilterRulesOptions;
  readonly #orders = new Map<string, Ordered>();
  #policy: FilterRulesPolicy;

  /** @param kept orders of an earlier process; some may have expired since. */
  constructor(options: FilterRulesOptions, kept: Iterable<RuleOrder> = []) {
    this.#options = options;
    this.#policy = options.policy;
    for (const order of kept) this.#take(order);
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
    const order = [...this.#orders.values()].filter(({ rule }) => rule !== null).length;
    return { configuration: this.#policy.configured.length, order };
  }

  /** Adds a rule, or replaces the one ordered under its name. Rejects with the store's error: then nothing changed. */
  async order(order: RuleOrder, rule: OperatorRule): Promise<RuleOrderAnswer> {
    const { store, observer, onChange } = this.#options;
    const outcome = await carryOut<RuleOrder, RuleOrderRefusal>({
      table: store,
      decide: () => {
        const refusal = this.#refusal(rule);
        if (refusal !== null) return { kind: "refused", refusal };
        return { kind: "begins", key: order.name, record: order, basis: [] };
      },
      present: (name) => this.#orders.get(name)?.order ?? null,
      takeEffect: () => {
        this.#orders.set(order.name, { order, rule });
        observer.ordered(order);
        onChange();
      },
    });
    if (outcome.kind === "refused") {
      observer.refused(outcome.refusal);
      return outcome;
    }
    const view = this.views().find(({ order: one }) => one === order) ?? { rule, order, hiddenBy: null };
    return { kind: "done", view, isSaved: outcome.isSaved };
  }

  /** null: there is no order of this name. Otherwise resolves with whether its end is on disk. */
  async remove(name: string): Promise<boolean | null> {
    const ordered = this.#orders.get(name);
    if (ordered === undefined) return null;
    const { store, observer, onChange } = this.#options;
    this.#orders.delete(name);
    const saved = store.save(name, null);
    observer.ended("removed", ordered.order);
    onChange();
    return saved;
  }

  /** Ends what has expired. */
  tick(wallMs: number): void {
    const { store, observer, onChange } = this.#options;
    const expired = [...this.#orders.values()].filter(({ order }) => order.expiresAt <= wallMs);
    for (const { order } of expired) {
      this.#orders.delete(order.name);
      store.queue(order.name, null);
      observer.ended("expired", order);
    }
    if (expired.length > 0) onChange();
  }

  /** The wall clock was set by `byMs`: the time that is left does not change. */
  clockStepped(byMs: number): void {
    for (const { order, rule } of [...this.#orders.values()]) {
      const moved = { ...order, expiresAt: order.expiresAt + byMs };
      this.#orders.set(order.name, { order: moved, rule });
      this.#options.store.queue(order.name, moved);
    }
  }

  reconfigure(next: FilterRulesPolicy): void {
    this.#policy = next;
    for (const { order } of [...this.#orders.values()]) this.#take(order);
    this.#options.onChange();
  }

  #take(order: RuleOrder): void {
    const rule = this.#options.read(order.rule);
    const { networks, sets } = this.#policy;
    const isUsable = rule !== null && liesInNetworks(rule, networks) && hasSets(rule, sets);
    if (!isUsable) this.#options.observer.unusable(order);
    this.#orders.set(order.name, { order, rule: isUsable ? rule : null });
  }

  #all(): { readonly rule: OperatorRule; readonly order: RuleOrder | null }[] {
    const ordered = [...this.#orders.values()]
      .toSorted((a, b) => b.order.createdAt - a.order.createdAt)
      .flatMap(({ order, rule }) => (rule === null ? [] : { rule, order }));
    return [...ordered, ...this.#policy.configured.map((rule) => ({ rule, order: null }))];
  }

  #refusal(rule: OperatorRule): RuleOrderRefusal | null {
    const { configured, networks, hasDataplane, sets } = this.#policy;
    if (!hasDataplane) return "no_dataplane";
    if (configured.some(({ name }) => name === rule.name)) return "name_configured";
    if (!liesInNetworks(rule, networks)) return "outside_networks";
    if (!hasSets(rule, sets)) return "unknown_set";
    return this.#orders.has(rule.name) || this.#orders.size < FILTER_RULE_ORDERS_MAX ? null : "too_many_rules";
  }
}

function hasSets({ match }: OperatorRule, sets: readonly string[]): boolean {
  return [...match.inSets, ...match.notInSets].every((name) => sets.includes(name));
}

function liesInNetworks({ destinations }: OperatorRule, networks: readonly Prefix[]): boolean {
  return destinations.every((prefix) =>
    networks.some((network) => network.length <= prefix.length && prefixContains(network, prefix.address)),
  );
}
