/**
 * One POST to a receiver. Redirects are not followed, since they could send secrets to another host; only the head of
 * the answer is read.
 */
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import type { LookupFunction } from "node:net";
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";
import { NOT_REACHED, type Reach, type Reached } from "./reach.ts";

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

/** Errors of connections that nothing took. */
const UNREACHED: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "ETIMEDOUT",
]);
/** RFC 9110, section 5.6.7: the form that is sent. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
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
    const { headers: answered } = response;
    if (!response.ok) throw refusal(response.status, retryAfterMs(answered.get("retry-after"), answered.get("date")));
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
  return new Promise<void>((resolve, reject) => {
    if (signal.aborted) throw new DeliveryFault("given up");
    const request = (isTls ? requestTls : requestPlain)({
      method: "POST",
      hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, "user-agent": "Floodwall", "content-length": Buffer.byteLength(body) },
      agent: false,
      lookup,
      ...(authority === null ? {} : { ca: authority }),
    });
    // Whatever the receiver does, its connection ends with the attempt.
    const end = (settle: () => void) => {
      signal.removeEventListener("abort", abort);
      request.destroy();
      settle();
    };
    const abort = () => end(() => reject(new DeliveryFault("given up")));
    signal.addEventListener("abort", abort);
    // Stays for errors after the end.
    request.on("error", (cause) => end(() => reject(isUnreached(cause) ? unreached() : deliveryFault(cause))));
    request.once("response", ({ statusCode: status = 0, headers: answered }) => {
      const isTaken = status >= 200 && status < 300;
      end(() => (isTaken ? resolve() : reject(refusal(status, retryAfterMs(answered["retry-after"], answered.date)))));
    });
    // Neither an answer nor an error comes after it, and the connection would stay with this process.
    request.once("upgrade", ({ statusCode = 101 }) => end(() => reject(refusal(statusCode, null))));
    request.end(body);
  });
}

/** As an address that may not be reached: the difference would show a tenant which addresses are of this machine. */
function unreached(): DeliveryFault {
  return new DeliveryFault(NOT_REACHED);
}

function isUnreached(cause: Error): boolean {
  return "code" in cause && UNREACHED.has(String(cause.code));
}

function refusal(status: number, pauseMs: number | null): DeliveryFault {
  const isRedirect = status >= 300 && status < 400;
  const reason = isRedirect ? `answered ${status}, and redirects are not followed` : `answered ${status}`;
  return new DeliveryFault(reason, {
    isFinal: FINAL_STATUSES.has(status),
    retryAfterMs: pauseMs,
  });
}

/** RFC 9110, section 10.2.3: seconds, or a date of the receiver's clock, which the answer has in `Date`. null: neither. */
function retryAfterMs(header: string | null = null, date: string | null = null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const [untilMs, nowMs] = [header, date ?? ""].map((text) => (HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN));
  const pauseMs = (untilMs ?? Number.NaN) - (nowMs ?? Number.NaN);
  return pauseMs > 0 ? pauseMs : null;
}
