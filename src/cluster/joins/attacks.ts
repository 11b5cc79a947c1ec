/**
 * One attack, one id: brains that see the same subject attacked have the id of the one that saw it first, and of two that
 * began before they knew of each other the smaller id. The other one stays known as an alias. Pure; knows no connection.
 */

/** The subject of an attack; the prefix of attacks on parts of a hostgroup may grow. */
export interface AttackSubject {
  readonly direction: string;
  /** An address, a prefix, or the name of a hostgroup. */
  readonly target: string;
  /** null: the target is no prefix. Bits of the first address, as 0s and 1s, as many as the prefix has. */
  readonly bits: string | null;
}

export interface OwnAttack {
  readonly id: string;
  readonly subject: AttackSubject;
  /** Wall clock, ms. */
  readonly startedAt: number;
}

/** An attack in progress at another brain. */
export interface ForeignAttack {
  /** Its own one there. */
  readonly id: string;
  /** The one that is shown there. */
  readonly joinedId: string;
  readonly subject: AttackSubject;
  /** By the own wall clock, ms. */
  readonly startedAt: number;
}

interface Joined {
  readonly id: string;
  readonly startedAt: number;
}

/** Attacks of the past whose ids are known. */
const PAST_MAX = 8192;

/** Attacks in progress of one brain, found by what is attacked. */
class SubjectTable<Item extends { readonly id: string; readonly subject: AttackSubject }> {
  readonly #items = new Map<string, Item>();
  /** Ids by subject, of those that are no prefix: there are thousands of these. */
  readonly #byTarget = new Map<string, Set<string>>();
  /** Ids of the others. */
  readonly #prefixes = new Set<string>();

  get size(): number {
    return this.#items.size;
  }

  values(): Iterable<Item> {
    return this.#items.values();
  }

  has(id: string): boolean {
    return this.#items.has(id);
  }

  put(item: Item): void {
    this.delete(item.id);
    this.#items.set(item.id, item);
    if (item.subject.bits !== null) this.#prefixes.add(item.id);
    else {
      const key = keyOf(item.subject);
      this.#byTarget.set(key, (this.#byTarget.get(key) ?? new Set()).add(item.id));
    }
  }

  delete(id: string): void {
    const item = this.#items.get(id);
    if (item === undefined) return;
    this.#items.delete(id);
    this.#prefixes.delete(id);
    const ids = this.#byTarget.get(keyOf(item.subject));
    ids?.delete(id);
    if (ids?.size === 0) this.#byTarget.delete(keyOf(item.subject));
  }

  on(subject: AttackSubject): Item[] {
    const ids = subject.bits === null ? (this.#byTarget.get(keyOf(subject)) ?? []) : this.#prefixes;
    const items = [...ids].flatMap((id) => this.#items.get(id) ?? []);
    return items.filter((item) => isSameSubject(item.subject, subject));
  }
}

export class JoinedAttacks {
  readonly #own = new SubjectTable<OwnAttack>();
  readonly #foreign = new Map<string, SubjectTable<ForeignAttack>>();
  /** By own id; only those that differ, of attacks in progress and of the past. */
  readonly #joined = new Map<string, Joined>();
  /** Ids that this brain had for an attack of its own: none is used twice. */
  readonly #used = new Set<string>();
  readonly #foreignMax: number;

  /** @param foreignMax attacks of another brain at once; more are not joined. */
  constructor(foreignMax: number) {
    this.#foreignMax = foreignMax;
  }

  /** The id of an attack that begins. @param drawn where no other brain has one */
  idFor(subject: AttackSubject, drawn: string): string {
    const [smallest] = this.#foreignOn(subject)
      .map(({ joinedId }) => joinedId)
      .toSorted(byText);
    return smallest === undefined || this.#used.has(smallest) ? drawn : smallest;
  }

  /** It begins, or its prefix has grown. Returns whether it is shown with another id or start than before. */
  put(attack: OwnAttack): boolean {
    this.#own.put(attack);
    this.#used.add(attack.id);
    bound(this.#used);
    return this.#join(attack);
  }

  ended(id: string): void {
    this.#own.delete(id);
  }

  /** Returns the own attacks that are shown with another id or start now. */
  putForeign(brain: string, attacks: readonly ForeignAttack[]): readonly OwnAttack[] {
    const known = this.#foreign.get(brain) ?? new SubjectTable<ForeignAttack>();
    this.#foreign.set(brain, known);
    const others = new Set<OwnAttack>();
    for (const attack of attacks) {
      if (known.size >= this.#foreignMax && !known.has(attack.id)) continue;
      known.put(attack);
      for (const own of this.#own.on(attack.subject)) if (this.#join(own)) others.add(own);
    }
    return [...others];
  }

  endForeign(brain: string, ids: readonly string[]): void {
    for (const id of ids) this.#foreign.get(brain)?.delete(id);
  }

  /** It is out of reach, or sends all that it has. */
  forget(brain: string): void {
    this.#foreign.delete(brain);
  }

  get active(): Iterable<OwnAttack> {
    return this.#own.values();
  }

  /** The form in which all brains show an own attack; null: its own. */
  joinedOf(id: string): Joined | null {
    return this.#joined.get(id) ?? null;
  }

  /** The own id of the attack that is shown with this one; the same one if there is no other. */
  ownIdOf(shown: string): string {
    if (this.#own.has(shown)) return shown;
    let past: string | null = null;
    for (const [own, { id }] of this.#joined) {
      if (id !== shown) continue;
      if (this.#own.has(own)) return own;
      past = own;
    }
    return this.#used.has(shown) ? shown : (past ?? shown);
  }

  #join({ id, subject, startedAt }: OwnAttack): boolean {
    const before = this.#joined.get(id) ?? { id, startedAt };
    let { id: joinedId, startedAt: first } = before;
    for (const foreign of this.#foreignOn(subject)) {
      if (foreign.joinedId < joinedId) joinedId = foreign.joinedId;
      first = Math.min(first, foreign.startedAt);
    }
    if (joinedId === before.id && first === before.startedAt) return false;
    this.#joined.delete(id);
    this.#joined.set(id, { id: joinedId, startedAt: first });
    bound(this.#joined);
    return true;
  }

  #foreignOn(subject: AttackSubject): ForeignAttack[] {
    return [...this.#foreign.values()].flatMap((attacks) => attacks.on(subject));
  }
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const keyOf = ({ direction, target }: AttackSubject) => `${direction} ${target}`;

/** Prefixes are the same subject if one lies in the other. */
export function isSameSubject(a: AttackSubject, b: AttackSubject): boolean {
  if (a.direction !== b.direction) return false;
  if (a.bits === null || b.bits === null) return a.target === b.target && a.bits === b.bits;
  const [short, long] = a.bits.length <= b.bits.length ? [a.bits, b.bits] : [b.bits, a.bits];
  return a.target.includes(":") === b.target.includes(":") && long.startsWith(short);
}

function bound(table: Set<string> | Map<string, unknown>): void {
  const [oldest] = table.keys();
  if (table.size > PAST_MAX && oldest !== undefined) table.delete(oldest);
}
