/** The request for a ban by hand (docs/interface.md#ban-command). */
import { type Static, Type } from "@sinclair/typebox";
import { BAN_REASON_MAX } from "../../limits.ts";
import type { BanOrder } from "../../mitigation/order/ban-order.ts";
import { buildOrder, ORDER_KEYS, OrderFile, orderFindings } from "../../mitigation/order/order-file.ts";
import { parseAddress } from "../../net/address.ts";
import { hostPrefix, type Prefix, parsePrefix } from "../../net/prefix.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import { takeShape } from "../../schema/shape.ts";
import { invalidBody, type Refusal } from "../refusal.ts";
import { withoutFormats } from "./filter-rule.ts";
import { plainTextFault } from "./plain-text.ts";
import { AddressText } from "./request-texts.ts";

const TARGET = { ip: Type.Optional(Type.String()), prefix: Type.Optional(Type.String()) };

/** For the API's description. One of `ip` and `prefix` is there. */
export const BanRequest = closedObject({
  ip: Type.Optional(AddressText),
  prefix: Type.Optional(Type.String()),
  template: Type.Optional(Type.String()),
  ...(withoutFormats(ORDER_KEYS) as typeof ORDER_KEYS),
});
export const UnbanRequest = closedObject({
  ...TARGET,
  ip: Type.Optional(AddressText),
  reason: Type.Optional(Type.String({ maxLength: BAN_REASON_MAX })),
});

/** The parsers of the route check the values, so that the refusal names them. */
export const BanFields = closedObject({
  ...TARGET,
  reason: Type.Optional(Type.String()),
  template: Type.Optional(Type.String()),
  ...(Object.fromEntries(
    ["method", "rules", "rate_mbps", "ttl_seconds", "communities", "neighbors", "dry_run"].map((key) => [
      key,
      Type.Optional(Type.Unknown()),
    ]),
  ) as Record<never, never>),
});
export type BanFields = Static<typeof BanFields>;

export const UnbanFields = closedObject({ ...TARGET, reason: Type.Optional(Type.String()) });
export type UnbanFields = Static<typeof UnbanFields>;

export type ParsedTarget = { readonly kind: "target"; readonly prefix: Prefix; readonly isAddress: boolean };

export function targetOf({ ip, prefix: text }: Pick<BanFields, "ip" | "prefix">): ParsedTarget | Refusal {
  if (ip !== undefined) {
    if (text !== undefined) return { kind: "invalid_body", detail: "ip goes without prefix" };
    const address = parseAddress(ip);
    return address === null
      ? { kind: "invalid_ip", text: ip }
      : { kind: "target", prefix: hostPrefix(address), isAddress: true };
  }
  if (text === undefined) return { kind: "invalid_body", detail: "ip is required" };
  const prefix = parsePrefix(text);
  if (prefix !== null) return { kind: "target", prefix, isAddress: false };
  return { kind: "invalid_prefix", text, rule: "must be a CIDR without host bits" };
}

type Templates = ReadonlyMap<string, OrderFile>;

export type ParsedOrder = { readonly kind: "order"; readonly order: BanOrder };

/** Its own fields go before those of its template. */
export function orderOf(prefix: Prefix, fields: BanFields, templates: Templates): ParsedOrder | Refusal {
  const { ip: _, prefix: __, template, ...own } = fields;
  const from = template === undefined ? {} : templates.get(template);
  if (from === undefined) return invalidBody(`template: there is no ${template}: ${namesText([...templates.keys()])}`);
  const { file, findings } = takeShape(OrderFile, structuredClone({ ...from, ...own }));
  const [finding] = [...findings, ...orderFindings(file)];
  if (finding !== undefined) return invalidBody(`${finding.path.join(".")}: ${finding.rule}`);
  const order = { prefix, ...buildOrder(file as OrderFile) };
  const detail = plainTextFault("reason", order.reason, BAN_REASON_MAX) ?? familyFault(order) ?? null;
  return detail === null ? { kind: "order", order } : invalidBody(detail);
}

function familyFault({ prefix, terms: { rules = [] } }: BanOrder): string | null {
  const other = rules.find(({ source }) => source !== null && source.family !== prefix.family);
  return other === undefined ? null : `rules: source ${other.source?.text} is of another family than ${prefix.text}`;
}

function namesText(names: readonly string[]): string {
  return names.length === 0 ? "order_templates has none" : `order_templates has ${names.join(", ")}`;
}
