/** Reads a request's body: bounded in bytes before anything is kept, UTF-8 without repair, then JSON. */
import type { Refusal } from "./refusal.ts";

export type Body = { readonly kind: "bytes"; readonly bytes: Uint8Array };
export type Json = { readonly kind: "json"; readonly value: unknown };

/** Parameters are allowed: `application/json; charset=utf-8`. Two headers arrive joined by a comma and are none. */
export function isJson(contentType: string | null): boolean {
  if (contentType === null || contentType.includes(",")) return false;
  const [mediaType = ""] = contentType.split(";");
  return mediaType.trim().toLowerCase() === "application/json";
}

/** The declared length is judged first; a body without one is counted as it comes and cut off at the limit. */
export async function readBody(request: Request, limitBytes: number): Promise<Body | Refusal> {
  const tooLarge = { kind: "body_too_large", limitBytes } as const;
  if (Number(request.headers.get("content-length") ?? 0) > limitBytes) return tooLarge;
  if (request.body === null) return { kind: "bytes", bytes: new Uint8Array() };
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { kind: "bytes", bytes: Buffer.concat(chunks, size) };
      size += value.length;
      if (size > limitBytes) {
        await reader.cancel();
        return tooLarge;
      }
      chunks.push(value);
    }
  } catch {
    // The caller went away; nobody will read the answer.
    return { kind: "body_cut_short" };
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Of equal keys in one object the last counts, as JSON.parse has it. */
export function parseJson(bytes: Uint8Array): Json | Refusal {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { kind: "invalid_body", detail: "not UTF-8" };
  }
  if (text.trim() === "") return { kind: "invalid_body", detail: "empty" };
  try {
    return { kind: "json", value: JSON.parse(text) as unknown };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return { kind: "invalid_body", detail: message.replace("JSON Parse error: ", "") };
  }
}
