/**
 * Owns the table of protection profiles that callers chose for prefixes (docs/interface.md#protection). A choice is
 * stored before it takes effect. One that the configuration does not allow any more is kept without effect.
 */
import type { ScrubConfig } from "../../config/sections/scrub.ts";
import { PROTECTION_CHOICES_MAX, PROTECTION_CHOICES_PER_TENANT } from "../../limits.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { carryOut, type Decision } from "../../system/stored-order.ts";
import {
  type ActiveChoice,
  type Application,
  applicationOf,
  INACTIVE_CAUSES,
  type InactiveChoice,
  type JudgedChoice,
  judgeChoice,
  type ProtectionChoice,
  type ProtectionConfig,
} from "./choice.ts";
import { type Chosen, ChosenPrefixes } from "./chosen-prefixes.ts";

export const PROTECTION_REFUSALS = [
  ...INACTIVE_CAUSES,
  "chosen_by_operator",
  "too_many_choices",
  "too_many_of_tenant",
] as const;
export type ProtectionRefusal = (typeof PROTECTION_REFUSALS)[number];

export type ProtectionOrder = Omit<ProtectionChoice, "prefix"> & { readonly prefix: Prefix };

/** What applies to a prefix. */
export interface ProtectionView {
  readonly prefix: Prefix;
  /** Index of the hostgroup; -1: the choice is inactive since there is no single one. */
  readonly group: number;
  /** The filter that applies; of an inactive choice that of the configuration, null if there is no hostgroup. */
  readonly scrub: ScrubConfig | null;
  /** The choice that decides, or the one listed; null: the configuration decides. */
  readonly judged: JudgedChoice | null;
  /** null: no hostgroup. */
  readonly application: Application | null;
}

/** `isSaved` false: it is in force, and the disk has not taken it yet. */
export type ProtectionAnswer =
  | { readonly kind: "done"; readonly view: ProtectionView; readonly isSaved: boolean }
  | { readonly kind: "refused"; readonly refusal: ProtectionRefusal };

export interface ProtectionObserver {
  chosen(choice: ProtectionChoice): void;
  removed(choice: ProtectionChoice): void;
  refused(refusal: ProtectionRefusal): void;
  /** Choices that are without effect from now on. */
  inactive(choices: readonly InactiveChoice[]): void;
}

export interface ProtectionsOptions {
  readonly config: ProtectionConfig;
  /** By prefix. */
  readonly store: RecordTable<ProtectionChoice>;
  /** What applies to some prefix changed. */
  readonly onChange: () => void;
  readonly observer: ProtectionObserver;
}

export class Protections implements Chosen {
  readonly #options: ProtectionsOptions;
  #config: ProtectionConfig;
  /** By prefix. */
  readonly #judged = new Map<string, JudgedChoice>();
  #inForce = ChosenPrefixes.of([]);

  constructor(options: ProtectionsOptions) {
    this.#options = options;
    this.#config = options.config;
  }

  /** Restores stored choices. Call this before what is in force is asked for. */
  restore(choices: readonly ProtectionChoice[]): void {
    for (const choice of choices) this.#judged.set(choice.prefix, judgeChoice(choice, this.#config));
    this.#settle();
    this.#reportInactive([]);
  }

  reconfigure(config: ProtectionConfig): void {
    const before = [...this.#judged.values()];
    this.#config = config;
    for (const { choice } of before) this.#judged.set(choice.prefix, judgeChoice(choice, config));
    this.#settle();
    this.#reportInactive(before);
  }

  get active(): readonly ActiveChoice[] {
    return this.#inForce.all;
  }

  scrubOf(prefix: Prefix, configured: ScrubConfig): ScrubConfig {
    return this.#inForce.scrubOf(prefix, configured);
  }

  /** The choices, also those without effect, by the order in which they were made. */
  all(): ProtectionView[] {
    return [...this.#judged.values()]
      .sort((a, b) => a.choice.chosenAt - b.choice.chosenAt)
      .map((judged) => this.#viewOf(judged));
  }

  counts(): Readonly<Record<"operator" | "tenant", { readonly active: number; readonly inactive: number }>> {
    const counts = { operator: { active: 0, inactive: 0 }, tenant: { active: 0, inactive: 0 } };
    for (const { kind, choice } of this.#judged.values())
      counts[choice.tenant === null ? "operator" : "tenant"][kind]++;
    return counts;
  }

  /** The choice for exactly this prefix, also one without effect. */
  choiceOf(prefix: Prefix): ProtectionChoice | null {
    return this.#judged.get(prefix.text)?.choice ?? null;
  }

  /** What applies to all of the prefix; null: it is not within one network and one hostgroup. */
  of(prefix: Prefix): ProtectionView | null {
    const group = this.#config.lookup.groupOf(prefix);
    const configured = this.#config.mitigations[group]?.scrub;
    if (configured === undefined) return null;
    const judged = this.#inForce.find(prefix);
    const scrub = judged?.scrub ?? configured;
    return { prefix, group, scrub, judged, application: applicationOf({ prefix, group, scrub }, this.#config) };
  }

  /** Chooses or replaces, once it is on disk. Rejects with the store's error; then nothing has changed. */
  async choose(order: ProtectionOrder): Promise<ProtectionAnswer> {
    const { prefix } = order;
    const outcome = await carryOut<ProtectionChoice, ProtectionRefusal>({
      table: this.#options.store,
      decide: () => this.#decide(order),
      present: () => this.choiceOf(prefix),
      takeEffect: (choice) => {
        this.#judged.set(choice.prefix, judgeChoice(choice, this.#config));
        this.#settle();
        this.#options.observer.chosen(choice);
        this.#options.onChange();
      },
    });
    if (outcome.kind === "refused") return this.#refuse(outcome.refusal);
    const view = this.#viewOf(judgeChoice(outcome.record, this.#config));
    return { kind: "done", view, isSaved: outcome.isSaved };
  }

  /**
   * Removes the choice for exactly this prefix at once. Resolves with what applies now, and whether it is on disk; null:
   * there is none. @param tenant the caller's, which removes only what its own callers chose; null: any.
   */
  async remove(prefix: Prefix, tenant: string | null): Promise<ProtectionAnswer | null> {
    const choice = this.choiceOf(prefix);
    if (choice === null) return null;
    if (tenant !== null && choice.tenant !== tenant) return this.#refuse("chosen_by_operator");
    const { store, observer, onChange } = this.#options;
    this.#judged.delete(prefix.text);
    this.#settle();
    const saved = store.save(prefix.text, null);
    observer.removed(choice);
    onChange();
    const none = { prefix, group: -1, scrub: null, judged: null, application: null };
    return { kind: "done", view: this.of(prefix) ?? none, isSaved: await saved };
  }

  #decide({ prefix, ...order }: ProtectionOrder): Decision<ProtectionChoice, ProtectionRefusal> {
    const choice: ProtectionChoice = { prefix: prefix.text, ...order };
    const judged = judgeChoice(choice, this.#config);
    if (judged.kind === "inactive") {
      // Which profiles there are, a tenant is not told.
      const isHidden = judged.cause === "unknown_profile" && order.tenant !== null;
      return { kind: "refused", refusal: isHidden ? "not_selectable" : judged.cause };
    }
    const before = this.choiceOf(prefix);
    const refusal = this.#roomRefusal(choice, before);
    if (refusal !== null) return { kind: "refused", refusal };
    return { kind: "begins", key: prefix.text, record: choice, basis: [before, this.#config] };
  }

  #roomRefusal({ tenant }: ProtectionChoice, before: ProtectionChoice | null): ProtectionRefusal | null {
    if (tenant !== null && before !== null && before.tenant !== tenant) return "chosen_by_operator";
    if (before === null && this.#judged.size >= PROTECTION_CHOICES_MAX) return "too_many_choices";
    if (tenant === null || before !== null) return null;
    const own = [...this.#judged.values()].filter(({ choice }) => choice.tenant === tenant);
    return own.length >= PROTECTION_CHOICES_PER_TENANT ? "too_many_of_tenant" : null;
  }

  #refuse(refusal: ProtectionRefusal): ProtectionAnswer {
    this.#options.observer.refused(refusal);
    return { kind: "refused", refusal };
  }

  #settle(): void {
    this.#inForce = ChosenPrefixes.of([...this.#judged.values()].filter((judged) => judged.kind === "active"));
  }

  /** Those that were not inactive for the same reason before. */
  #reportInactive(before: readonly JudgedChoice[]): void {
    const known = new Set(before.map((judged) => (judged.kind === "inactive" ? nameOf(judged) : "")));
    const fresh = [...this.#judged.values()].filter((judged) => judged.kind === "inactive");
    const changed = fresh.filter((judged) => !known.has(nameOf(judged)));
    if (changed.length > 0) this.#options.observer.inactive(changed);
  }

  #viewOf(judged: JudgedChoice): ProtectionView {
    const { prefix, group } = judged;
    const around = this.of(prefix);
    if (judged.kind === "active" && around !== null) return around;
    return { prefix, group, judged, scrub: around?.scrub ?? null, application: around?.application ?? null };
  }
}

function nameOf({ prefix, cause }: InactiveChoice): string {
  return `${prefix.text} ${cause}`;
}
