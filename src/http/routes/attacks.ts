/** The attacks, in progress and over (docs/interface.md#attack-states), and one of them by its id. */

import { AttacksReader } from "../attacks-reader.ts";
import type { AttackView, Service } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer, jsonBlobAnswer } from "../server/answer.ts";
import { type Slicing, TablePass } from "../table-pass.ts";
import { AttacksWire, AttackWire, attackToWire } from "../wire/attack.ts";

export function attacksRoute(service: Service, slicing: Slicing): ReadRoute {
  const attacks = new TablePass(() => allOf(service), slicing);
  return {
    name: "attacks",
    method: "GET",
    path: "/api/v1/attacks",
    access: "viewer",
    about: {
      summary: "Attacks in progress, and the last that are over, newest first",
      answers: { 200: { text: "The attacks.", schema: AttacksWire } },
    },
    handle: async ({ principal }) => {
      const makeReader = () => new AttacksReader(principal, service.tenancy());
      return jsonBlobAnswer(await attacks.read(JSON.stringify(principal.tenant), makeReader));
    },
  };
}

/** An attack on a foreign address is as unknown as one that never was. */
export function attackRoute(service: Service): ReadRoute {
  return {
    name: "attack",
    method: "GET",
    path: "/api/v1/attacks/:id",
    access: "viewer",
    about: {
      summary: "One attack: in progress, over, or of the history",
      answers: {
        200: { text: "The attack.", schema: AttackWire },
        404: { text: "Unknown attack, or another tenant's." },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal, params }) => {
      const view = await service.attack(params["id"] ?? "");
      const owner = view === null ? null : service.tenancy().ownerOf(view.attack);
      const isVisible = principal.tenant === null || principal.tenant === owner;
      return view === null || !isVisible ? { kind: "unknown_attack" } : jsonAnswer(200, attackToWire(view, owner));
    },
  };
}

function* allOf(service: Service): Iterable<AttackView> {
  const { active, recent } = service.attacks();
  yield* active;
  yield* recent;
}
