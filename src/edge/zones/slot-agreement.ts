/** The agreement of brains before an edge node may order a certificate: one slot for each zone. */

export type SlotClaim =
  | { readonly kind: "taken" }
  | { readonly kind: "held"; readonly holder: string }
  /** The keeper of the slots cannot be reached: certificates can wait. */
  | { readonly kind: "unavailable" };

export interface SlotAgreement {
  /** The zone's slot for the node, or renewed if it has it. Never rejects. */
  take(node: string, zone: string): Promise<SlotClaim>;
  /** Whether the node has the zone's slot, taken at any brain; false also if that cannot be known. Never rejects. */
  isHolder(node: string, zone: string): Promise<boolean>;
  /** @param zone null: all slots of the node. Never rejects: a slot that is not returned ends by itself. */
  release(node: string, zone: string | null): Promise<void>;
}
