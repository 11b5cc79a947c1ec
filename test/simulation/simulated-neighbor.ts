/**
 * A neighbor of the simulated speaker: its session, and the routes that it holds. It is sent changes as by GoBGP 3, which
 * begins as a restarting speaker (RFC 4724, 4.1).
 */
import type { RouteFamily } from "../../src/bgp/route-family.ts";
import { familyOfKey, type RouteKey } from "../../src/bgp/route-path.ts";
import { toPeer } from "../../src/bgp/speaker/neighbor.ts";
import type { SpeakerPeer } from "../../src/bgp/speaker/speaker-client.ts";
import { address } from "../fixtures/host-rows.ts";

export interface NeighborTraits {
  readonly address: string;
  readonly asn: number;
  readonly families: readonly RouteFamily[];
  readonly hasGracefulRestart: boolean;
}

/** Attributes by key, as the speaker selects them. */
export type Routes = ReadonlyMap<RouteKey, string>;

const NO_ROUTES: Routes = new Map();

export class SimulatedNeighbor {
  readonly #traits: NeighborTraits;
  readonly #held = new Map<RouteKey, string>();
  #isUp = false;
  /** Wall clock. */
  #changedAtMs = 0;
  /** null: it gets changes. */
  #defersUntilMs: number | null = null;

  constructor(traits: NeighborTraits) {
    this.#traits = traits;
  }

  get address(): string {
    return this.#traits.address;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get isDeferring(): boolean {
    return this.#defersUntilMs !== null;
  }

  get held(): Routes {
    return this.#isUp ? this.#held : NO_ROUTES;
  }

  takes(key: RouteKey): boolean {
    return this.#traits.families.includes(familyOfKey(key));
  }

  /** A session begins. @param defersUntilMs until then it gets no changes; null: it gets all routes now. */
  begin({ wallMs, defersUntilMs, routes }: { wallMs: number; defersUntilMs: number | null; routes: Routes }): void {
    this.#held.clear();
    this.#isUp = true;
    this.#changedAtMs = wallMs;
    this.#defersUntilMs = defersUntilMs;
    if (defersUntilMs === null) this.resend(routes);
  }

  end(wallMs: number): void {
    this.#isUp = false;
    this.#changedAtMs = wallMs;
    this.#defersUntilMs = null;
  }

  /** Returns whether the deferral has ended by now. GoBGP 3 forgets who has no graceful restart. */
  endDeferral(nowMs: number, routes: Routes): boolean {
    if (this.#defersUntilMs === null || nowMs < this.#defersUntilMs) return false;
    this.#defersUntilMs = null;
    if (this.#traits.hasGracefulRestart) this.resend(routes);
    return true;
  }

  /** A soft reset: all routes that there are, and no withdrawals. */
  resend(routes: Routes): void {
    if (!this.#isUp) return;
    for (const [key, attributes] of routes) if (this.takes(key)) this.#held.set(key, attributes);
  }

  /** One route changes. @param attributes undefined: it is gone. */
  send(key: RouteKey, attributes: string | undefined): void {
    if (!this.#isUp || this.isDeferring) return;
    if (attributes === undefined) this.#held.delete(key);
    else if (this.takes(key)) this.#held.set(key, attributes);
  }

  toPeer(): SpeakerPeer {
    const { address: text, asn, families } = this.#traits;
    const configured = { address: address(text), remoteAsn: asn, port: 179, passwordEnv: null, multihopTtl: 0 };
    // GoBGP has whole seconds.
    const sinceMs = Math.floor(this.#changedAtMs / 1000) * 1000;
    return {
      ...toPeer(configured, null, asn),
      isOverLimit: false,
      isDeferring: this.isDeferring,
      state: this.#isUp ? "established" : "active",
      upSinceMs: this.#isUp ? sinceMs : null,
      downSinceMs: this.#isUp ? null : sinceMs,
      remoteFamilies: families,
    };
  }
}
