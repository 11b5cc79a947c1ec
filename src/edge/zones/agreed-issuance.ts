/**
 * Slots and challenges as edge nodes ask for them: those of this service alone, or in a cluster those that its brains
 * have agreed on. The grants of `AcmeIssuance` follow the agreement.
 */
import { SLOT_RETRY_SECONDS_MAX } from "../../limits.ts";
import type { AcmeIssuance, ChallengeOrder, PublishAnswer, SlotAnswer } from "./acme-issuance.ts";
import type { SlotAgreement } from "./slot-agreement.ts";

type AgreedSlotAnswer = SlotAnswer | { readonly kind: "unavailable" };

export class AgreedIssuance {
  readonly #acme: AcmeIssuance;
  readonly #agreement: SlotAgreement | null;
  readonly #nowMs: () => number;

  /**
   * @param agreement null: this service gives slots by itself
   * @param nowMs wall clock
   */
  constructor(acme: AcmeIssuance, agreement: SlotAgreement | null, nowMs: () => number) {
    this.#acme = acme;
    this.#agreement = agreement;
    this.#nowMs = nowMs;
  }

  async requestSlot(node: string, zone: string): Promise<AgreedSlotAnswer> {
    if (this.#agreement === null || !this.#acme.isServed(node, zone)) {
      return this.#acme.requestSlot(node, zone, this.#nowMs());
    }
    const claim = await this.#agreement.take(node, zone);
    if (claim.kind === "unavailable") return claim;
    if (claim.kind === "held") {
      this.#acme.slotHeld(node, zone, claim.holder);
      return { kind: "held", holder: claim.holder, retryAfterSeconds: SLOT_RETRY_SECONDS_MAX };
    }
    return this.#acme.grantSlot(node, zone, this.#nowMs());
  }

  /** @param zone null: all slots of the node. */
  async releaseSlot(node: string, zone: string | null): Promise<void> {
    this.#acme.releaseSlot(node, zone);
    await this.#agreement?.release(node, zone);
  }

  /** The node may have its slot from another brain. */
  async publish(node: string, order: ChallengeOrder): Promise<PublishAnswer> {
    const answer = this.#acme.publish(node, order, this.#nowMs());
    const isUnknownHere = answer.kind === "refused" && answer.refusal === "no_slot";
    if (!isUnknownHere || this.#agreement === null) return answer;
    if (!(await this.#agreement.isHolder(node, order.zone))) return answer;
    this.#acme.grantSlot(node, order.zone, this.#nowMs());
    return this.#acme.publish(node, order, this.#nowMs());
  }
}
