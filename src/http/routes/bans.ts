/** The bans, and the two commands on them (interface 4.2). */
import type { Static } from "@sinclair/typebox";
import { parseAddress } from "../../net/address.ts";
import { jsonAnswer } from "../answer.ts";
import { fieldCheck } from "../fields.ts";
import { refuse } from "../refusal.ts";
import type { CommandRoute, ReadRoute } from "../route.ts";
import type { Service } from "../service.ts";
import { BanRequest, banToWire, sortBans } from "../wire/ban.ts";

export function bansRoute(service: Service): ReadRoute {
  return {
    name: "bans",
    method: "GET",
    path: "/api/v1/bans",
    access: "viewer",
    handle: () => jsonAnswer(200, { bans: sortBans(service.bans()).map(banToWire) }),
  };
}

export function banRoute(service: Service): CommandRoute<Static<typeof BanRequest>> {
  return {
    name: "ban",
    method: "POST",
    path: "/api/v1/ban",
    access: "operator",
    body: fieldCheck(BanRequest),
    handle: ({ operator }, { ip }) => {
      const target = parseAddress(ip);
      if (target === null) return refuse({ kind: "invalid_ip", text: ip });
      const view = service.ban(target, operator);
      return jsonAnswer(view.ban.state === "rejected" ? 409 : 200, banToWire(view));
    },
  };
}

export function unbanRoute(service: Service): CommandRoute<Static<typeof BanRequest>> {
  return {
    name: "unban",
    method: "POST",
    path: "/api/v1/unban",
    access: "operator",
    body: fieldCheck(BanRequest),
    handle: ({ operator }, { ip }) => {
      const target = parseAddress(ip);
      if (target === null) return refuse({ kind: "invalid_ip", text: ip });
      const view = service.unban(target, operator);
      return view === null ? refuse({ kind: "no_active_ban", target }) : jsonAnswer(200, banToWire(view));
    },
  };
}
