/**
 * One POST to a receiver. Redirects are not followed, since they could send secrets to another host; only the head of
 * the answer is read.
 */
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** Additional certificate authority, PEM; null: only the system's. */
  readonly authority: string | null;
}

/** Statuses that a later attempt with the same body would not change. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);

/** Resolves when the receiver has accepted the body; rejects with a DeliveryFault. */
export async function post({ url, headers, body, signal, authority }: Post): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "user-agent": "Floodwall" },
    body,
    signal,
    redirect: "manual",
    keepalive: false,
    decompress: false,
    ...(authority === null ? {} : { tls: { ca: authority } }),
  }).catch((cause: unknown) => {
    throw deliveryFault(cause);
  });
  try {
    if (!response.ok) throw refusal(response);
  } finally {
    await response.body?.cancel().catch(() => {});
  }
}

function refusal({ status, headers }: Response): DeliveryFault {
  const isRedirect = status >= 300 && status < 400;
  return new DeliveryFault(`answered ${status}${isRedirect ? ", and redirects are not followed" : ""}`, {
    isFinal: FINAL_STATUSES.has(status),
    retryAfterMs: retryAfterMs(headers.get("retry-after")),
  });
}

/** Seconds; the form with a date would depend on the receiver's clock. */
function retryAfterMs(header: string | null): number | null {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : null;
}
