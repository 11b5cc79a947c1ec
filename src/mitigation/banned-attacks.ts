/** The attacks in progress, as they were heard of last, and what the ban engine remembers of each. */
import type { Attack } from "../detection/attack/attack.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Ban } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";

export class BannedAttacks {
  readonly #attacks = new Map<string, Attack>();
  /** The prefix of the ban that a spread attack holds: the attack may be on another one by now. */
  readonly #held = new Map<string, string>();
  /** Their ban was lifted by an operator: they get no other. */
  readonly #pardoned = new Set<string>();

  set(attack: Attack): void {
    this.#attacks.set(attack.id, attack);
  }

  has(id: string): boolean {
    return this.#attacks.has(id);
  }

  of(ids: readonly string[]): Attack[] {
    return ids.flatMap((id) => this.#attacks.get(id) ?? []);
  }

  /** It is over. */
  delete(id: string): void {
    this.#attacks.delete(id);
    this.#held.delete(id);
    this.#pardoned.delete(id);
  }

  pardon(ids: readonly string[]): void {
    for (const id of ids) this.#pardoned.add(id);
  }

  isPardoned(id: string): boolean {
    return this.#pardoned.has(id);
  }

  /** Those that hold the ban of a prefix hold it also when they are on a wider one. */
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
