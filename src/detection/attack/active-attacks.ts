/** The attacks in progress, at most one for each direction of a target: a host, a whole hostgroup, or a part of one. */
import type { IpAddress } from "../../net/address.ts";
import { AddressIndex } from "../../traffic/address-index.ts";
import type { Direction } from "../../traffic/rates.ts";
import type { Attack } from "./attack.ts";

export class ActiveAttacks {
  readonly #hosts: Record<Direction, Map<IpAddress, Attack>> = { incoming: new Map(), outgoing: new Map() };
  readonly #groups: Record<Direction, Map<string, Attack>> = { incoming: new Map(), outgoing: new Map() };

  /** Keyed by id, since the attacked prefix may grow. */
  readonly #carpets = new Map<string, Attack>();
  readonly #targets = new AddressIndex();
  /** Another one whenever an attack on a host starts or ends. */
  hostsVersion = 0;

  get size(): number {
    const { incoming, outgoing } = this.#hosts;
    const groups = this.#groups.incoming.size + this.#groups.outgoing.size;
    return incoming.size + outgoing.size + groups + this.#carpets.size;
  }

  get hasGroups(): boolean {
    return this.#groups.incoming.size + this.#groups.outgoing.size > 0;
  }

  *values(): Generator<Attack> {
    for (const table of [this.#hosts, this.#groups]) {
      yield* table.incoming.values();
      yield* table.outgoing.values();
    }
    yield* this.#carpets.values();
  }

  /** null: the attack ended, or is not a carpet attack. */
  carpet(id: string): Attack | null {
    return this.#carpets.get(id) ?? null;
  }

  *carpets(): Generator<Attack & { readonly carpet: NonNullable<Attack["carpet"]> }> {
    for (const attack of this.#carpets.values()) if (attack.carpet !== null) yield { ...attack, carpet: attack.carpet };
  }

  get carpetCount(): number {
    return this.#carpets.size;
  }

  /** Replaces the attack of the same target and direction. */
  set(attack: Attack): void {
    const { target, group, direction } = attack;
    if (attack.carpet !== null) this.#carpets.set(attack.id, attack);
    else if (target === null) this.#groups[direction].set(group, attack);
    else {
      if (!this.#hosts[direction].has(target)) {
        this.#targets.add(target);
        this.hostsVersion++;
      }
      this.#hosts[direction].set(target, attack);
    }
  }

  delete({ id, target, group, direction, carpet }: Attack): void {
    if (carpet !== null) this.#carpets.delete(id);
    else if (target === null) this.#groups[direction].delete(group);
    else if (this.#hosts[direction].delete(target)) {
      this.hostsVersion++;
      if (this.on(target) === null) this.#targets.delete(target);
    }
  }

  /** The row's host, if it is attacked in a direction; fast enough for a million rows a second. */
  attackedHost(rows: { readonly addresses: Uint8Array }, row: number): IpAddress | null {
    return this.#targets.find(rows.addresses, row);
  }

  ofHost(target: IpAddress, direction: Direction): Attack | null {
    return this.#hosts[direction].get(target) ?? null;
  }

  hosts(direction: Direction): IpAddress[] {
    return [...this.#hosts[direction].keys()];
  }

  ofGroup(name: string, direction: Direction): Attack | null {
    return this.#groups[direction].get(name) ?? null;
  }

  /** The attack on a host; the incoming one if there are two. */
  on(target: IpAddress): Attack | null {
    return this.ofHost(target, "incoming") ?? this.ofHost(target, "outgoing");
  }

  /** All attacked hosts, in either direction. */
  targets(): Set<IpAddress> {
    return new Set([...this.#hosts.incoming.keys(), ...this.#hosts.outgoing.keys()]);
  }
}
