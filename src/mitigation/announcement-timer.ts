/** How long it takes from the detection of an attack until the route of its first ban is out. */
import type { AttackChange } from "../detection/detector.ts";
import type { IpAddress } from "../net/address.ts";
import type { BanEngine } from "./ban-engine.ts";

export class AnnouncementTimer {
  readonly #bans: Pick<BanEngine, "active" | "routeState">;
  readonly #onAnnounced: (elapsedMs: number) => void;
  /** Monotonic ms of detection, by target, until the route is out or the attack is over. */
  readonly #detectedMs = new Map<IpAddress, number>();

  constructor(bans: Pick<BanEngine, "active" | "routeState">, onAnnounced: (elapsedMs: number) => void) {
    this.#bans = bans;
    this.#onAnnounced = onAnnounced;
  }

  /** To be told before the ban engine: a ban that was there before says nothing of how fast we are. */
  attacksChanged(changes: readonly AttackChange[], monotonicMs: number): void {
    for (const { kind, attack } of changes) {
      const { target } = attack;
      if (target === null) continue;
      if (kind === "ended") this.#detectedMs.delete(target);
      else if (kind === "started" && !this.#bans.active.has(target)) {
        this.#detectedMs.set(target, monotonicMs);
      }
    }
  }

  /** The announcer has news. */
  routesChanged(monotonicMs: number): void {
    for (const [target, detectedMs] of this.#detectedMs) {
      const ban = this.#bans.active.get(target);
      if (ban === undefined || this.#bans.routeState(ban)?.kind !== "announced") continue;
      this.#detectedMs.delete(target);
      this.#onAnnounced(monotonicMs - detectedMs);
    }
  }
}
