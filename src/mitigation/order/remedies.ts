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

/**
 * null: the reason says it itself.
 * @param spared an entry of the whitelist within the prefix; null: none, or not known.
 */
export function remedyOf(reason: string, spared: string | null = null): string | null {
  if (reason === "whitelisted" && spared !== null)
    return `${spared} is in protected_whitelist: order prefixes beside it, or remove it there`;
  return isOwnRefusal(reason) ? null : ((REMEDIES as Readonly<Record<string, string>>)[reason] ?? null);
}
