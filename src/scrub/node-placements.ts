/**
 * To which nodes each diverted ban went, and so in whose documents it is: those of all nodes that may get its traffic, and
 * of those that had it. Routers follow a new route with a delay: the node of before goes on filtering until the ban ends.
 */
import type { Ban } from "../mitigation/ban.ts";
import type { Prefix } from "../net/prefix.ts";
import { type Audience, everyBan } from "./rule-documents.ts";
import type { RuleSupport } from "./rule-forms.ts";
import { nextHopFor, type ScrubNodeConfig } from "./scrubbing-config.ts";

/** Nodes to which a ban went one after another. */
export const NODES_OF_BAN_MAX = 8;

export class NodePlacements {
  readonly #groupOf: (prefix: Prefix) => string;
  /** By id; the latest node last. */
  readonly #placed = new Map<string, { readonly prefix: Prefix; readonly nodes: readonly string[] }>();
  /** Ids of the bans that each node had. */
  readonly #bansOf = new Map<string, Set<string>>();
  /** By node: ids of bans that it had, and may not get any more. */
  readonly #outsiders = new Map<string, ReadonlySet<string>>();

  constructor(groupOf: (prefix: Prefix) => string) {
    this.#groupOf = groupOf;
  }

  /** @param node null: it is diverted, but to no node */
  put({ id, prefix }: Ban, node: string | null): void {
    const before = this.#placed.get(id);
    if (node === null || (before?.prefix === prefix && before.nodes.at(-1) === node)) return;
    const nodes = [...(before?.nodes ?? []).filter((each) => each !== node), node];
    const forgotten = nodes.length > NODES_OF_BAN_MAX ? nodes.shift() : undefined;
    if (forgotten !== undefined) this.#takeOut(id, forgotten);
    this.#placed.set(id, { prefix, nodes });
    const bans = this.#bansOf.get(node) ?? new Set<string>();
    this.#bansOf.set(node, bans.add(id));
    for (const each of nodes) this.#outsiders.delete(each);
  }

  /** The node never enforced it: there is nothing to go on with. */
  forget(banId: string, node: string): void {
    const placed = this.#placed.get(banId);
    if (placed === undefined) return;
    this.#takeOut(banId, node);
    this.#placed.set(banId, { ...placed, nodes: placed.nodes.filter((each) => each !== node) });
  }

  /** It is not diverted any more. */
  end(banId: string): void {
    for (const node of this.#placed.get(banId)?.nodes ?? []) this.#takeOut(banId, node);
    this.#placed.delete(banId);
  }

  /** Nodes or hostgroups are others. */
  reconfigured(): void {
    this.#outsiders.clear();
  }

  audienceOf(node: ScrubNodeConfig, support: RuleSupport): Audience {
    // All victims, also of a family that it does not take (docs/interface.md#rule-document-lists).
    if (node.hostgroups === null) return everyBan(support);
    return { support, scope: { hostgroups: node.hostgroups, others: this.#outsidersOf(node) } };
  }

  /** Whether traffic may be diverted to the node, or was. */
  mayGet(node: ScrubNodeConfig, { id, prefix }: Pick<Ban, "id" | "prefix">): boolean {
    const isPlaced = this.#bansOf.get(node.name)?.has(id) === true;
    return isPlaced || nextHopFor(node, this.#groupOf(prefix), prefix.family) !== null;
  }

  #outsidersOf(node: ScrubNodeConfig): ReadonlySet<string> {
    const known = this.#outsiders.get(node.name);
    if (known !== undefined) return known;
    const bans = [...(this.#bansOf.get(node.name) ?? [])];
    const isOutsider = (prefix: Prefix | undefined) => {
      return prefix !== undefined && node.hostgroups?.includes(this.#groupOf(prefix)) === false;
    };
    const outsiders = new Set(bans.filter((id) => isOutsider(this.#placed.get(id)?.prefix)));
    this.#outsiders.set(node.name, outsiders);
    return outsiders;
  }

  #takeOut(banId: string, node: string): void {
    const bans = this.#bansOf.get(node);
    bans?.delete(banId);
    if (bans?.size === 0) this.#bansOf.delete(node);
    this.#outsiders.delete(node);
  }
}
