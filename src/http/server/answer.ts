/** Builds responses. Caches must not store data, and browsers must not guess content types. */

const COMMON = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
const JSON_HEADERS = { "content-type": "application/json", ...COMMON };
/** Made once, and copied for each answer in half of the time. */
const [JSON_HEAD, TEXT_HEAD] = [JSON_HEADERS, { "content-type": "text/plain; charset=utf-8", ...COMMON }].map(
  (headers) => new Headers(headers),
) as [Headers, Headers];

/** Characters from which an answer is worth compressing, and up to which its compression is short enough. */
const LARGE_MIN = 16_384;
const LARGE_MAX = 16_777_216;
const large = new WeakSet<Response>();

export function jsonAnswer(status: number, value: unknown): Response {
  const text = JSON.stringify(value);
  const answer = new Response(text, { status, headers: JSON_HEAD });
  if (text.length >= LARGE_MIN) large.add(answer);
  return answer;
}

/** Whether it is JSON that is worth compressing. */
export function isLarge(answer: Response): boolean {
  return large.has(answer);
}

/** For JSON that was serialized before. */
export function jsonBlobAnswer(blob: Blob): Response {
  const answer = new Response(blob, { status: 200, headers: JSON_HEADERS });
  if (blob.size >= LARGE_MIN && blob.size <= LARGE_MAX) large.add(answer);
  return answer;
}

/** The same with headers of its own, which say how it is coded. */
export function codedBlobAnswer(blob: Blob, headers: Readonly<Record<string, string>>): Response {
  return new Response(blob, { status: 200, headers: { ...JSON_HEADERS, ...headers } });
}

export function notModifiedAnswer(etag: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 304, headers: { etag, ...COMMON, ...headers } });
}

/** Success without a body. */
export function emptyAnswer(): Response {
  return new Response(null, { status: 204, headers: COMMON });
}

/** null: only the head is sent. */
export function eventStreamAnswer(events: ReadableStream<Uint8Array<ArrayBuffer>> | null): Response {
  // A buffering proxy would hold the events back.
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no", ...COMMON };
  return new Response(events, { status: 200, headers });
}

/** A static file, which caches may store as its headers say. null: the caller has it already. */
export function fileAnswer(bytes: Uint8Array<ArrayBuffer> | null, headers: Readonly<Record<string, string>>): Response {
  return new Response(bytes, { status: bytes === null ? 304 : 200, headers: { ...COMMON, ...headers } });
}

/** A file that a browser stores, made for this request. @param name ASCII, without quotes */
export function downloadAnswer(
  bytes: Uint8Array<ArrayBuffer>,
  { type, name }: { readonly type: string; readonly name: string },
): Response {
  const headers = { "content-type": type, "content-disposition": `attachment; filename="${name}"`, ...COMMON };
  return new Response(bytes, { status: 200, headers });
}

/** For a caller that has left: no one reads the answer, but the request needs a status for the metrics. */
export function goneAnswer(): Response {
  return new Response(null, { status: 499, headers: COMMON });
}

/** For a text that is sent to many. */
export function blobAnswer(blob: Blob, contentType: string): Response {
  return new Response(blob, { status: 200, headers: { "content-type": contentType, ...COMMON } });
}

export function textAnswer(status: number, text: string): Response {
  return new Response(text, { status, headers: TEXT_HEAD });
}

/** A page for people that needs nothing else. @param policy its Content-Security-Policy */
export function pageAnswer(text: string, policy: string): Response {
  const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": policy, ...COMMON };
  return new Response(text, { status: 200, headers });
}
