/**
 * One POST to a receiver. Redirects are not followed, since they could send secrets to another host; only the head of
 * the answer is read.
 */
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import type { LookupFunction } from "node:net";
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";
import type { Reach, Reached } from "./reach.ts";

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** Additional certificate authority, PEM; null: only the system's. */
  readonly authority: string | null;
  /** Which addresses may be reached; null: each. */
  readonly reach: Reach | null;
}

/** Statuses that a later attempt with the same body would not change. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);

/** Resolves when the receiver has accepted the body; rejects with a DeliveryFault. */
export async function post(call: Post): Promise<void> {
  const { url, headers, body, signal, authority, reach } = call;
  if (reach !== null) return postTo(await reach(url.hostname), call);
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
    if (!response.ok) throw refusal(response.status, response.headers.get("retry-after"));
  } finally {
    await response.body?.cancel().catch(() => {});
  }
}

/** The connection goes to one of the addresses, whatever the name resolves to by now; its certificate is the name's. */
function postTo(addresses: readonly Reached[], { url, headers, body, signal, authority }: Post): Promise<void> {
  const lookup: LookupFunction = (_, { all }, found) => {
    if (all === true) found(null, [...addresses]);
    else found(null, addresses[0]?.address ?? "", addresses[0]?.family);
  };
  const isTls = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const request = (isTls ? requestTls : requestPlain)({
      method: "POST",
      hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, "user-agent": "Floodwall", "content-length": Buffer.byteLength(body) },
      agent: false,
      ...{ signal, lookup },
      ...(authority === null ? {} : { ca: authority }),
    });
    request.once("error", (cause) => reject(deliveryFault(cause)));
    request.once("response", (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      response.destroy();
      if (status >= 200 && status < 300) resolve();
      else reject(refusal(status, answered["retry-after"] ?? null));
    });
    request.end(body);
  });
}

function refusal(status: number, retryAfter: string | null): DeliveryFault {
  const isRedirect = status >= 300 && status < 400;
  return new DeliveryFault(`answered ${status}${isRedirect ? ", and redirects are not followed" : ""}`, {
    isFinal: FINAL_STATUSES.has(status),
    retryAfterMs: retryAfterMs(retryAfter),
  });
}

/** Seconds; the form with a date would depend on the receiver's clock. */
function retryAfterMs(header: string | null): number | null {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : null;
}
