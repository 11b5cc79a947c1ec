/** A document that nodes poll for: its bytes, written once for all who poll, and the tag that is their content's hash. */
import { jsonBlobAnswer, notModifiedAnswer } from "./answer.ts";

export interface HeldDocument {
  /** With its quotes. */
  readonly etag: string;
  /** A Blob is sent to any number of callers without a copy for each. */
  readonly body: Blob;
}

export function heldDocument(value: unknown): HeldDocument {
  return heldJson(JSON.stringify(value));
}

export function heldJson(json: string): HeldDocument {
  const hash = new Bun.CryptoHasher("sha256").update(json).digest("base64url");
  return { etag: `"${hash}"`, body: new Blob([json]) };
}

export function documentAnswer({ etag, body }: HeldDocument): Response {
  return jsonBlobAnswer(body, { etag });
}

export function unchangedAnswer({ etag }: HeldDocument): Response {
  return notModifiedAnswer(etag);
}
