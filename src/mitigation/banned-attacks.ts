/** The attacks in progress, as last reported, with the ban engine's notes on each. */
import type { Attack } from "../detection/attack/attack.ts";
import { sizeOfRates } from "../detection/attack/attack-size.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";

export class BannedAttacks {
  readonly #attacks = new Map<string, Attack>();
  /** By spread attack: the prefix of its ban, which may differ from the attack's present prefix. */
  readonly #held = new Map<string, string>();
  /** Attacks whose ban an operator ended: they are not banned again. */
  readonly #excluded = new Set<string>();
  /** The largest size of each attack so far. */
  readonly #peaks = new Map<string, number>();
  /** Attacks whose ban was replaced by that of a worse one. */
  readonly #replaced = new Set<string>();

  set(attack: Attack): void {
    this.#attacks.set(attack.id, attack);
    this.#peaks.set(attack.id, Math.max(this.peakOf(attack.id), sizeOfRates(attack.rates)));
  }

  has(id: string): boolean {
    return this.#attacks.has(id);
  }

  of(ids: readonly string[]): Attack[] {
    return ids.flatMap((id) => this.#attacks.get(id) ?? []);
  }

  /** The attack ended. */
  delete(id: string): void {
    this.#attacks.delete(id);
    this.#held.delete(id);
    this.#excluded.delete(id);
    this.#peaks.delete(id);
    this.#replaced.delete(id);
  }

  peakOf(id: string): number {
    return this.#peaks.get(id) ?? 0;
  }

  /** The ban of these attacks was replaced. */
  replaced(ids: readonly string[]): void {
    for (const id of ids) if (this.#attacks.has(id)) this.#replaced.add(id);
  }

  wasReplaced(id: string): boolean {
    return this.#replaced.has(id);
  }

  exclude(ids: readonly string[]): void {
    for (const id of ids) this.#excluded.add(id);
  }

  isExcluded(id: string): boolean {
    return this.#excluded.has(id);
  }

  /** Records that the attacks of a prefix ban belong to this ban, even after they spread to a wider prefix. */
  hold({ prefix, heldBy }: Ban): void {
    if (!isOneAddress(prefix)) for (const id of heldBy) this.holds(id, prefix);
  }

  holds(id: string, prefix: Prefix): void {
    if (this.#attacks.has(id)) this.#held.set(id, prefix.text);
  }

  heldPrefix(id: string): string | null {
    return this.#held.get(id) ?? null;
  }
}
