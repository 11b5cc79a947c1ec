/** Why a delivery failed, in words that hold no secret: what was thrown may name the URL, and so does not go any further. */

export interface FaultTraits {
  /** The receiver will never take this message. */
  readonly isFinal?: boolean;
  /** The receiver asked not to be called before. */
  readonly retryAfterMs?: number | null;
}

export class DeliveryFault extends Error {
  override readonly name = "DeliveryFault";
  readonly isFinal: boolean;
  readonly retryAfterMs: number;

  constructor(reason: string, { isFinal = false, retryAfterMs = null }: FaultTraits = {}) {
    super(reason);
    this.isFinal = isFinal;
    this.retryAfterMs = retryAfterMs ?? 0;
  }
}

/** Of whatever was thrown, the code alone: `ECONNREFUSED`, `EAUTH`. */
export function deliveryFault(cause: unknown): DeliveryFault {
  if (cause instanceof DeliveryFault) return cause;
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return new DeliveryFault(typeof code === "string" && /^[A-Za-z][A-Za-z0-9_]{1,48}$/.test(code) ? code : "failed");
}
