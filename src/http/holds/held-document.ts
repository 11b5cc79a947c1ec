/** A document that nodes poll for: its bytes, written once for all who poll, and the tag that is their content's hash. */
import { jsonBlobAnswer, notModifiedAnswer } from "../server/answer.ts";
import { acceptedCodings } from "../server/coding.ts";

export interface HeldDocument {
  /** With its quotes. */
  readonly etag: string;
  /** A Blob is sent to any number of callers without a copy for each. */
  readonly body: Blob;
  /** The same in gzip; null: it is not worth that. */
  readonly gzipped: Blob | null;
}

/**
 * One tag for both codings, since it names the document: nodes report which one they have. That departs from RFC 9110,
 * 8.8.3, which wants a strong tag for each; a cache that could mix them up keeps nothing of these answers (`no-store`).
 */
const VARY = { vary: "accept-encoding" };

export function heldDocument(value: unknown): HeldDocument {
  return heldJson(JSON.stringify(value));
}

/** Without gzip: what is told so are rules, which change all the time during an attack, to nodes that do not ask for it. */
export function heldJson(json: string): HeldDocument {
  const hash = new Bun.CryptoHasher("sha256").update(json).digest("base64url");
  return { etag: `"${hash}"`, body: new Blob([json]), gzipped: null };
}

export function documentAnswer(document: HeldDocument, { headers }: Request): Response {
  const { etag } = document;
  const gzipped = acceptedCodings(headers.get("accept-encoding")).has("gzip") ? document.gzipped : null;
  return gzipped === null
    ? jsonBlobAnswer(document.body, { etag, ...VARY })
    : jsonBlobAnswer(gzipped, { etag, ...VARY, "content-encoding": "gzip" });
}

export function unchangedAnswer({ etag }: HeldDocument): Response {
  return notModifiedAnswer(etag, VARY);
}
