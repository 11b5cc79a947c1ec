/**
 * Owns the table of protection profiles that callers chose for prefixes (docs/interface.md#protection). A choice is
 * stored before it takes effect. One that the configuration does not allow any more is kept without effect.
 */

import { type Callers, type Holder, NO_TENANTS, type Overrun, type Room, Shares } from "../../access/shares.ts";
import { PROTECTION_CHOICES_MAX, PROTECTION_CHOICES_PER_TENANT } from "../../limits.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { type Commander, type OrderObserver, StandingOrders } from "../../system/standing-orders.ts";
import type { Decision } from "../../system/stored-order.ts";
import type { ScrubConfig } from "../scrub/scrub-config.ts";
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
  "choices_over_share",
  "no_slots",
  "slots_over_share",
] as const;
export type ProtectionRefusal = (typeof PROTECTION_REFUSALS)[number];

export type ProtectionOrder = Omit<ProtectionChoice, "prefix"> & { readonly prefix: Prefix };

/** The protection of a prefix. */
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

export interface ProtectionObserver extends OrderObserver<ProtectionChoice, ProtectionRefusal, "removed"> {
  /** Choices that are without effect from now on. */
  inactive(choices: readonly InactiveChoice[]): void;
}

export interface ProtectionsOptions {
  readonly config: ProtectionConfig;
  /** By prefix. */
  readonly store: RecordTable<ProtectionChoice>;
  /** Called when the protection of a prefix changed. */
  readonly onChange: () => void;
  readonly observer: ProtectionObserver;
  /** By the configuration in force; absent: there is no tenant. */
  readonly callers?: () => Callers;
  /** The slots of rules in the kernel that callers fill; absent: there is no data plane. */
  readonly slots?: {
    readonly shares: Shares;
    readonly room: () => Room;
    readonly of: (choice: ActiveChoice) => number;
  };
}

/** The places that a choice takes. */
interface Places {
  readonly holder: Holder;
  readonly slots: number;
}

export class Protections implements Chosen {
  readonly #options: ProtectionsOptions;
  #config: ProtectionConfig;
  readonly #choices: StandingOrders<ProtectionChoice, ProtectionRefusal, "removed">;
  /** By prefix, as the configuration in force judges them. */
  readonly #judged = new Map<string, JudgedChoice>();
  #inForce = ChosenPrefixes.of([]);
  readonly #shares: Shares;
  /** As counted. */
  #places: readonly Places[] = [];

  constructor(options: ProtectionsOptions) {
    this.#options = options;
    this.#shares = new Shares(options.callers ?? (() => NO_TENANTS));
    this.#config = options.config;
    const { store, observer } = options;
    this.#choices = new StandingOrders({ store, keyOf: ({ prefix }) => prefix, times: null, observer });
  }

  /** Restores stored choices. Call this before what is in force is read. */
  restore(choices: readonly ProtectionChoice[]): void {
    this.#choices.restore(choices);
    this.#judgeAll();
    this.#reportInactive([]);
  }

  reconfigure(config: ProtectionConfig): void {
    const before = [...this.#judged.values()];
    this.#config = config;
    this.#judgeAll();
    this.#reportInactive(before);
  }

  #judgeAll(): void {
    for (const choice of this.#choices.all.values()) this.#judged.set(choice.prefix, judgeChoice(choice, this.#config));
    this.#settle();
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
    return this.#choices.get(prefix.text);
  }

  /** The protection of all of the prefix; null: it is not within one network and one hostgroup. */
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
    const outcome = await this.#choices.place({
      decide: () => this.#decide(order),
      takeEffect: (choice) => {
        this.#judged.set(choice.prefix, judgeChoice(choice, this.#config));
        this.#settle();
        this.#options.onChange();
      },
    });
    if (outcome.kind === "refused") return outcome;
    const view = this.#viewOf(judgeChoice(outcome.record, this.#config));
    return { kind: "done", view, isSaved: outcome.isSaved };
  }

  /**
   * Removes the choice for exactly this prefix at once. Resolves with what applies now, and whether it is on disk; null:
   * there is none. @param tenant the caller's, which removes only what its own callers chose; null: any.
   */
  async remove(prefix: Prefix, tenant: string | null, by?: Commander): Promise<ProtectionAnswer | null> {
    const choice = this.choiceOf(prefix);
    if (choice === null) return null;
    if (tenant !== null && choice.tenant !== tenant) {
      this.#options.observer.refused("chosen_by_operator");
      return { kind: "refused", refusal: "chosen_by_operator" };
    }
    this.#judged.delete(prefix.text);
    this.#settle();
    const saved = this.#choices.endSaved("removed", [choice], by);
    this.#options.onChange();
    const none = { prefix, group: -1, scrub: null, judged: null, application: null };
    return { kind: "done", view: this.of(prefix) ?? none, isSaved: await saved };
  }

  /** The choice of another brain, in place of the one of its prefix. Returns null, or why there is no room for it here. */
  adopt(choice: ProtectionChoice): ProtectionRefusal | null {
    const judged = judgeChoice(choice, this.#config);
    const before = this.#choices.get(choice.prefix);
    const room = before === null ? this.#roomRefusal(choice, null) : null;
    const refusal = room ?? (judged.kind === "active" ? this.#slotsRefusal(judged, before) : null);
    if (refusal !== null) return refusal;
    this.#choices.adopt(choice);
    this.#judged.set(choice.prefix, judged);
    this.#settle();
    if (judged.kind === "inactive") this.#options.observer.inactive([judged]);
    this.#options.onChange();
    return null;
  }

  /** Another brain has removed it. */
  endAdopted(choice: ProtectionChoice): void {
    this.#judged.delete(choice.prefix);
    this.#settle();
    this.#choices.end("removed", [choice]);
    this.#options.onChange();
  }

  /** By prefix. */
  get choices(): ReadonlyMap<string, ProtectionChoice> {
    return this.#choices.all;
  }

  #decide({ prefix, ...order }: ProtectionOrder): Decision<ProtectionChoice, ProtectionRefusal> {
    const choice: ProtectionChoice = { prefix: prefix.text, ...order };
    const judged = judgeChoice(choice, this.#config);
    if (judged.kind === "inactive") {
      // The existence of profiles is not shown to a tenant.
      const isHidden = judged.cause === "unknown_profile" && order.tenant !== null;
      return { kind: "refused", refusal: isHidden ? "not_selectable" : judged.cause };
    }
    const before = this.choiceOf(prefix);
    const refusal = this.#roomRefusal(choice, before) ?? this.#slotsRefusal(judged, before);
    if (refusal !== null) return { kind: "refused", refusal };
    return { kind: "begins", key: prefix.text, record: choice, basis: [before, this.#config] };
  }

  #roomRefusal(choice: ProtectionChoice, before: ProtectionChoice | null): ProtectionRefusal | null {
    const { tenant } = choice;
    if (before !== null) return tenant !== null && before.tenant !== tenant ? "chosen_by_operator" : null;
    const room = { capacity: PROTECTION_CHOICES_MAX, perTenantMax: PROTECTION_CHOICES_PER_TENANT };
    const overrun = this.#shares.refusal(choice, room);
    if (overrun === null) return null;
    if (overrun === "full") return "too_many_choices";
    const isAtBound = this.#shares.of(tenant ?? "") >= PROTECTION_CHOICES_PER_TENANT;
    return isAtBound ? "too_many_of_tenant" : "choices_over_share";
  }

  /** Rules that stay in the kernel take the room of source blocks. */
  #slotsRefusal(judged: ActiveChoice, before: ProtectionChoice | null): ProtectionRefusal | null {
    const { slots } = this.#options;
    if (slots === undefined) return null;
    const replaced = before === null ? undefined : this.#judged.get(before.prefix);
    const more = slots.of(judged) - (replaced?.kind === "active" ? slots.of(replaced) : 0);
    const overrun: Overrun | null = more <= 0 ? null : slots.shares.refusal(judged.choice, slots.room(), more);
    if (overrun === null) return null;
    return overrun === "full" ? "no_slots" : "slots_over_share";
  }

  #settle(): void {
    this.#count(-1);
    const { slots } = this.#options;
    this.#places = [...this.#judged.values()].map((judged) => ({
      holder: judged.choice,
      slots: judged.kind === "active" ? (slots?.of(judged) ?? 0) : 0,
    }));
    this.#count(1);
    this.#inForce = ChosenPrefixes.of([...this.#judged.values()].filter((judged) => judged.kind === "active"));
  }

  #count(sign: 1 | -1): void {
    for (const { holder, slots } of this.#places) {
      this.#shares.take(holder, sign);
      if (slots > 0) this.#options.slots?.shares.take(holder, sign * slots);
    }
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
