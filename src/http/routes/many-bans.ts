/** Many bans and unbans in one command: all of them, or none (docs/interface.md#many-bans). */
import { type Static, Type } from "@sinclair/typebox";
import { ORDERS_AT_ONCE_MAX } from "../../limits.ts";
import type { BanOrder } from "../../mitigation/order/ban-order.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import type { Backend, BanView } from "../backend.ts";
import { type Refusal, refuse } from "../refusal.ts";
import type { Call, CommandRoute, Outcome, OutcomePart } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { fieldCheck } from "../server/fields.ts";
import { banToWire, OrderedBansWire, type OrderedBanWire, ofTenant } from "../wire/ban.ts";
import {
  BanFields,
  BanRequest,
  type ParsedOrder,
  type ParsedTarget,
  targetOf,
  UnbanFields,
  UnbanRequest,
} from "../wire/ban-order.ts";
import {
  banOutcome,
  endedOf,
  namedText,
  orderedToWire,
  orderIn,
  refusedOutcome,
  unban,
  unbanIn,
  unbanOutcome,
} from "./bans.ts";

const ManyFields = closedObject({
  ban: Type.Optional(Type.Array(BanFields, { maxItems: ORDERS_AT_ONCE_MAX })),
  unban: Type.Optional(Type.Array(UnbanFields, { maxItems: ORDERS_AT_ONCE_MAX })),
});
type ManyFields = Static<typeof ManyFields>;

const ManyRequest = closedObject({
  ban: Type.Optional(Type.Array(BanRequest, { maxItems: ORDERS_AT_ONCE_MAX })),
  unban: Type.Optional(Type.Array(UnbanRequest, { maxItems: ORDERS_AT_ONCE_MAX })),
});

export function manyBansRoute(backend: Backend): CommandRoute<ManyFields> {
  return {
    name: "many_bans",
    method: "POST",
    path: "/api/v1/bans",
    access: "operator",
    body: { ...fieldCheck(ManyFields), schema: ManyRequest },
    about: {
      summary: "Ban and unban several targets: all of them, or none",
      answers: {
        200: {
          text: "The bans, in the order of the request: first those of `ban`, then those of `unban`.",
          schema: OrderedBansWire,
        },
        404: { text: "A target of `unban` has no active ban. Nothing was done." },
        409: { text: "Policy refuses one or more: what each would be. Nothing was done.", schema: OrderedBansWire },
      },
    },
    audit: { action: "ban", targetType: "global", target: () => "" },
    handle: async (call, fields) => {
      const read = readAll(backend, call, fields);
      if (read.kind !== "read") return read;
      const refused = refusedBefore(backend, call, read);
      return refused ?? carryOutAll(backend, call, fields, read);
    },
  };
}

interface Read {
  readonly kind: "read";
  readonly bans: readonly ParsedOrder[];
  readonly unbans: readonly ParsedTarget[];
}

function readAll(backend: Backend, call: Call, { ban = [], unban: ended = [] }: ManyFields): Read | Refusal | Outcome {
  const bans: ParsedOrder[] = [];
  const unbans: ParsedTarget[] = [];
  for (const [i, fields] of ban.entries()) {
    const parsed = orderIn(backend, call, fields);
    if (parsed.kind !== "order") return refusedOne(parsed, fields, { action: "ban", i });
    bans.push(parsed);
  }
  for (const [i, fields] of ended.entries()) {
    const target = unbanIn(backend, call, fields);
    if (target.kind !== "target") return refusedOne(target, fields, { action: "unban", i });
    unbans.push(target);
  }
  const targets = [...bans.map(({ order }) => order.prefix.text), ...unbans.map(({ prefix }) => prefix.text)];
  const twice = targets.find((text, i) => targets.indexOf(text) !== i);
  if (twice !== undefined) return { kind: "invalid_body", detail: `${twice} is named twice` };
  if (targets.length === 0) return { kind: "invalid_body", detail: "ban or unban is required" };
  if (targets.length > ORDERS_AT_ONCE_MAX) {
    return {
      kind: "invalid_body",
      detail: `there are more than ${ORDERS_AT_ONCE_MAX} targets: give the others by themselves`,
    };
  }
  return { kind: "read", bans, unbans };
}

/** With which of them is wrong; the audit row of one that is not the caller's is on it. */
function refusedOne(
  refusal: Refusal,
  fields: UnbanFields,
  { action, i }: { readonly action: "ban" | "unban"; readonly i: number },
): Refusal | Outcome {
  if (refusal.kind === "invalid_body") return { ...refusal, detail: `${action}.${i}: ${refusal.detail}` };
  const target = targetOf(fields);
  if (refusal.kind !== "foreign_target" || target.kind !== "target") return refusal;
  return outcomeOf(refuse(refusal), [{ ...refusedOutcome(target, refusal), action }]);
}

/** null: none would be refused, with the others in force. */
function refusedBefore(backend: Backend, call: Call, { bans, unbans }: Read): Outcome | Refusal | null {
  const ended = unbans.map((target) => ({
    target,
    name: namedText(target),
    of: backend.bannedPrefix(endedOf(target)),
  }));
  const missing = ended.find(({ of }) => of === null);
  if (missing !== undefined) {
    const refusal = { kind: "no_active_ban", target: missing.name } as const;
    return outcomeOf(refuse(refusal), [{ ...refusedOutcome(missing.target, refusal), action: "unban" }]);
  }
  const named = [
    ...bans.map(({ order: { prefix } }) => ({ name: prefix.text, of: prefix.text })),
    ...ended.map(({ name, of }) => ({ name, of: of?.text ?? name })),
  ];
  const twice = named.find(({ of }, i) => named.findIndex((other) => other.of === of) !== i);
  if (twice !== undefined) {
    const other = named.find(({ of }) => of === twice.of)?.name ?? "";
    return { kind: "invalid_body", detail: `${other} and ${twice.name} name the same ban` };
  }
  const orders = bans.map(({ order }) => order);
  const made = backend.bansPreview({ orders, ended: unbans.map(endedOf) }, call.principal);
  const views = made.map((ban, i): [BanOrder, BanView] => [orders[i] as BanOrder, { ban, routeState: null }]);
  const refused = views.filter(([, { ban }]) => ban.state === "rejected");
  if (refused.length === 0) return null;
  const response = jsonAnswer(409, { bans: views.map(([order, view]) => orderedToWire(backend, call, order, view)) });
  return outcomeOf(
    response,
    refused.map(([order, view]) => banOutcome(order, view)),
  );
}

/** One that the table refuses meanwhile, at a cap, is in the answer as a rejected ban. */
async function carryOutAll(
  backend: Backend,
  call: Call,
  { unban: ended = [] }: ManyFields,
  read: Read,
): Promise<Outcome | Refusal> {
  // First those that end: the others may need their places.
  const lifted = read.unbans.map(async (target, i): Promise<[OrderedBanWire, OutcomePart] | null> => {
    const fields = ended[i] ?? {};
    const view = await unban(backend, call, target, fields);
    if (view === null) return null;
    const part = { ...unbanOutcome(target, fields, view), action: "unban" as const };
    return [banToWire(ofTenant(view, call.principal.tenant)), part];
  });
  const banned = read.bans.map(async ({ order }): Promise<[OrderedBanWire, OutcomePart]> => {
    const view = await backend.ban(order, call.principal);
    return [orderedToWire(backend, call, order, view), banOutcome(order, view)];
  });
  const done = (await Promise.all([...banned, ...lifted])).filter((one) => one !== null);
  const isRefused = done.some(([{ state }, { result }]) => state === "rejected" && result === "rejected");
  const response = jsonAnswer(isRefused ? 409 : 200, { bans: done.map(([wire]) => wire) });
  return outcomeOf(
    response,
    done.map(([, part]) => part),
  );
}

function outcomeOf(response: Response, parts: readonly OutcomePart[]): Outcome {
  return { kind: "outcome", result: "ok", response, parts };
}
