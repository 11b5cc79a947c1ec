/** Routes of others in the BGP speaker, in words. Pure. */
import type { Static } from "@sinclair/typebox";
import type { BgpRoutesWire } from "../../src/http/wire/bgp-routes.ts";
import { t } from "../language.ts";
import { bitRate } from "./format/numbers.ts";

type ForeignRoute = Static<typeof BgpRoutesWire>["routes"][number];

/** `ipv4-flowspec` is `IPv4 FlowSpec`. */
export function familyName({ family }: Pick<ForeignRoute, "family">): string {
  const [version = "", kind = ""] = family.split("-");
  return `${version.replace("ipv", "IPv")} ${kind === "flowspec" ? "FlowSpec" : t`unicast`}`;
}

/** Where the traffic goes, or what passes. */
export function actionOfForeign({ next_hop: hop, rate_bytes: rate }: Partial<ForeignRoute>): string {
  if (rate !== undefined) return rate === 0 ? t`discard` : t`limit to ${bitRate((rate * 8) / 1e6)}`;
  return hop === undefined ? "–" : t`next hop ${hop}`;
}

export function ownerOf({ instance }: Partial<ForeignRoute>): string {
  return instance === undefined ? t`another program` : t`Floodwall service ${instance}`;
}

/** By which a search finds it. */
export function foreignText(row: ForeignRoute): string {
  return [familyName(row), row.route, actionOfForeign(row), row.community ?? "", ownerOf(row)].join(" ");
}
