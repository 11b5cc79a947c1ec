/**
 * FlowSpec routes over which a neighbor resets its session: a router that cannot take a rule drops all of our routes
 * with the session, and again each time that it comes back. Decides from the order of events alone; does no I/O.
 */
import type { Session } from "./neighbor.ts";
import type { RouteKey } from "./route-path.ts";

/** A session that breaks so soon after something breaks because of it. */
export const AFTERMATH_MS = 3_000;
/** A neighbor that came back and stayed for so long has no quarrel with the routes. */
export const PEACE_MS = 10_000;

export interface QuarantineNews {
  /** A neighbor's session, up until then, broke right after these were sent. */
  readonly suspected: readonly RouteKey[];
  /** It broke again as soon as it was back: these are kept back from now on, until they are no longer wanted. */
  readonly keptBack: readonly RouteKey[];
}

interface Up {
  readonly changedAtMs: number | null;
  /** Monotonic. */
  readonly seenAtMs: number;
}

export class RouteQuarantine {
  readonly #sentAtMs = new Map<RouteKey, number>();
  readonly #sessions = new Map<string, Up>();
  /** By neighbor. */
  readonly #suspects = new Map<string, readonly RouteKey[]>();
  readonly #keptBack = new Set<RouteKey>();

  sent(keys: readonly RouteKey[], nowMs: number): void {
    for (const [key, sentAtMs] of this.#sentAtMs) if (nowMs - sentAtMs > AFTERMATH_MS) this.#sentAtMs.delete(key);
    for (const key of keys) this.#sentAtMs.set(key, nowMs);
  }

  /** What the speaker tells of its sessions; not to be told when it is the speaker that went away. */
  sessionsAre(established: readonly Session[], nowMs: number): QuarantineNews {
    const news = { suspected: [] as RouteKey[], keptBack: [] as RouteKey[] };
    const now = new Map(established.map(({ address, changedAtMs }) => [address, changedAtMs]));
    for (const [address, up] of this.#sessions) {
      if (now.get(address) === up.changedAtMs) {
        if (nowMs - up.seenAtMs > PEACE_MS) this.#suspects.delete(address);
        continue;
      }
      this.#sessions.delete(address);
      this.#broke(address, { wasBrief: nowMs - up.seenAtMs <= AFTERMATH_MS, nowMs, news });
    }
    for (const [address, changedAtMs] of now) {
      if (!this.#sessions.has(address)) this.#sessions.set(address, { changedAtMs, seenAtMs: nowMs });
    }
    return news;
  }

  /** The speaker went away, and its sessions with it. */
  speakerLost(): void {
    this.#sessions.clear();
  }

  /** A route that is wanted anew later gets another chance. */
  keepOnly(isWanted: (key: RouteKey) => boolean): void {
    for (const key of this.#keptBack) if (!isWanted(key)) this.#keptBack.delete(key);
  }

  keepsBack(key: RouteKey): boolean {
    return this.#keptBack.has(key);
  }

  /** Neighbors that come and go all the time accuse nobody: their sessions were brief before anything was sent. */
  #broke(
    address: string,
    options: { wasBrief: boolean; nowMs: number; news: { suspected: RouteKey[]; keptBack: RouteKey[] } },
  ) {
    const { wasBrief, nowMs, news } = options;
    const suspects = this.#suspects.get(address);
    if (wasBrief && suspects !== undefined) {
      for (const key of suspects) this.#keptBack.add(key);
      news.keptBack.push(...suspects);
      this.#suspects.delete(address);
    } else if (!wasBrief) {
      const fresh = [...this.#sentAtMs].filter(([, sentAtMs]) => nowMs - sentAtMs <= AFTERMATH_MS).map(([key]) => key);
      if (fresh.length === 0) return;
      this.#suspects.set(address, fresh);
      news.suspected.push(...fresh);
    }
  }
}
