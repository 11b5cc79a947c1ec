import { parseAddress } from "../../net/address.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import { BanPreviewWire, banPreviewToWire } from "../wire/ban-preview.ts";
import { AddressText } from "../wire/request-texts.ts";

/** Checked like the ban command, in the same order: the address, the tenant, and policy. */
export function banPreviewRoute(backend: Pick<Backend, "tenancy" | "banPreview" | "blockRefusal">): ReadRoute {
  return {
    name: "ban_preview",
    method: "GET",
    path: "/api/v1/bans/preview",
    access: "viewer",
    about: {
      summary: "The ban that a command would make now; nothing is done",
      query: { ip: { text: "The address.", schema: AddressText, isRequired: true } },
      answers: { 200: { text: "The ban that would be made, or the refusal.", schema: BanPreviewWire } },
    },
    handle: ({ principal, query }) => {
      const text = parameter(query, "ip") ?? "";
      const target = parseAddress(text);
      if (target === null) return { kind: "invalid_ip", text };
      if (!backend.tenancy().owns(principal, target)) return { kind: "foreign_target" };
      const blockRefusal = backend.blockRefusal({ source: null, victim: target }, principal);
      return jsonAnswer(200, banPreviewToWire(backend.banPreview(target, principal), blockRefusal));
    },
  };
}
