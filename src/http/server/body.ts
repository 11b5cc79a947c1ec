/** Reads a request's body: bounded in bytes before anything is stored and in depth, strict UTF-8, then JSON. */
import { messageOf } from "../../system/error-message.ts";
import type { Refusal } from "../refusal.ts";

/**
 * Levels of nesting in a request body. Reports keep unknown keys; without a bound they could not be serialized again.
 */
export const BODY_DEPTH_MAX = 32;

type Body = { readonly kind: "bytes"; readonly bytes: Uint8Array };
type Json = { readonly kind: "json"; readonly value: unknown; readonly text: string };

/**
 * Parameters are allowed: `application/json; charset=utf-8`. Two headers arrive joined by a comma, which is refused.
 */
export function isJson(contentType: string | null): boolean {
  if (contentType === null || contentType.includes(",")) return false;
  const [mediaType = ""] = contentType.split(";");
  return mediaType.trim().toLowerCase() === "application/json";
}

/** The declared length is checked first; a body without one is counted while it arrives and cut off at the limit. */
export async function readBody(request: Request, limitBytes: number): Promise<Body | Refusal> {
  const tooLarge = { kind: "body_too_large", limitBytes } as const;
  if (Number(request.headers.get("content-length") ?? 0) > limitBytes) return tooLarge;
  if (request.body === null) return { kind: "bytes", bytes: new Uint8Array() };
  try {
    // The server never delivers more than the declared length.
    const isBounded = request.headers.has("content-length") && !request.headers.has("transfer-encoding");
    const bytes = isBounded ? await request.bytes() : await readChunks(request.body, limitBytes);
    return bytes === null || bytes.length > limitBytes ? tooLarge : { kind: "bytes", bytes };
  } catch {
    // The caller has left; no one will read the answer.
    return { kind: "body_cut_short" };
  }
}

/** null: the body is too large. */
async function readChunks(body: ReadableStream<Uint8Array>, limitBytes: number): Promise<Uint8Array | null> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks, size);
    size += value.length;
    if (size > limitBytes) {
      await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** If an object has equal keys, the last one is used, as in JSON.parse. */
export function parseJson(bytes: Uint8Array): Json | Refusal {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { kind: "invalid_body", detail: "not UTF-8" };
  }
  if (text.trim() === "") return { kind: "invalid_body", detail: "empty" };
  if (isNestedDeeper(bytes, BODY_DEPTH_MAX)) {
    return { kind: "invalid_body", detail: `nested deeper than ${BODY_DEPTH_MAX} levels` };
  }
  try {
    return { kind: "json", value: JSON.parse(text) as unknown, text };
  } catch (cause) {
    return { kind: "invalid_body", detail: messageOf(cause).replace("JSON Parse error: ", "") };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The bits in which `[` and `{`, and `]` and `}` differ. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/** Works on UTF-8 that may be JSON; ignores brackets in strings. */
function isNestedDeeper(bytes: Uint8Array, levels: number): boolean {
  let [depth, isInString] = [0, false];
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (isInString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if ((byte | BRACE_BIT) === CLOSING) depth--;
    else if ((byte | BRACE_BIT) === OPENING && ++depth > levels) return true;
  }
  return false;
}
