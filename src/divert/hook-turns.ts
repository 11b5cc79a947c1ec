/**
 * In which order the hook is called: a few requests run at once, those that end diversions hold up no others, and tenants
 * take turns.
 */
import { FairQueue, type Tenant } from "../access/fair-queue.ts";
import type { HookRequest } from "./hook.ts";

/** `check`: whether a confirmed diversion is still there. */
export type HookTurn = HookRequest["action"] | "check";

/** Requests at once. */
const ASKED_AT_ONCE = 8;
/** Maxima by action. Those that wait go on in this order. */
const AT_ONCE_OF = { begin: ASKED_AT_ONCE, confirm: 6, end: ASKED_AT_ONCE / 2, check: 2 } as const;

const TURNS: readonly HookTurn[] = ["begin", "confirm", "end", "check"];

export class HookTurns {
  readonly #running: Record<HookTurn, number> = { begin: 0, confirm: 0, end: 0, check: 0 };
  readonly #waiting: Readonly<Record<HookTurn, FairQueue<() => void>>> = {
    begin: new FairQueue(),
    confirm: new FairQueue(),
    end: new FairQueue(),
    check: new FairQueue(),
  };

  /** Calls `ask` when it is its turn. @param tenant that alone wants the diversion. */
  async take<T>(turn: HookTurn, tenant: Tenant, ask: () => Promise<T>): Promise<T> {
    if (this.#hasPlace(turn)) this.#running[turn]++;
    else await new Promise<void>((resolve) => this.#waiting[turn].push(tenant, resolve));
    try {
      return await ask();
    } finally {
      this.#running[turn]--;
      this.#letNext();
    }
  }

  #hasPlace(turn: HookTurn): boolean {
    const { begin, confirm, end, check } = this.#running;
    return begin + confirm + end + check < ASKED_AT_ONCE && this.#running[turn] < AT_ONCE_OF[turn];
  }

  /** Its place is taken for it, so that no other request takes it meanwhile. */
  #letNext(): void {
    for (const turn of TURNS) {
      if (!this.#hasPlace(turn)) continue;
      const go = this.#waiting[turn].shift();
      if (go === undefined) continue;
      this.#running[turn]++;
      go();
    }
  }
}
