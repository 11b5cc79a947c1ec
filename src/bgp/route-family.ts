/** The address families that our routes are of, by their names in configurations, and as GoBGP has them. */
import { create } from "@bufbuild/protobuf";
import type { Route } from "../mitigation/announcer.ts";
import { type Family, Family_Afi, Family_Safi, FamilySchema } from "./proto/gobgp3/gobgp_pb.ts";

export const ROUTE_FAMILIES = ["ipv4-unicast", "ipv6-unicast", "ipv4-flowspec", "ipv6-flowspec"] as const;
export type RouteFamily = (typeof ROUTE_FAMILIES)[number];

const GOBGP_FAMILIES: Readonly<Record<RouteFamily, Family>> = {
  "ipv4-unicast": create(FamilySchema, { afi: Family_Afi.IP, safi: Family_Safi.UNICAST }),
  "ipv6-unicast": create(FamilySchema, { afi: Family_Afi.IP6, safi: Family_Safi.UNICAST }),
  "ipv4-flowspec": create(FamilySchema, { afi: Family_Afi.IP, safi: Family_Safi.FLOW_SPEC_UNICAST }),
  "ipv6-flowspec": create(FamilySchema, { afi: Family_Afi.IP6, safi: Family_Safi.FLOW_SPEC_UNICAST }),
};

export function toGobgpFamily(family: RouteFamily): Family {
  return GOBGP_FAMILIES[family];
}

/** null: none of ours. */
export function fromGobgpFamily(family: Family | undefined): RouteFamily | null {
  if (family === undefined) return null;
  return ROUTE_FAMILIES.find((ours) => isSameFamily(GOBGP_FAMILIES[ours], family)) ?? null;
}

function isSameFamily(a: Family, b: Family): boolean {
  return a.afi === b.afi && a.safi === b.safi;
}

export function familyOfRoute({ kind, prefix }: Route): RouteFamily {
  return `ipv${prefix.family}-${kind}`;
}

/** `IPv4 flowspec`. */
export function familyText(family: RouteFamily): string {
  return family.replace("ipv", "IPv").replace("-", " ");
}
