/** The key `notify.tenant_targets`: targets of notifications that tenants may set. */
import { type Static, Type } from "@sinclair/typebox";
import { parseNat64Prefix } from "../../net/nat64.ts";
import { closedObject, described, list, oneOf, text } from "../../schema/schema-forms.ts";
import { parseAddressOrPrefix } from "../../schema/text-forms.ts";
import { TENANT_KINDS } from "../../targets/target-words.ts";
import type { TargetPlaces, TenantTargetRules } from "../../targets/tenant-target.ts";

const ENTRIES_MAX = 256;
const NAT64_MAX = 16;

const places = {
  hosts: described(
    list(text("hostPattern"), ENTRIES_MAX, {}),
    "The hosts that their URLs may name: a name, `*.` and a name for all names below it, or `*` for each; with the port, or `:*` for each, where it is not 80 or 443: `alerts.example.net:9093`. Telegram, PagerDuty and Opsgenie need none for their own address.",
  ),
  private_networks: described(
    list(text("addressOrPrefix"), ENTRIES_MAX, {}),
    "Private networks, and addresses of this machine and of its infrastructure, that these targets may reach. Others are refused at each delivery, by the address that is connected to.",
  ),
};

const OfTenant = closedObject({
  tenant: described(text("tenantName"), "The tenant. Each may be listed once."),
  ...places,
});

export const TenantTargets = closedObject({
  kinds: described(
    Type.Array(oneOf(...TENANT_KINDS), { minItems: 1, maxItems: TENANT_KINDS.length }),
    "The kinds of targets that tenants may set.",
  ),
  ...places,
  tenants: described(list(OfTenant, ENTRIES_MAX, {}), "Hosts and networks of one tenant alone, beside those of all."),
  nat64_prefixes: described(
    list(text("nat64Prefix"), NAT64_MAX, {}),
    "Prefixes of translators from IPv6 to IPv4 in your network (RFC 6052), beside `64:ff9b::/96`: an address in them is judged by the IPv4 address that it has.",
  ),
});

function placesIn({
  hosts,
  private_networks: networks,
}: Pick<Static<typeof OfTenant>, "hosts" | "private_networks">): TargetPlaces {
  return { hosts, privateNetworks: networks.map(parseAddressOrPrefix).filter((prefix) => prefix !== null) };
}

export function buildTenantTargets({
  kinds,
  tenants,
  nat64_prefixes: nat64,
  ...all
}: Static<typeof TenantTargets>): TenantTargetRules {
  return {
    kinds: new Set(kinds),
    places: placesIn(all),
    placesOf: new Map(tenants.map(({ tenant, ...own }) => [tenant, placesIn(own)])),
    nat64: nat64.map(parseNat64Prefix).filter((prefix) => prefix !== null),
  };
}
