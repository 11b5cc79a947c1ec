/** Why a delivery failed, without secrets: the original error may contain the URL and is not passed on. */

interface FaultTraits {
  /** The receiver will never take this message. */
  readonly isFinal?: boolean;
  /** The pause that the receiver requested. */
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

/** Uses only the code of the error: `ECONNREFUSED`, `EAUTH`. */
export function deliveryFault(cause: unknown): DeliveryFault {
  if (cause instanceof DeliveryFault) return cause;
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return new DeliveryFault(typeof code === "string" && /^[A-Za-z][A-Za-z0-9_]{1,48}$/.test(code) ? code : "failed");
}
