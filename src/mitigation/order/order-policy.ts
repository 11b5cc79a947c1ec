/** The orders that operators and tenants may give by hand: how wide, by which method, and to which neighbors. Pure. */
import type { Holder } from "../../access/shares.ts";
import { CarpetBounds, type PrefixRefusal } from "../../detection/carpet/carpet-bounds.ts";
import type { Prefix } from "../../net/prefix.ts";
import { isOneAddress } from "../ban-subject.ts";
import type { BanTerms } from "../circumstances.ts";
import { enclosingOf } from "../enclosing.ts";
import type { Method } from "../escalation.ts";
import type { MitigationSections } from "../mitigation-config.ts";
import type { BanOrder, OrderedTerms } from "./ban-order.ts";
import { orderedTerms } from "./ordered-terms.ts";

/** Why an order cannot be carried out, with what to do about it. */
export type OrderRefusal = `order: ${string}`;

export const TOO_WIDE = "prefix wider than ban.order_widest allows";
export type OrderedPrefixRefusal = Exclude<PrefixRefusal, "prefix wider than carpet allows"> | typeof TOO_WIDE;

export interface OrderPolicy {
  /** Judges prefixes that are more than one address. null: it may be ordered. */
  refusalOf(prefix: Prefix): OrderedPrefixRefusal | null;
  /** null: the order fits what is configured, and what its caller may order. */
  faultOf(order: BanOrder, by: Holder): OrderRefusal | null;
  /** The same object for the same ordered terms in one hostgroup. */
  termsOf(prefix: Prefix, ordered: OrderedTerms): BanTerms;
}

/** @param termsOf those of the prefix's hostgroup. */
export function orderPolicy(config: MitigationSections, termsOf: (prefix: Prefix) => BanTerms): OrderPolicy {
  const { orderWidestV4: widestV4, orderWidestV6: widestV6 } = config.ban;
  const bounds = new CarpetBounds({ ...config, carpet: { widestV4, widestV6 } });
  const made = new WeakMap<BanTerms, WeakMap<OrderedTerms, BanTerms>>();
  return {
    refusalOf: (prefix) => {
      const refusal = bounds.refusalOf(prefix);
      return refusal === "prefix wider than carpet allows" ? TOO_WIDE : refusal;
    },
    faultOf: (order, by) => {
      const terms = termsOf(order.prefix);
      // The caller first: a tenant does not learn which neighbors there are.
      return (
        callerFault(order, by, terms) ??
        enclosedFault(order, by, { terms, config }) ??
        methodFault(order, terms, config) ??
        neighborFault(order, config)
      );
    },
    termsOf: (prefix, ordered) => {
      const terms = termsOf(prefix);
      const known = made.get(terms) ?? new WeakMap<OrderedTerms, BanTerms>();
      made.set(terms, known);
      const isOne = isOneAddress(prefix);
      const of = known.get(ordered) ?? orderedTerms(terms, { ordered, isOne });
      known.set(ordered, of);
      return of;
    },
  };
}

function methodFault({ terms }: BanOrder, { divert }: BanTerms, config: MitigationSections): OrderRefusal | null {
  const { method } = terms;
  if (method === undefined) return null;
  const { section, isThere } = needOf(method, divert !== null, config);
  return isThere ? null : `order: method ${method} needs ${section} of the configuration, which is absent or off`;
}

function needOf(method: Method, hasDivert: boolean, { bgp, dataplane }: MitigationSections) {
  switch (method) {
    case "blackhole":
    case "flowspec":
      return { section: "the section bgp", isThere: bgp !== null };
    case "divert":
      return { section: "the section scrubbing", isThere: hasDivert };
    case "scrub":
      return { section: "the section dataplane", isThere: dataplane?.enabled === true };
    default:
      return method satisfies never;
  }
}

const NEIGHBORS_NAMED = 8;

function neighborFault({ terms }: BanOrder, config: MitigationSections): OrderRefusal | null {
  const all = config.bgp?.neighbors ?? [];
  const isKnown = (text: string) => all.some(({ address, name }) => address === text || name === text);
  const unknown = terms.neighbors?.find((text) => !isKnown(text));
  if (unknown === undefined) return null;
  const names = all.slice(0, NEIGHBORS_NAMED).map(({ address }) => address);
  return `order: ${unknown} is none of bgp.neighbors, which are ${[...names, ...(all.length > names.length ? ["others"] : [])].join(", ")}`;
}

/** A tenant does not move the traffic of others. */
function enclosedFault(
  { prefix, terms: { method } }: BanOrder,
  { tenant }: Holder,
  { terms, config }: { readonly terms: BanTerms; readonly config: MitigationSections },
): OrderRefusal | null {
  if (tenant === null) return null;
  const chosen = method === undefined ? [...terms.ladder.map(({ action }) => action), terms.ban.fallback] : [method];
  // An ordered method has no substitute.
  const instead = method === undefined && chosen.includes("divert") ? config.scrubbing?.onAllNodesLost : undefined;
  const actions = [...chosen, instead];
  for (const each of ["divert", "blackhole"] as const) {
    const wider = actions.includes(each) ? enclosingOf(prefix, terms[each]?.enclosing) : null;
    if (wider !== null && areOfOthers(config, config.lookup.groupsIn(wider), tenant))
      return `order: ${wider.text} would be announced for it, where others have addresses: a token without a tenant may order it`;
  }
  return null;
}

/** @param groups indices of hostgroups */
export function areOfOthers(
  { hostgroups }: Pick<MitigationSections, "hostgroups">,
  groups: readonly number[],
  tenant: string,
): boolean {
  return groups.some((group) => hostgroups[group]?.tenant !== tenant);
}

/** A tenant orders what its hostgroup allows, and does not see the neighbors. */
function callerFault({ terms }: BanOrder, by: Holder, { orderMethods }: BanTerms): OrderRefusal | null {
  if (by.tenant === null) return null;
  const { method, communities, neighbors } = terms;
  if (communities !== undefined || neighbors !== undefined) {
    return "order: communities and neighbors are for tokens without a tenant: leave them out";
  }
  if (method === undefined || orderMethods.includes(method)) return null;
  return `order: tenants may not order method ${method} here: order ${orderMethods.join(" or ")}`;
}
