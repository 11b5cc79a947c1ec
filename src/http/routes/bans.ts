/** The bans, and the commands on them (docs/interface.md#ban-command). */
import type { Tenancy } from "../../access/tenancy.ts";
import { reasonOn } from "../../audit/automatic-audit.ts";
import { BAN_REASON_MAX } from "../../limits.ts";
import { isOneAddress } from "../../mitigation/ban-subject.ts";
import { type BanOrder, orderText } from "../../mitigation/order/ban-order.ts";
import { remedyOf } from "../../mitigation/order/remedies.ts";
import type { IpAddress } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import { MITIGATION_METHODS } from "../attack-list.ts";
import type { Backend, BanTable, BanView } from "../backend.ts";
import { during, type Filters, filterOf, isFault, named, within, word } from "../filters.ts";
import { ListReader } from "../list-reader.ts";
import { type ListViewing, ListViews, TOO_MANY_PAGES } from "../list-views.ts";
import { describeRefusal, type Refusal } from "../refusal.ts";
import type { AuditRule, AuditTarget, Call, CommandRoute, OutcomePart, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { fieldCheck } from "../server/fields.ts";
import { sortedBans } from "../sorted-bans.ts";
import { BansWire, BanWire, banToWire, OrderedBanWire, ofTenant } from "../wire/ban.ts";
import {
  BanFields,
  BanRequest,
  orderOf,
  type ParsedOrder,
  type ParsedTarget,
  targetOf,
  UnbanFields,
  UnbanRequest,
} from "../wire/ban-order.ts";
import { commanderOf } from "../wire/order-end-reason.ts";
import { plainTextFault } from "../wire/plain-text.ts";

export function bansRoute(backend: Backend, viewing: ListViewing): ReadRoute {
  const filters = banFilters(() => backend.tenancy());
  const bans = new ListViews(() => inOrder(backend.bans()), viewing, filters);
  return {
    name: "bans",
    method: "GET",
    path: "/api/v1/bans",
    access: "viewer",
    about: {
      summary: "Bans in force and past, in order of address",
      query: filters,
      answers: { 200: { text: "The bans.", schema: BansWire }, ...TOO_MANY_PAGES },
    },
    handle: (call) => {
      const { principal, query } = call;
      const isWanted = filterOf(filters, query);
      if (isFault(isWanted)) return isWanted;
      const isOwn = ({ ban }: BanView) => backend.tenancy().owns(principal, ban.target);
      const { tenant } = principal;
      const row = (view: BanView) => {
        // A filter must not find what the caller does not see.
        const shown = isOwn(view) ? ofTenant(view, tenant) : null;
        return shown !== null && isWanted(shown) ? banToWire(shown) : null;
      };
      return bans.answer(call, () => new ListReader<BanView>("bans", row));
    },
  };
}

function* inOrder({ bans, viewOf }: BanTable): Generator<BanView | undefined> {
  for (const { ban } of yield* sortedBans(bans)) yield viewOf(ban);
}

function banFilters(tenancy: () => Tenancy): Filters<BanView> {
  return {
    state: word("Only those in this state.", ["active", "withdrawn", "rejected"], ({ ban }) => ban.state),
    group: named("Only of hosts of this hostgroup.", ({ ban }) => tenancy().groupOf(ban.target)),
    tenant: named("Only of hosts of this tenant.", ({ ban }) => tenancy().tenantOf(ban.target)),
    operator: named("Only those that this token ordered last.", ({ ban }) => ban.operator),
    method: word("Only with this method.", MITIGATION_METHODS, ({ ban }) => ban.method),
    target: within("Only of this address, or inside this prefix.", ({ ban }) => [ban.prefix.text]),
    ...during<BanView>(({ ban }) => ({
      start: ban.startedAt,
      end: ban.state === "active" ? null : (ban.withdrawnAt ?? ban.startedAt),
    })),
  };
}

export function banRoute(backend: Backend): CommandRoute<BanFields> {
  return {
    name: "ban",
    method: "POST",
    path: "/api/v1/ban",
    access: "operator",
    body: { ...fieldCheck(BanFields), schema: BanRequest },
    about: {
      summary: "Ban an address or a prefix, or refresh or change its ban",
      answers: {
        200: { text: "The ban.", schema: BanWire },
        409: { text: "Policy refuses: the rejected ban, with its reason.", schema: OrderedBanWire },
      },
    },
    audit: auditOf("ban"),
    handle: async (call, fields) => {
      const parsed = orderIn(backend, call, fields);
      if (parsed.kind !== "order") return parsed;
      const view = await backend.ban(parsed.order, call.principal);
      const status = view.ban.state === "rejected" ? 409 : 200;
      return {
        ...banOutcome(parsed.order, view),
        response: jsonAnswer(status, orderedToWire(backend, call, parsed.order, view)),
      };
    },
  };
}

export function unbanRoute(backend: Backend): CommandRoute<UnbanFields> {
  return {
    name: "unban",
    method: "POST",
    path: "/api/v1/unban",
    access: "operator",
    body: { ...fieldCheck(UnbanFields), schema: UnbanRequest },
    about: {
      summary: "End the ban of an address, of the prefix whose first address it is, or of a prefix",
      answers: {
        200: { text: "The withdrawn ban.", schema: BanWire },
        404: { text: "The target has no active ban." },
      },
    },
    audit: auditOf("unban"),
    handle: async (call, fields) => {
      const target = unbanIn(backend, call, fields);
      if (target.kind !== "target") return target;
      const view = await unban(backend, call, target, fields);
      if (view === null) return { kind: "no_active_ban", target: namedText(target) };
      return { ...unbanOutcome(target, fields, view), response: answerOf(call, view) };
    },
  };
}

/** An address stands for the ban of the narrowest prefix that begins with it. */
export function endedOf({ prefix, isAddress }: ParsedTarget): IpAddress | Prefix {
  return isAddress ? prefix.address : prefix;
}

export function unban(
  backend: Backend,
  call: Call,
  target: ParsedTarget,
  { reason = "" }: UnbanFields,
): Promise<BanView | null> {
  return backend.unban(endedOf(target), commanderOf(call, { reason: reason.toWellFormed() }));
}

/** The tenant is checked before the table of bans: a foreign target gets the same answer with and without a ban. */
export function orderIn(
  backend: Backend,
  { principal }: Pick<Call, "principal">,
  fields: BanFields,
): ParsedOrder | Refusal {
  const target = targetIn(fields);
  if (target.kind !== "target") return target;
  const parsed = orderOf(target.prefix, fields, backend.orders.templates());
  if (parsed.kind !== "order") return parsed;
  return ownsTarget(backend, principal, target) ? parsed : { kind: "foreign_target" };
}

export function unbanIn(
  backend: Backend,
  { principal }: Pick<Call, "principal">,
  fields: UnbanFields,
): ParsedTarget | Refusal {
  const target = targetIn(fields);
  if (target.kind !== "target") return target;
  return ownsTarget(backend, principal, target) ? target : { kind: "foreign_target" };
}

function targetIn(fields: UnbanFields): ParsedTarget | Refusal {
  const target = targetOf(fields);
  if (target.kind !== "target") return target;
  const detail = plainTextFault("reason", fields.reason ?? "", BAN_REASON_MAX);
  return detail === null ? target : { kind: "invalid_body", detail };
}

function ownsTarget(backend: Backend, principal: Call["principal"], { prefix, isAddress }: ParsedTarget): boolean {
  const tenancy = backend.tenancy();
  return isAddress ? tenancy.owns(principal, prefix.address) : tenancy.ownsAll(principal, prefix);
}

/** As its caller names it. */
export function namedText({ prefix, isAddress }: ParsedTarget): string {
  return isAddress ? prefix.address : prefix.text;
}

function answerOf({ principal }: Call, view: BanView): Response {
  return jsonAnswer(view.ban.state === "rejected" ? 409 : 200, banToWire(ofTenant(view, principal.tenant)));
}

/** A refused order of more than an address has the remedy beside the reason. */
export function orderedToWire(
  { orders }: Pick<Backend, "orders">,
  { principal }: Pick<Call, "principal">,
  order: BanOrder,
  view: BanView,
): OrderedBanWire {
  const wire = banToWire(ofTenant(view, principal.tenant));
  const isExplained = view.ban.state === "rejected" && !isPlain(order);
  const remedy = isExplained ? remedyOf(view.ban.reason ?? "", orders.contentsOf(order.prefix)) : null;
  return remedy === null ? wire : { ...wire, remedy };
}

function isPlain(order: BanOrder): boolean {
  return isOneAddress(order.prefix) && orderText(order) === "";
}

/** The row has the reason of the policy, if there is one, what was ordered, and the caller's reason. */
export function banOutcome(order: BanOrder, view: BanView): OutcomePart {
  return outcomeOf(view, order.prefix, [view.ban.reason ?? "", orderText(order), order.reason]);
}

export function unbanOutcome({ prefix }: ParsedTarget, { reason = "" }: UnbanFields, view: BanView): OutcomePart {
  return outcomeOf(view, prefix, [view.ban.reason ?? "", reason.toWellFormed()]);
}

/** @param named what the caller named: an address may stand for the prefix that begins with it. */
function outcomeOf({ ban }: BanView, named: Prefix, reasons: readonly string[]): OutcomePart {
  const { state, dryRun } = ban;
  return {
    kind: "outcome",
    result: state,
    reason: reasonOn(named, reasons),
    banState: state,
    dryRun,
    target: rowTarget(named),
  };
}

/** The part for a target for which a command on several is refused. */
export function refusedOutcome({ prefix }: ParsedTarget, refusal: Refusal): OutcomePart {
  const reason = reasonOn(prefix, [describeRefusal(refusal).error]);
  return { kind: "outcome", result: "rejected", reason, target: rowTarget(prefix) };
}

function rowTarget(named: Prefix): AuditTarget {
  return { text: named.address, type: isOneAddress(named) ? "host" : "prefix" };
}

function auditOf(action: "ban" | "unban"): AuditRule<UnbanFields> {
  const prefixOf = (fields: UnbanFields | null) => {
    const target = fields === null ? null : targetOf(fields);
    return target?.kind === "target" ? target.prefix : null;
  };
  return {
    ...{ action, targetType: "host", prefix: prefixOf },
    target: (_, fields) => prefixOf(fields)?.address ?? "",
  };
}
