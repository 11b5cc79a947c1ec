/** The attacks, active and ended (docs/interface.md#attack-states), and one of them by its id. */

import { ATTACK_FILTERS, ATTACKS_PARAMETERS, AttackList, attacksPageQuery, type OwnedAttack } from "../attack-list.ts";
import type { Backend } from "../backend.ts";
import { filterOf, isFault } from "../filters.ts";
import { type ListViewing, ListViews, TOO_MANY_PAGES } from "../list-views.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { AttacksWire, AttackWire, attackOfTenant, attackToWire } from "../wire/attack.ts";
import { visibleAttack } from "./attack-course.ts";

export function attacksRoute(backend: Backend, viewing: ListViewing): ReadRoute {
  const attacks = new ListViews(() => ownedBy(backend), viewing, ATTACKS_PARAMETERS);
  return {
    name: "attacks",
    method: "GET",
    path: "/api/v1/attacks",
    access: "viewer",
    about: {
      summary: "Attacks in progress and the last ended ones: all, or in pages",
      query: ATTACKS_PARAMETERS,
      answers: { 200: { text: "The attacks.", schema: AttacksWire }, ...TOO_MANY_PAGES },
    },
    handle: (call) => {
      const isWanted = filterOf(ATTACK_FILTERS, call.query);
      if (isFault(isWanted)) return isWanted;
      const page = attacksPageQuery(call.query);
      if (page?.kind === "invalid_query") return page;
      return attacks.answer(call, () => new AttackList(call.principal.tenant, isWanted, page));
    },
  };
}

/** A foreign attack is answered like an unknown one. */
export function attackRoute(backend: Backend): ReadRoute {
  return {
    name: "attack",
    method: "GET",
    path: "/api/v1/attacks/:id",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "One attack: in progress, ended, or from the history",
      answers: {
        200: { text: "The attack.", schema: AttackWire },
        404: { text: "Unknown attack, or another tenant's." },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, params }) => {
      const view = await visibleAttack(backend, principal, params["id"] ?? "");
      if (view === null) return { kind: "unknown_attack" };
      return jsonAnswer(
        200,
        attackToWire(attackOfTenant(view, principal.tenant), backend.tenancy().ownerOf(view.attack)),
      );
    },
  };
}

function* ownedBy(backend: Backend): Iterable<OwnedAttack> {
  const { active, recent } = backend.attacks();
  for (const views of [active, recent]) {
    for (const view of views) yield { view, owner: backend.tenancy().ownerOf(view.attack) };
  }
}
