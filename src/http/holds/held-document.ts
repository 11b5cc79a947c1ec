/** The answer to a poll for a document. */
import { etagOf, type PolledDocument } from "../../nodes/polled-document.ts";
import { jsonBlobAnswer, notModifiedAnswer } from "../server/answer.ts";
import { acceptedCodings } from "../server/coding.ts";

export type HeldDocument = PolledDocument;

/**
 * One tag for both codings, since it names the document: nodes report which one they have. This differs from RFC 9110,
 * 8.8.3, which requires different strong tags, but caches must not store these answers (`no-store`).
 */
const VARY = { vary: "accept-encoding" };

export function heldDocument(value: unknown): HeldDocument {
  return heldJson(JSON.stringify(value));
}

/**
 * Without gzip: for rule documents, which change all the time during an attack, and whose readers do not request it.
 */
export function heldJson(json: string): HeldDocument {
  return { etag: etagOf(json), body: new Blob([json]), gzipped: null };
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
