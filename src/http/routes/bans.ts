/** The bans, and the two commands on them (docs/interface.md#ban-command). */
import type { Tenancy } from "../../access/tenancy.ts";
import { BAN_REASON_MAX } from "../../limits.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import { MITIGATION_METHODS } from "../attack-list.ts";
import type { Backend, BanView } from "../backend.ts";
import { during, type Filters, filterOf, isFault, named, within, word } from "../filters.ts";
import { ListReader } from "../list-reader.ts";
import { type ListViewing, ListViews, TOO_MANY_PAGES } from "../list-views.ts";
import type { Refusal } from "../refusal.ts";
import type { AuditRule, Call, CommandRoute, Outcome, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { fieldCheck } from "../server/fields.ts";
import { BanFields, BanRequest, BansWire, BanWire, banToWire, ofTenant, sortBans } from "../wire/ban.ts";
import { plainTextFault } from "../wire/plain-text.ts";

export function bansRoute(backend: Backend, viewing: ListViewing): ReadRoute {
  const filters = banFilters(() => backend.tenancy());
  const bans = new ListViews(() => sortBans(backend.bans()), viewing, filters);
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
      summary: "Ban an address, or refresh its ban",
      answers: {
        200: { text: "The ban.", schema: BanWire },
        409: { text: "Policy refuses: the rejected ban, with its reason.", schema: BanWire },
      },
    },
    audit: auditOf("ban"),
    handle: (call, fields) =>
      onOwnTarget(backend, call, fields, async (target) =>
        outcomeOf(call, fields, await backend.ban(target, call.principal)),
      ),
  };
}

export function unbanRoute(backend: Backend): CommandRoute<BanFields> {
  return {
    name: "unban",
    method: "POST",
    path: "/api/v1/unban",
    access: "operator",
    body: { ...fieldCheck(BanFields), schema: BanRequest },
    about: {
      summary: "End the ban of an address, or of the prefix whose first address it is",
      answers: {
        200: { text: "The withdrawn ban.", schema: BanWire },
        404: { text: "The address has no active ban." },
      },
    },
    audit: auditOf("unban"),
    handle: (call, fields) =>
      onOwnTarget(backend, call, fields, async (target) => {
        const view = await backend.unban(target, call.principal.operator);
        return view === null ? { kind: "no_active_ban", target } : outcomeOf(call, fields, view);
      }),
  };
}

/** The tenant is checked before the table of bans: a foreign target gets the same answer with and without a ban. */
function onOwnTarget(
  backend: Backend,
  { principal }: Call,
  { ip, reason = "" }: BanFields,
  act: (target: IpAddress) => Promise<Outcome | Refusal>,
): Outcome | Refusal | Promise<Outcome | Refusal> {
  const target = parseAddress(ip);
  if (target === null) return { kind: "invalid_ip", text: ip };
  const detail = plainTextFault("reason", reason, BAN_REASON_MAX);
  if (detail !== null) return { kind: "invalid_body", detail };
  return backend.tenancy().owns(principal, target) ? act(target) : { kind: "foreign_target" };
}

/** The row has the reason of the policy, if there is one, and the caller's. */
function outcomeOf({ principal }: Call, { reason: given = "" }: BanFields, view: BanView): Outcome {
  const { state, reason, dryRun } = view.ban;
  const reasons = [reason ?? "", given.toWellFormed()].filter((text) => text !== "");
  const response = jsonAnswer(state === "rejected" ? 409 : 200, banToWire(ofTenant(view, principal.tenant)));
  return { kind: "outcome", response, result: state, reason: reasons.join(": "), banState: state, dryRun };
}

function auditOf(action: "ban" | "unban"): AuditRule<BanFields> {
  return { action, targetType: "host", target: (_, fields) => (fields && parseAddress(fields.ip)) ?? "" };
}
