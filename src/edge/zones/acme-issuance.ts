/**
 * Decides which node may order a certificate for a zone, and keeps the HTTP-01 challenges (RFC 8555, 8.3) that all
 * nodes of a zone answer (docs/interface.md#acme-command). Kept in memory only: after a restart, nodes request their
 * slots again. Times are wall clock, ms.
 */
import { CHALLENGE_LIFE_MS, LIVE_CHALLENGES_MAX, SLOT_LEASE_MS, SLOT_RETRY_SECONDS_MAX } from "../../limits.ts";
import { endOf } from "../../system/expiry.ts";
import type { AcmeChallenge, IssuanceGrant } from "./zone-documents.ts";

interface AcmeOptions {
  /** Whether both exist and the node serves the zone. */
  readonly serves: (node: string, zone: string) => boolean;
  /** A slot was granted or returned, or a challenge published. */
  readonly onChange: () => void;
  readonly observer: AcmeObserver;
}

/** Called for each call, by its result. */
export interface AcmeObserver {
  slotGranted(node: string, zone: string): void;
  slotHeld(node: string, zone: string, holder: string): void;
  /** `zone`: null: all slots of the node. */
  slotReleased(node: string, zone: string | null): void;
  published(challenge: PublishedChallenge): void;
  refused(node: string, order: ChallengeOrder, refusal: ChallengeRefusal): void;
  unknownZone(node: string, zone: string, order: ChallengeOrder | null): void;
}

export interface ChallengeOrder {
  readonly zone: string;
  readonly token: string;
  readonly keyAuthorization: string;
}

export interface PublishedChallenge extends AcmeChallenge {
  readonly node: string;
}

export type ChallengeRefusal = "no_slot" | "other_key_authorization" | "too_many_challenges";

export type SlotAnswer =
  | { readonly kind: "granted"; readonly expiresAtMs: number }
  | { readonly kind: "held"; readonly holder: string; readonly retryAfterSeconds: number }
  | { readonly kind: "unknown_zone" };

export type PublishAnswer =
  | { readonly kind: "published" }
  | { readonly kind: "refused"; readonly refusal: ChallengeRefusal }
  | { readonly kind: "unknown_zone" };

export class AcmeIssuance {
  readonly #options: AcmeOptions;
  /** By zone, at most one each, so bounded by the number of zones. */
  readonly #grants = new Map<string, IssuanceGrant>();
  /** By zone and token. */
  readonly #challenges = new Map<string, PublishedChallenge>();

  constructor(options: AcmeOptions) {
    this.#options = options;
  }

  /** The current grants, and those that expired since settle(). */
  get grants(): readonly IssuanceGrant[] {
    return [...this.#grants.values()];
  }

  get challenges(): readonly PublishedChallenge[] {
    return [...this.#challenges.values()];
  }

  /** The holder's lease is renewed. */
  requestSlot(node: string, zone: string, nowMs: number): SlotAnswer {
    const grant = this.isServed(node, zone) ? this.#grants.get(zone) : undefined;
    if (grant !== undefined && grant.node !== node && grant.expiresAtMs > nowMs) {
      this.slotHeld(node, zone, grant.node);
      const leftSeconds = Math.ceil((grant.expiresAtMs - nowMs) / 1000);
      return {
        kind: "held",
        holder: grant.node,
        // The slot may be returned long before the lease expires.
        retryAfterSeconds: Math.min(leftSeconds, SLOT_RETRY_SECONDS_MAX),
      };
    }
    return this.grantSlot(node, zone, nowMs);
  }

  isServed(node: string, zone: string): boolean {
    return this.#options.serves(node, zone);
  }

  /** The slot of the zone is held, here or at another brain of the cluster. */
  slotHeld(node: string, zone: string, holder: string): void {
    this.#options.observer.slotHeld(node, zone, holder);
  }

  /** Takes it from another node, whose time is over or which gave it back at another brain. */
  grantSlot(node: string, zone: string, nowMs: number): SlotAnswer {
    const { onChange, observer } = this.#options;
    if (!this.isServed(node, zone)) {
      observer.unknownZone(node, zone, null);
      return { kind: "unknown_zone" };
    }
    const expiresAtMs = nowMs + SLOT_LEASE_MS;
    this.#grants.set(zone, { zone, node, expiresAtMs });
    observer.slotGranted(node, zone);
    onChange();
    return { kind: "granted", expiresAtMs };
  }

  /**
   * Releases only slots of this node.
   * @param zone null: all slots of the node.
   */
  releaseSlot(node: string, zone: string | null): void {
    const { onChange, observer } = this.#options;
    const own = [...this.#grants.values()].filter(
      (grant) => grant.node === node && (zone === null || grant.zone === zone),
    );
    for (const grant of own) this.#grants.delete(grant.zone);
    observer.slotReleased(node, zone);
    if (own.length > 0) onChange();
  }

  /** Publishing the same challenge again extends its time. */
  publish(node: string, order: ChallengeOrder, nowMs: number): PublishAnswer {
    const { serves, onChange, observer } = this.#options;
    if (!serves(node, order.zone)) {
      observer.unknownZone(node, order.zone, order);
      return { kind: "unknown_zone" };
    }
    const refusal = this.#refusalOf(node, order, nowMs);
    if (refusal !== null) {
      observer.refused(node, order, refusal);
      return { kind: "refused", refusal };
    }
    const challenge = { ...order, node, expiresAtMs: nowMs + CHALLENGE_LIFE_MS };
    this.#challenges.set(keyOf(order), challenge);
    observer.published(challenge);
    onChange();
    return { kind: "published" };
  }

  /** A challenge that was published at another brain: its nodes answer it here too. */
  adopt(challenge: PublishedChallenge, nowMs: number): void {
    const { serves, onChange } = this.#options;
    const { node, zone } = challenge;
    const key = keyOf(challenge);
    if (!serves(node, zone) || challenge.expiresAtMs <= nowMs) return;
    const others = this.challenges.filter((known) => known.node === node && keyOf(known) !== key);
    if (others.length >= LIVE_CHALLENGES_MAX) return;
    const expiresAtMs = Math.min(challenge.expiresAtMs, nowMs + CHALLENGE_LIFE_MS);
    this.#challenges.set(key, { ...challenge, expiresAtMs });
    onChange();
  }

  /** Removes what has expired. After the clock was set back, nothing lasts longer than its original duration. */
  settle(nowMs: number): void {
    settleAll(this.#grants, nowMs, SLOT_LEASE_MS);
    settleAll(this.#challenges, nowMs, CHALLENGE_LIFE_MS);
  }

  /**
   * Nodes, zones or placement may have changed: a node loses slots and challenges of zones that it does not serve any
   * more.
   */
  reconfigure(): void {
    const { serves } = this.#options;
    for (const [key, { node, zone }] of this.#grants) if (!serves(node, zone)) this.#grants.delete(key);
    for (const [key, { node, zone }] of this.#challenges) if (!serves(node, zone)) this.#challenges.delete(key);
  }

  #refusalOf(node: string, order: ChallengeOrder, nowMs: number): ChallengeRefusal | null {
    const grant = this.#grants.get(order.zone);
    if (grant?.node !== node || grant.expiresAtMs <= nowMs) return "no_slot";
    const live = this.challenges.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
    const same = live.find((challenge) => keyOf(challenge) === keyOf(order));
    if (same !== undefined && same.keyAuthorization !== order.keyAuthorization) return "other_key_authorization";
    const others = live.filter((challenge) => challenge.node === node && challenge !== same);
    return others.length >= LIVE_CHALLENGES_MAX ? "too_many_challenges" : null;
  }
}

/** Neither contains a space. */
function keyOf({ zone, token }: Pick<AcmeChallenge, "zone" | "token">): string {
  return `${zone} ${token}`;
}

function settleAll<Entry extends { readonly expiresAtMs: number }>(
  entries: Map<string, Entry>,
  nowMs: number,
  lifeMs: number,
): void {
  for (const [key, entry] of entries) {
    const expiresAtMs = endOf(entry.expiresAtMs, lifeMs, nowMs);
    if (expiresAtMs === null) entries.delete(key);
    else if (expiresAtMs !== entry.expiresAtMs) entries.set(key, { ...entry, expiresAtMs });
  }
}
