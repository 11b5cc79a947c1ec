/**
 * The policy of a managed speaker in GoBGP's messages, which are equal in all API versions except for the numbers of
 * alternatives: only our own routes are taken and sent, and to no neighbor those that are withheld from it.
 */
import { addressFamily, parseAddress } from "../../net/address.ts";
import { type Community, MARKS_ADMINISTRATOR, policyText } from "../../net/community.ts";
import type { ExportTerms, RouteVariant } from "../export-terms.ts";
import { MARK_KINDS, markOf } from "../neighbor-mark.ts";
import { POLICY } from "../speaker/gobgpd-config.ts";

/** Numbers of alternatives. */
export interface PolicyNumbers {
  readonly neighborSet: number;
  readonly largeCommunitySet: number;
  readonly matchAny: number;
  /** Routes that no neighbor sent. */
  readonly local: number;
  readonly accept: number;
  readonly reject: number;
  /** An action on communities. */
  readonly remove: number;
  readonly replace: number;
  readonly replaceMed: number;
}

export type PoliciesRequest = ReturnType<typeof policiesRequest>;

/**
 * GoBGP assigns the new policy to what the old one of its name was assigned to: to routes that it takes and to those
 * that it sends. In the first case there is no neighbor, so that no condition on one holds, and marks stay. A statement
 * without a route action goes on to the next one.
 */
export function policiesRequest({ neighbors, policies, variants }: ExportTerms, numbers: PolicyNumbers) {
  const { neighborSet, largeCommunitySet, matchAny, accept, reject, remove } = numbers;
  const own = { routeType: numbers.local };
  const match = (name: string) => ({ type: matchAny, name });
  const withheld = neighbors.map((address) => ({
    name: `withheld from ${address}`,
    conditions: { ...own, neighborSet: match(address), largeCommunitySet: match(`marks of ${address}`) },
    actions: { routeAction: reject },
  }));
  const varied = variants.map((variant) => ({
    name: `variant ${variant.mark}`,
    conditions: { ...own, neighborSet: match(`policy ${variant.policy}`), largeCommunitySet: match(variant.mark) },
    actions: actionsOf(variant, numbers),
  }));
  const marked = {
    name: "other marks",
    conditions: { ...own, neighborSet: match("any neighbor"), largeCommunitySet: match("any mark") },
    actions: { routeAction: accept, largeCommunity: { type: remove, communities: [ANY_MARK] } },
  };
  const others = { name: "own routes", conditions: own, actions: { routeAction: accept } };
  const sets = [
    { definedType: neighborSet, name: "any neighbor", list: ["0.0.0.0/0", "::/0"] },
    { definedType: largeCommunitySet, name: "any mark", list: [ANY_MARK] },
    ...neighbors.flatMap((address) => [
      { definedType: neighborSet, name: address, list: [hostPrefix(address)] },
      {
        definedType: largeCommunitySet,
        name: `marks of ${address}`,
        list: MARK_KINDS.map((kind) => markOf(address, kind)),
      },
    ]),
    ...[...policies].map(([name, addresses]) => ({
      definedType: neighborSet,
      name: `policy ${name}`,
      list: addresses.map(hostPrefix),
    })),
    ...variants.map(({ mark }) => ({ definedType: largeCommunitySet, name: mark, list: [mark] })),
  ];
  return { definedSets: sets, policies: [{ name: POLICY, statements: [...withheld, ...varied, marked, others] }] };
}

function actionsOf({ communities, nextHop, med, prepend }: RouteVariant, numbers: PolicyNumbers) {
  const { replaceMed } = numbers;
  return {
    ...(communities === null ? {} : communityActions(communities, numbers)),
    ...(nextHop === null ? {} : { nexthop: { address: nextHop } }),
    ...(med === null ? {} : { med: { type: replaceMed, value: BigInt(med) } }),
    ...(prepend === null ? {} : { asPrepend: { asn: prepend.asn, repeat: prepend.times } }),
  };
}

/**
 * Marks are among the large ones that are replaced. Without extended ones those of the route stay: GoBGP would send an
 * empty attribute, and those of a rule are its action.
 */
function communityActions(communities: readonly Community[], { replace, remove }: PolicyNumbers) {
  const texts: Record<Community["kind"], string[]> = { standard: [], extended: [], large: [] };
  for (const each of communities) texts[each.kind].push(policyText(each));
  const { standard, extended, large, ...others } = texts;
  others satisfies Record<string, never>;
  const action = (list: readonly string[]) =>
    list.length > 0 ? { type: replace, communities: [...list] } : { type: remove, communities: [ANY] };
  return {
    community: action(standard),
    largeCommunity: action(large),
    ...(extended.length === 0 ? {} : { extCommunity: action(extended) }),
  };
}

const ANY = "^.*$";

/** A regular expression, that spares an operator's large communities. */
const ANY_MARK = `^${MARKS_ADMINISTRATOR}:`;

function hostPrefix(address: string): string {
  const parsed = parseAddress(address);
  return `${address}/${parsed !== null && addressFamily(parsed) === 6 ? 128 : 32}`;
}
