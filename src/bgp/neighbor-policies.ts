/**
 * Which routes each neighbor is to get and how they differ there, by policies and orders. A route carries marks for both,
 * which the speaker's export policy acts on (src/bgp/gobgp/export-policy.ts). Pure.
 */
import type { MissingNeighbor, Route, RouteMethod } from "../mitigation/announcer.ts";
import { isForReader } from "../mitigation/measure.ts";
import { unsupported } from "../mitigation/rules/flowspec-support.ts";
import { communitiesText } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";
import { isWithin, rangeText } from "../net/range.ts";
import type { BgpConfig, BgpNeighbor } from "./bgp-config.ts";
import type { ExportTerms, RouteVariant } from "./export-terms.ts";
import { type Mark, type Marks, markOf, NO_MARKS } from "./neighbor-mark.ts";
import { type NeighborPolicy, NO_CHANGES, type RouteChanges } from "./policy-config.ts";
import { familyOfRoute, familyText } from "./route-family.ts";
import type { RuleRoom } from "./withheld-routes.ts";

const FOR_OTHERS = "the order is for other neighbors";
const NONE_LEFT = "no neighbor that it is ordered for is configured";

type Configured = Pick<BgpConfig, "speaker" | "localAsn" | "neighbors" | "communitiesAt">;

export class NeighborPolicies {
  readonly #isManaged: boolean;
  readonly #localAsn: number;
  /** Addresses of the neighbors for which routes can be marked. */
  readonly addresses: readonly string[];
  readonly #communitiesAt: BgpConfig["communitiesAt"];
  readonly #neighbors: ReadonlyMap<string, BgpNeighbor>;
  /** Those that a neighbor has, by name, with the addresses of their neighbors. */
  readonly #policies: ReadonlyMap<string, { readonly policy: NeighborPolicy; readonly addresses: readonly string[] }>;

  constructor({ speaker, localAsn, neighbors, communitiesAt }: Configured) {
    this.#communitiesAt = communitiesAt;
    this.#isManaged = speaker === "managed";
    this.#localAsn = localAsn;
    // An external speaker has neighbors of its own.
    const own = this.#isManaged ? neighbors : [];
    this.#neighbors = new Map(own.map((neighbor) => [neighbor.address, neighbor]));
    this.addresses = [...this.#neighbors.keys()];
    const policies = new Map<string, { policy: NeighborPolicy; addresses: string[] }>();
    for (const { address, policy } of own) {
      if (policy === undefined) continue;
      const known = policies.get(policy.name);
      if (known === undefined) policies.set(policy.name, { policy, addresses: [address] });
      else known.addresses.push(address);
    }
    this.#policies = policies;
  }

  get rooms(): readonly RuleRoom[] {
    return [...this.#neighbors].flatMap(([neighbor, { policy }]) => {
      const rules = policy?.flowspec.rules ?? null;
      return rules === null ? [] : { neighbor, rules };
    });
  }

  exportTerms(): ExportTerms {
    const policies = new Map([...this.#policies].map(([name, { addresses }]) => [name, addresses]));
    const variants = [...this.#policies.values()].flatMap(({ policy }) => this.#variantsOf(policy));
    return { neighbors: this.addresses, policies, variants };
  }

  /** Why the route must not be sent to any neighbor; null: it may be sent to some. */
  problemOf(route: Route): string | null {
    if (!this.#isManaged)
      return route.neighbors === undefined ? null : "neighbors can be chosen with speaker managed only";
    const refusals: string[] = [];
    for (const address of this.addresses) {
      const refusal = this.refusalAt(address, route);
      if (refusal === null) return null;
      refusals.push(refusal);
    }
    // That of a neighbor that the order is for says more than that of others.
    const own = refusals.find((refusal) => refusal !== FOR_OTHERS);
    return own ?? (refusals.length === 0 ? null : NONE_LEFT);
  }

  /** Why the neighbor is not to get the route; null: it is. */
  refusalAt(address: string, route: Route): string | null {
    const neighbor = this.#neighbors.get(address);
    if (neighbor === undefined) return null;
    const { neighbors } = route;
    if (neighbors !== undefined && !neighbors.some((named) => named === address || named === neighbor.name))
      return FOR_OTHERS;
    if (neighbor.dryRun === true) return "it is in dry run";
    const refusal = neighbor.policy === undefined ? null : refusalBy(neighbor.policy, route);
    // A limit of its policy is named before the other rules that it has for that reason.
    if (refusal !== null) return refusal;
    if (!isForReader(route, address)) return "it has other rules, within what its policy says";
    const isNarrower = neighbor.policy === undefined && route.kind === "unicast" && route.encloses !== undefined;
    return isNarrower ? takesNarrower(route.encloses) : null;
  }

  /** Whether the neighbor is to get routes of the method, as far as its policy goes. */
  takes(address: string, method: RouteMethod): boolean {
    const neighbor = this.#neighbors.get(address);
    return neighbor?.dryRun !== true && neighbor?.policy?.methods.includes(method) !== false;
  }

  /** The neighbors that are not to get the route. */
  keptFrom(route: Route): readonly MissingNeighbor[] {
    return this.addresses.flatMap((neighbor) => {
      const cause = this.refusalAt(neighbor, route);
      return cause === null ? [] : { neighbor, cause };
    });
  }

  /** The marks of the neighbors that are not to get it, and of how it differs at the others. */
  marksOf(route: Route): Marks {
    const kept = this.addresses.filter((address) => this.refusalAt(address, route) !== null);
    if (kept.length + this.#policies.size === 0) return NO_MARKS;
    const marks = kept.map((neighbor) => markOf(neighbor, "policy"));
    for (const { policy, addresses } of this.#policies.values()) {
      if (addresses.every((address) => kept.includes(address))) continue;
      const [method, family] = [methodOf(route), route.prefix.family];
      const variant = this.#variant(policy, { method, family, communities: communitiesOf(policy, route) });
      if (variant !== null) marks.push(variant.mark);
    }
    return marks.length === 0 ? NO_MARKS : marks.sort();
  }

  #variantsOf(policy: NeighborPolicy): readonly RouteVariant[] {
    const byMark = new Map<Mark, RouteVariant>();
    for (const method of policy.methods) {
      for (const family of [4, 6] as const) {
        for (const communities of this.#choicesOf(policy, method)) {
          const variant = this.#variant(policy, { method, family, communities });
          if (variant !== null) byMark.set(variant.mark, variant);
        }
      }
    }
    return [...byMark.values()];
  }

  /** The choices for a route of the method there; null: its own. */
  #choicesOf(policy: NeighborPolicy, method: RouteMethod): readonly RouteChanges["communities"][] {
    const own = [null, changesOf(policy, method).communities];
    if (method === "flowspec") return own;
    return [...own, ...this.#communitiesAt.filter((at) => at.policy === policy.name).map((at) => at.communities)];
  }

  /** null: the route is the same there. */
  #variant(
    policy: NeighborPolicy,
    {
      method,
      family,
      communities,
    }: Pick<RouteChanges, "communities"> & { method: RouteMethod; family: Prefix["family"] },
  ): RouteVariant | null {
    const changes = changesOf(policy, method);
    const nextHop = family === 4 ? changes.nextHop : changes.nextHop6;
    const { med, prepend: times } = changes;
    if (communities === null && nextHop === null && med === null && times === 0) return null;
    const prepend = times === 0 ? null : { asn: this.#localAsn, times };
    const isRule = method === "flowspec";
    const texts = [policy.name, isRule, communities && communitiesText(communities), nextHop, med, times];
    return {
      mark: markOf(`variant ${JSON.stringify(texts)}`),
      policy: policy.name,
      communities,
      nextHop,
      med,
      prepend,
    };
  }
}

/** null: the route's own. */
function communitiesOf(policy: NeighborPolicy, route: Route): RouteChanges["communities"] {
  if (route.areCommunitiesOrdered === true) return null;
  const ofGroup = route.kind === "unicast" ? route.communitiesAt?.find((at) => at.policy === policy.name) : undefined;
  return ofGroup?.communities ?? changesOf(policy, methodOf(route)).communities;
}

function methodOf(route: Route): RouteMethod {
  if (route.kind === "flowspec") return "flowspec";
  return route.isDivert === true ? "divert" : "blackhole";
}

function changesOf(policy: NeighborPolicy, method: RouteMethod): RouteChanges {
  return method === "flowspec" ? { ...NO_CHANGES, communities: policy.flowspec.communities } : policy[method];
}

function refusalBy(policy: NeighborPolicy, route: Route): string | null {
  const [family, method, { name }] = [familyOfRoute(route), methodOf(route), policy];
  if (!policy.methods.includes(method)) return `its policy ${name} takes no ${method} routes`;
  if (!policy.families.includes(family)) return `its policy ${name} has no ${familyText(family)}`;
  if (route.kind === "flowspec") {
    const lacking = unsupported(route.rule, policy.flowspec);
    return lacking === null ? null : `its policy ${name} cannot match ${lacking}`;
  }
  const lengths = policy.lengths[route.prefix.family];
  if (isWithin(route.prefix.length, lengths))
    return route.encloses !== undefined && isWithin(route.encloses, lengths) ? takesNarrower(route.encloses) : null;
  const refusal = `its policy ${name} takes no /${route.prefix.length}, only ${slashed(lengths)}`;
  return route.notEnclosed === undefined ? refusal : `${refusal}; ${route.notEnclosed}`;
}

function takesNarrower(length: number): string {
  return `it takes the /${length} itself`;
}

function slashed(lengths: NeighborPolicy["lengths"][4]): string {
  return rangeText(lengths).replace(/\d+/g, "/$&");
}

export const ALL_NEIGHBORS = new NeighborPolicies({
  speaker: "managed",
  localAsn: 0,
  neighbors: [],
  communitiesAt: [],
});
