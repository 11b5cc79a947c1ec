/** The attacks in progress, one at most of each subject and direction: a host, or a hostgroup as a whole. */
import type { IpAddress } from "../net/address.ts";
import type { Direction } from "../traffic/rates.ts";
import type { Attack } from "./attack.ts";

export class ActiveAttacks {
  readonly #hosts: Record<Direction, Map<IpAddress, Attack>> = { incoming: new Map(), outgoing: new Map() };
  readonly #groups: Record<Direction, Map<string, Attack>> = { incoming: new Map(), outgoing: new Map() };

  get size(): number {
    const { incoming, outgoing } = this.#hosts;
    return incoming.size + outgoing.size + this.#groups.incoming.size + this.#groups.outgoing.size;
  }

  get hasGroups(): boolean {
    return this.#groups.incoming.size + this.#groups.outgoing.size > 0;
  }

  *values(): Generator<Attack> {
    for (const table of [this.#hosts, this.#groups]) {
      yield* table.incoming.values();
      yield* table.outgoing.values();
    }
  }

  /** Takes the place of the one that the subject had. */
  set(attack: Attack): void {
    const { target, group, direction } = attack;
    if (target === null) this.#groups[direction].set(group, attack);
    else this.#hosts[direction].set(target, attack);
  }

  delete({ target, group, direction }: Attack): void {
    if (target === null) this.#groups[direction].delete(group);
    else this.#hosts[direction].delete(target);
  }

  ofHost(target: IpAddress, direction: Direction): Attack | null {
    return this.#hosts[direction].get(target) ?? null;
  }

  ofGroup(name: string, direction: Direction): Attack | null {
    return this.#groups[direction].get(name) ?? null;
  }

  /** Of two, the incoming one. */
  on(target: IpAddress): Attack | null {
    return this.ofHost(target, "incoming") ?? this.ofHost(target, "outgoing");
  }

  /** In either direction. */
  targets(): Set<IpAddress> {
    return new Set([...this.#hosts.incoming.keys(), ...this.#hosts.outgoing.keys()]);
  }
}
