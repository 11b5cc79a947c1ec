/** The address families of our routes, by their names in configurations and their numbers on the wire. */
import type { Route } from "../mitigation/announcer.ts";
import { ROUTE_FAMILIES, type RouteFamily } from "./policy-config.ts";

export { ROUTE_FAMILIES, type RouteFamily };

/** IANA's numbers, which every version of GoBGP's API uses. */
export interface FamilyNumbers {
  readonly afi: number;
  readonly safi: number;
}

const NUMBERS: Readonly<Record<RouteFamily, FamilyNumbers>> = {
  "ipv4-unicast": { afi: 1, safi: 1 },
  "ipv6-unicast": { afi: 2, safi: 1 },
  "ipv4-flowspec": { afi: 1, safi: 133 },
  "ipv6-flowspec": { afi: 2, safi: 133 },
};

export function familyNumbers(family: RouteFamily): FamilyNumbers {
  return NUMBERS[family];
}

/** null: not a family of ours. */
export function familyOfNumbers(numbers: FamilyNumbers | undefined): RouteFamily | null {
  return (
    ROUTE_FAMILIES.find((ours) => NUMBERS[ours].afi === numbers?.afi && NUMBERS[ours].safi === numbers.safi) ?? null
  );
}

export function familyOfRoute({ kind, prefix }: Route): RouteFamily {
  return `ipv${prefix.family}-${kind}`;
}

/** `IPv4 flowspec`. */
export function familyText(family: RouteFamily): string {
  return family.replace("ipv", "IPv").replace("-", " ");
}
