import { plainOrder } from "../../mitigation/order/ban-order.ts";
import { parseAddress } from "../../net/address.ts";
import type { Backend } from "../backend.ts";
import type { CommandRoute, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { fieldCheck } from "../server/fields.ts";
import { parameter } from "../server/query.ts";
import { BanFields, BanRequest } from "../wire/ban-order.ts";
import { BanPreviewWire, banPreviewToWire, OrderPreviewWire, orderPreviewToWire } from "../wire/ban-preview.ts";
import { AddressText } from "../wire/request-texts.ts";
import { orderedToWire, orderIn } from "./bans.ts";

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
      const preview = backend.banPreview(plainOrder(target), principal);
      return jsonAnswer(200, banPreviewToWire(preview, blockRefusal, principal.tenant));
    },
  };
}

/** The preview of an order with all of its fields (docs/interface.md#order-preview-of-a-ban). */
export function orderPreviewRoute(backend: Backend): CommandRoute<BanFields> {
  return {
    name: "order_preview",
    method: "POST",
    path: "/api/v1/bans/preview",
    access: "operator",
    body: { ...fieldCheck(BanFields), schema: BanRequest },
    about: {
      summary: "What an order of a ban would do, to which neighbors and to which traffic; nothing is done",
      answers: { 200: { text: "The ban that would be made, or the refusal.", schema: OrderPreviewWire } },
    },
    handle: (call, fields) => {
      const parsed = orderIn(backend, call, fields);
      if (parsed.kind !== "order") return parsed;
      const { principal } = call;
      const preview = backend.banPreview(parsed.order, principal);
      const effect = backend.orders.effect(preview.ban, principal);
      const bgp = principal.tenant === null ? backend.status(null).bgp : null;
      const ban = orderedToWire(backend, call, parsed.order, { ...preview, routeState: null });
      return jsonAnswer(
        200,
        orderPreviewToWire({ preview, ban, effect, bgp, keptFrom: (route) => backend.orders.keptFrom(route) }),
      );
    },
  };
}
