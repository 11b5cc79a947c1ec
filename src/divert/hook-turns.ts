/** In which order the hook is called: a few requests run at once, and those that end diversions hold up no others. */
import type { HookRequest } from "./hook.ts";

type Action = HookRequest["action"];

/** Requests at once. */
export const ASKED_AT_ONCE = 8;
/** Of one action. Those that wait go on in this order. */
const AT_ONCE_OF = { begin: ASKED_AT_ONCE, confirm: 6, end: ASKED_AT_ONCE / 2 } as const;

const ACTIONS: readonly Action[] = ["begin", "confirm", "end"];

export class HookTurns {
  readonly #running: Record<Action, number> = { begin: 0, confirm: 0, end: 0 };
  readonly #waiting: Record<Action, (() => void)[]> = { begin: [], confirm: [], end: [] };

  /** Calls `ask` when it is its turn. */
  async take<T>(action: Action, ask: () => Promise<T>): Promise<T> {
    if (this.#hasPlace(action)) this.#running[action]++;
    else await new Promise<void>((resolve) => this.#waiting[action].push(resolve));
    try {
      return await ask();
    } finally {
      this.#running[action]--;
      this.#letNext();
    }
  }

  #hasPlace(action: Action): boolean {
    const { begin, confirm, end } = this.#running;
    return begin + confirm + end < ASKED_AT_ONCE && this.#running[action] < AT_ONCE_OF[action];
  }

  /** Its place is taken for it, so that no other request takes it meanwhile. */
  #letNext(): void {
    for (const action of ACTIONS) {
      if (!this.#hasPlace(action)) continue;
      const go = this.#waiting[action].shift();
      if (go === undefined) continue;
      this.#running[action]++;
      go();
    }
  }
}
