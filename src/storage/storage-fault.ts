/** The history store failed: the operation and the cause. The API answers 502. */

/**
 * `unavailable`: the store was not reached or has no space, so the same may work later. `refused`: the store rejected
 * the content.
 */
export type StorageFaultKind = "unavailable" | "refused";

export class StorageFault extends Error {
  override readonly name = "StorageFault";
  readonly operation: string;
  readonly kind: StorageFaultKind;

  constructor(operation: string, kind: StorageFaultKind, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.operation = operation;
    this.kind = kind;
  }
}
