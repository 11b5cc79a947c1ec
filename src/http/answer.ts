/** The forms of an answer. Nothing here may be kept by a cache or taken by a browser for another type than it says. */

const COMMON = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
const JSON_HEADERS = { "content-type": "application/json", ...COMMON };

export function jsonAnswer(status: number, value: unknown): Response {
  return new Response(JSON.stringify(value), { status, headers: JSON_HEADERS });
}

/** For an answer that was written before. */
export function jsonBlobAnswer(blob: Blob): Response {
  return new Response(blob, { status: 200, headers: JSON_HEADERS });
}

export function textAnswer(status: number, text: string, contentType = "text/plain; charset=utf-8"): Response {
  return new Response(text, { status, headers: { "content-type": contentType, ...COMMON } });
}
