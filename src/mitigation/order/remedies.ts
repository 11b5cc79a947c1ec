/** The remedies of an operator for a refused order. */
import type { OwnRefusal } from "../../traffic/own-infrastructure.ts";
import { isOwnRefusal } from "../../traffic/own-infrastructure.ts";
import type { Refusal, ShareRefusal } from "../admission.ts";
import { ALL_NODES_LOST, NODES_REFUSE } from "../ban.ts";
import { type OrderRefusal, TOO_WIDE } from "./order-policy.ts";

/** The reasons that say it themselves. */
type SaysItself = OwnRefusal | OrderRefusal | ShareRefusal;

const REMEDIES: Readonly<Record<Exclude<Refusal, SaysItself>, string>> = {
  whitelisted: "order a prefix beside it, or remove it from protected_whitelist",
  "outside configured networks": "order an address or prefix within one of networks, or add it there",
  "prefixes are not banned": "set carpet.mitigation, or order the prefix by hand with a method",
  "prefix spans hostgroups": "order the part of each hostgroup by itself",
  "prefix wider than carpet allows": "set carpet.widest_v4 or carpet.widest_v6",
  [TOO_WIDE]: "order narrower prefixes, or set ban.order_widest_v4 or ban.order_widest_v6",
  "cooldown after unban": "wait for ban.cooldown_seconds, or order the ban by hand",
  "max_active_bans reached": "unban another, or raise ban.max_active_bans",
  "max_banned_fraction reached": "unban another, order a narrower prefix, or raise ban.max_banned_fraction",
  [ALL_NODES_LOST]: "look at the scrub nodes, or order another method",
  [NODES_REFUSE]: "look at the scrub nodes, or order another method",
};

const NOT_KNOWN: PrefixContents = { spared: null, hostgroups: [] };

/** The contents of the prefix of an order, as far as remedies name them. */
export interface PrefixContents {
  /** An entry of the whitelist; null: none. */
  readonly spared: string | null;
  /** Names of the hostgroups that have addresses in it. */
  readonly hostgroups: readonly string[];
}

const GROUPS_NAMED = 8;

/** null: the reason says it itself. */
export function remedyOf(reason: string, { spared, hostgroups }: PrefixContents = NOT_KNOWN): string | null {
  if (reason === "prefix spans hostgroups" && hostgroups.length > 0) {
    const names = [...hostgroups.slice(0, GROUPS_NAMED), ...(hostgroups.length > GROUPS_NAMED ? ["…"] : [])].join(", ");
    return `it has addresses of ${names}: order the part of each by itself`;
  }
  if (reason === "whitelisted" && spared !== null)
    return `${spared} is in protected_whitelist: order prefixes beside it, or remove it there`;
  return isOwnRefusal(reason) ? null : ((REMEDIES as Readonly<Record<string, string>>)[reason] ?? null);
}
