/** A table of bans that counts them by state and method in constant time. */
import type { Ban } from "./ban.ts";

const STATES = ["active", "withdrawn", "rejected"] as const satisfies readonly Ban["state"][];
const METHODS = ["blackhole", "flowspec", "divert", "scrub"] as const satisfies readonly Ban["method"][];

export interface BanCount {
  readonly state: Ban["state"];
  readonly method: Ban["method"];
  readonly bans: number;
}

/** Takes no entries: the constructor of Map would fill it before `#counts` exists. */
export class CountedBans<Key> extends Map<Key, Ban> {
  readonly #counts = new Map<string, number>();

  override set(key: Key, ban: Ban): this {
    this.#count(this.get(key), -1);
    this.#count(ban, 1);
    return super.set(key, ban);
  }

  override delete(key: Key): boolean {
    this.#count(this.get(key), -1);
    return super.delete(key);
  }

  override clear(): void {
    this.#counts.clear();
    super.clear();
  }

  count(state: Ban["state"], method: Ban["method"]): number {
    return this.#counts.get(`${state} ${method}`) ?? 0;
  }

  #count(ban: Ban | undefined, by: 1 | -1): void {
    if (ban === undefined) return;
    this.#counts.set(`${ban.state} ${ban.method}`, this.count(ban.state, ban.method) + by);
  }
}

/** One row for every state and method, including zero counts. */
export function countBans(tables: readonly CountedBans<unknown>[]): BanCount[] {
  return STATES.flatMap((state) =>
    METHODS.map((method) => ({
      state,
      method,
      bans: tables.reduce((sum, table) => sum + table.count(state, method), 0),
    })),
  );
}
