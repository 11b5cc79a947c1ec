import { parseAddress } from "../../net/address.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import { BanPreviewWire, banPreviewToWire } from "../wire/ban-preview.ts";
import { AddressText } from "../wire/request-texts.ts";

/** Judged as the order is, and in the same sequence: the address, the tenant, and what policy says. */
export function banPreviewRoute(backend: Pick<Backend, "tenancy" | "banPreview">): ReadRoute {
  return {
    name: "ban_preview",
    method: "GET",
    path: "/api/v1/bans/preview",
    access: "viewer",
    about: {
      summary: "What an order to ban an address would come to now; nothing is done",
      query: { ip: { text: "The address.", schema: AddressText, isRequired: true } },
      answers: { 200: { text: "The ban that it would be, or the refusal.", schema: BanPreviewWire } },
    },
    handle: ({ principal, query }) => {
      const text = parameter(query, "ip") ?? "";
      const target = parseAddress(text);
      if (target === null) return { kind: "invalid_ip", text };
      if (!backend.tenancy().owns(principal, target)) return { kind: "foreign_target" };
      return jsonAnswer(200, banPreviewToWire(backend.banPreview(target)));
    },
  };
}
