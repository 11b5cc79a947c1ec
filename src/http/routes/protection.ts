/** The protection profiles of prefixes, and the two commands on them (docs/interface.md#protection-command). */
import type { ProtectionAnswer, ProtectionView } from "../../mitigation/protection/protections.ts";
import { parseAddress } from "../../net/address.ts";
import { hostPrefix, type Prefix, parsePrefix } from "../../net/prefix.ts";
import { TEXT_FORMS } from "../../schema/text-forms.ts";
import type { Clock } from "../../system/clock.ts";
import type { Backend } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { AuditRule, Call, CommandRoute, Outcome, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { commanderOf, endedText, ORDER_END, type OrderEndReason } from "../wire/order-end-reason.ts";
import {
  type ProtectionRequest,
  ProtectionsWire,
  ProtectionWire,
  protectionCheck,
  protectionsToWire,
  protectionToWire,
  receivesToWire,
} from "../wire/protection.ts";

const PATH = "/api/v1/protection/:prefix";

export function protectionsRoute(backend: Backend): ReadRoute {
  return {
    name: "protections",
    method: "GET",
    path: "/api/v1/protection",
    access: "viewer",
    about: {
      summary: "The protection profiles chosen for prefixes, what the configuration says, and which may be chosen",
      answers: { 200: { text: "The choices, the oldest first.", schema: ProtectionsWire } },
    },
    handle: ({ principal }) => {
      const tenancy = backend.tenancy();
      const isOwn = ({ prefix, judged }: ProtectionView) =>
        principal.tenant === null ||
        (tenancy.ownsAll(principal, prefix) && [null, principal.tenant].includes(judged?.choice.tenant ?? null));
      const views = backend.protections.all().filter(isOwn);
      return jsonAnswer(200, protectionsToWire(views, backend.configured(), principal));
    },
  };
}

export function protectionRoute(backend: Backend): ReadRoute {
  return {
    name: "protection",
    method: "GET",
    path: PATH,
    access: "viewer",
    about: {
      summary: "What protects an address or a prefix: the filter in words, and who chose it",
      answers: {
        200: { text: "What applies to it as a whole.", schema: ProtectionWire },
        404: { text: "It is not within one of networks and one hostgroup." },
      },
    },
    checkPath: (call) => pathRefusal(backend, call),
    handle: ({ principal, params }) => {
      const prefix = readPrefix(params);
      const view = prefix === null ? null : backend.protections.of(prefix);
      if (view === null || prefix === null) return { kind: "not_one_hostgroup" };
      const wire = protectionToWire(view, backend.configured(), principal);
      const receives = receivesToWire(backend.orders.received(prefix));
      return jsonAnswer(200, receives === null ? wire : { ...wire, receives });
    },
  };
}

export function protectRoute(backend: Backend, clock: Pick<Clock, "wallMs">): CommandRoute<ProtectionRequest> {
  return {
    name: "protect",
    method: "PUT",
    path: PATH,
    access: "operator",
    checkPath: (call) => pathRefusal(backend, call),
    body: protectionCheck,
    about: {
      summary: "Choose the protection profile of an address or a prefix, in place of its hostgroup's",
      answers: {
        200: { text: "What applies now.", schema: ProtectionWire },
        409: { text: "The configuration does not allow it, or too many are chosen." },
      },
    },
    audit: AUDIT,
    handle: (call, order) =>
      onOwnPrefix(backend, call, async (prefix) => {
        const { operator, tenant } = call.principal;
        const chosenAt = clock.wallMs();
        const answer = await backend.protections.choose({ prefix, ...order, operator, tenant, chosenAt });
        return outcomeOf(backend, call, answer, { result: "set", reason: reasonOf(prefix, order) });
      }),
  };
}

export function unprotectRoute(backend: Backend): CommandRoute<OrderEndReason> {
  return {
    name: "unprotect",
    ...ORDER_END,
    path: PATH,
    access: "operator",
    checkPath: (call) => pathRefusal(backend, call),
    about: {
      summary: "Remove the choice for exactly this prefix",
      answers: {
        200: { text: "What applies now.", schema: ProtectionWire },
        404: { text: "Nothing was chosen for this prefix." },
        409: { text: "An operator chose it, and a tenant may not remove it." },
      },
    },
    audit: AUDIT,
    handle: (call, end) =>
      onOwnPrefix(backend, call, async (prefix) => {
        const answer = await backend.protections.remove(prefix, call.principal.tenant, commanderOf(call, end));
        if (answer === null) return { kind: "no_protection" };
        return outcomeOf(backend, call, answer, { result: "cleared", reason: endedText(prefix.text, end) });
      }),
  };
}

/** An address stands for itself alone. */
function readPrefix(params: Call["params"]): Prefix | null {
  const text = params["prefix"] ?? "";
  const address = parseAddress(text);
  return address === null ? parsePrefix(text) : hostPrefix(address);
}

/** Checked before the body is read, so that a foreign prefix gets the same answer for every body. */
function pathRefusal(backend: Backend, { principal, params }: Call): Refusal | null {
  const prefix = readPrefix(params);
  if (prefix === null) {
    const text = params["prefix"] ?? "";
    return { kind: "invalid_prefix", text, rule: TEXT_FORMS.addressOrPrefix(text) ?? "" };
  }
  return backend.tenancy().ownsAll(principal, prefix) ? null : { kind: "foreign_target" };
}

/** A reload may have happened while the body was received. */
function onOwnPrefix(
  backend: Backend,
  call: Call,
  act: (prefix: Prefix) => Promise<Outcome | Refusal>,
): Refusal | Promise<Outcome | Refusal> {
  const prefix = readPrefix(call.params);
  return pathRefusal(backend, call) ?? (prefix === null ? { kind: "no_protection" } : act(prefix));
}

async function outcomeOf(
  backend: Backend,
  { principal }: Call,
  answer: ProtectionAnswer,
  end: Pick<Outcome, "result" | "reason">,
): Promise<Outcome | Refusal> {
  if (answer.kind === "refused") return { kind: "protection_refused", refusal: answer.refusal };
  const settled = await backend.settled(answer.isSaved, "protections", answer.view.prefix.text);
  const wire = protectionToWire(answer.view, backend.configured(), principal, settled);
  return { kind: "outcome", response: jsonAnswer(200, wire), ...end };
}

/** `192.0.2.0/24 web, always: ticket 7`. */
function reasonOf(prefix: Prefix, { profile, always, note }: ProtectionRequest): string {
  const when = always === null ? "" : always ? ", always" : ", while attacked";
  return `${prefix.text} ${profile}${when}${note === "" ? "" : `: ${note}`}`;
}

const AUDIT: AuditRule<unknown> = {
  action: "protection",
  targetType: "prefix",
  target: ({ params }) => readPrefix(params)?.address ?? "",
};
