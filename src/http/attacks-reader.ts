/**
 * Answers `{active: [...], recent: [...]}` with the attacks on the addresses of a caller
 * (docs/interface.md#attack-states).
 */
import type { Principal } from "../access/principal.ts";
import type { Tenancy } from "../access/tenancy.ts";
import { isActive } from "../detection/attack/attack.ts";
import type { AttackView } from "./backend.ts";
import { JsonArray } from "./server/json-array.ts";
import type { Reader } from "./table-pass.ts";
import { attackToWire } from "./wire/attack.ts";

export class AttacksReader implements Reader<AttackView> {
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
    list.add(attackToWire(view, owner));
  }

  answer(): Blob {
    return new Blob(['{"active":', ...this.#active.parts(), ',"recent":', ...this.#recent.parts(), "}"]);
  }
}
