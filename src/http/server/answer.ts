/** The forms of an answer. No data may be kept by a cache, nothing be taken by a browser for another type than it says. */

const COMMON = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
const JSON_HEADERS = { "content-type": "application/json", ...COMMON };

export function jsonAnswer(status: number, value: unknown): Response {
  return new Response(JSON.stringify(value), { status, headers: JSON_HEADERS });
}

/** For an answer that was written before. */
export function jsonBlobAnswer(blob: Blob, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(blob, { status: 200, headers: { ...JSON_HEADERS, ...headers } });
}

export function notModifiedAnswer(etag: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 304, headers: { etag, ...COMMON, ...headers } });
}

/** Done, and there is nothing to say. */
export function emptyAnswer(): Response {
  return new Response(null, { status: 204, headers: COMMON });
}

/** null: the head alone is wanted. */
export function eventStreamAnswer(events: ReadableStream<Uint8Array<ArrayBuffer>> | null): Response {
  // A proxy that collects answers before it passes them on would keep the events.
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no", ...COMMON };
  return new Response(events, { status: 200, headers });
}

/** Of a static file, which a cache may keep as its headers say. null: the caller has it. */
export function fileAnswer(bytes: Uint8Array<ArrayBuffer> | null, headers: Readonly<Record<string, string>>): Response {
  return new Response(bytes, { status: bytes === null ? 304 : 200, headers: { ...COMMON, ...headers } });
}

/** To a caller who has left: nobody reads it, but the request has an end and a status to be counted by. */
export function goneAnswer(): Response {
  return new Response(null, { status: 499, headers: COMMON });
}

export function textAnswer(status: number, text: string, contentType = "text/plain; charset=utf-8"): Response {
  return new Response(text, { status, headers: { "content-type": contentType, ...COMMON } });
}
