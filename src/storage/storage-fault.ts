/** The history store failed a caller: what was tried and why it did not work. The API answers 502. */

/** `unavailable`: the store was not reached or has no room, the same may work later. `refused`: it took offence at it. */
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
