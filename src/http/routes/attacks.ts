/** The attacks, active and ended (docs/interface.md#attack-states), and one of them by its id. */

import type { Principal } from "../../access/principal.ts";
import type { Tenancy } from "../../access/tenancy.ts";
import { isActive } from "../../detection/attack/attack.ts";
import type { AttackView, Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer, jsonBlobAnswer } from "../server/answer.ts";
import { JsonArray } from "../server/json-array.ts";
import { type Reader, type Slicing, TablePass } from "../table-pass.ts";
import { AttacksWire, AttackWire, attackOfTenant, attackToWire } from "../wire/attack.ts";
import { visibleAttack } from "./attack-course.ts";

export function attacksRoute(backend: Backend, slicing: Slicing): ReadRoute {
  const attacks = new TablePass(() => allOf(backend), slicing);
  return {
    name: "attacks",
    method: "GET",
    path: "/api/v1/attacks",
    access: "viewer",
    about: {
      summary: "Attacks in progress and the last ended ones, newest first",
      answers: { 200: { text: "The attacks.", schema: AttacksWire } },
    },
    handle: async ({ principal }) => {
      const makeReader = () => new AttacksReader(principal, backend.tenancy());
      return jsonBlobAnswer(await attacks.read(JSON.stringify(principal.tenant), makeReader));
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

function* allOf(backend: Backend): Iterable<AttackView> {
  const { active, recent } = backend.attacks();
  yield* active;
  yield* recent;
}

/** Answers `{active: [...], recent: [...]}` with the attacks that a caller may see. */
class AttacksReader implements Reader<AttackView> {
  readonly #principal: Principal;
  readonly #tenancy: Tenancy;
  readonly #active = new JsonArray();
  readonly #recent = new JsonArray();

  constructor(principal: Principal, tenancy: Tenancy) {
    this.#principal = principal;
    this.#tenancy = tenancy;
  }

  see(view: AttackView): void {
    const owner = this.#tenancy.ownerOf(view.attack);
    const { tenant } = this.#principal;
    if (tenant !== null && tenant !== owner) return;
    const list = isActive(view.attack) ? this.#active : this.#recent;
    list.add(attackToWire(attackOfTenant(view, tenant), owner));
  }

  answer(): Blob {
    return new Blob(['{"active":', ...this.#active.parts(), ',"recent":', ...this.#recent.parts(), "}"]);
  }
}
