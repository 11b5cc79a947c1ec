/** The key `notify.tenant_targets`: targets of notifications that tenants may set. */
import { type Static, Type } from "@sinclair/typebox";
import { closed, described, list, oneOf, text } from "../../schema/schema-forms.ts";
import { parseAddressOrPrefix } from "../../schema/text-forms.ts";
import { TENANT_KINDS } from "../../targets/target-words.ts";
import type { TenantTargetRules } from "../../targets/tenant-target.ts";

const ENTRIES_MAX = 256;

export const TenantTargets = Type.Object(
  {
    kinds: described(
      Type.Array(oneOf(...TENANT_KINDS), { minItems: 1, maxItems: TENANT_KINDS.length }),
      "The kinds of targets that tenants may set.",
    ),
    hosts: described(
      list(text("hostPattern"), ENTRIES_MAX, {}),
      "The hosts that their URLs may name: a name, `*.` and a name for all names below it, or `*` for each; with the port, or `:*` for each, where it is not 80 or 443: `alerts.example.net:9093`. Telegram, PagerDuty and Opsgenie need none for their own address.",
    ),
    private_networks: described(
      list(text("addressOrPrefix"), ENTRIES_MAX, {}),
      "Private networks, and addresses of this machine and of its infrastructure, that these targets may reach. Others are refused at each delivery, by the address that is connected to.",
    ),
  },
  closed,
);

export function buildTenantTargets({
  kinds,
  hosts,
  private_networks: networks,
}: Static<typeof TenantTargets>): TenantTargetRules {
  const privateNetworks = networks.map(parseAddressOrPrefix).filter((prefix) => prefix !== null);
  return { kinds: new Set(kinds), hosts, privateNetworks };
}
