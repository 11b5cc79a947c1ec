/** Measures the time from the detection of an attack until the route of its first ban is announced. */
import type { AttackChange } from "../detection/judge/detector.ts";
import type { BanEngine } from "./ban-engine.ts";
import { prefixUnderAttack } from "./ban-subject.ts";

export class AnnouncementTimer {
  readonly #bans: Pick<BanEngine, "active" | "routeState">;
  readonly #onAnnounced: (elapsedMs: number) => void;
  /** By attack, until the route is announced, its ban is in dry run, or the attack ends. Monotonic ms. */
  readonly #detected = new Map<string, { readonly prefix: string; readonly atMs: number }>();

  constructor(bans: Pick<BanEngine, "active" | "routeState">, onAnnounced: (elapsedMs: number) => void) {
    this.#bans = bans;
    this.#onAnnounced = onAnnounced;
  }

  /** Call this before the ban engine: the time of a ban that existed before the attack is not measured. */
  attacksChanged(changes: readonly AttackChange[], monotonicMs: number): void {
    for (const { kind, attack } of changes) {
      if (kind === "lasts") continue;
      const prefix = prefixUnderAttack(attack)?.text;
      if (prefix === undefined) continue;
      if (kind === "ended") this.#detected.delete(attack.id);
      else if (!this.#bans.active.has(prefix)) this.#detected.set(attack.id, { prefix, atMs: monotonicMs });
    }
  }

  /** Call this when route states changed. */
  routesChanged(monotonicMs: number): void {
    for (const [id, { prefix, atMs }] of this.#detected) {
      const ban = this.#bans.active.get(prefix);
      if (ban?.dryRun) this.#detected.delete(id);
      if (ban === undefined || ban.dryRun || this.#bans.routeState(ban)?.kind !== "announced") continue;
      this.#detected.delete(id);
      this.#onAnnounced(monotonicMs - atMs);
    }
  }
}
