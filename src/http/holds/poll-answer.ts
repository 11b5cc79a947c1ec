/** The answer to a poll for a document. */
import type { PolledDocument } from "../../nodes/polled-document.ts";
import { codedBlobAnswer, notModifiedAnswer } from "../server/answer.ts";
import { acceptedCodings } from "../server/coding.ts";

/**
 * One tag for both codings, since it names the document: nodes report which one they have. This differs from RFC 9110,
 * 8.8.3, which requires different strong tags, but caches must not store these answers (`no-store`).
 */
const VARY = { vary: "accept-encoding" };

export function documentAnswer(document: PolledDocument, { headers }: Request): Response {
  const { etag } = document;
  const gzipped = acceptedCodings(headers.get("accept-encoding")).has("gzip") ? document.gzipped : null;
  return gzipped === null
    ? codedBlobAnswer(document.body, { etag, ...VARY })
    : codedBlobAnswer(gzipped, { etag, ...VARY, "content-encoding": "gzip" });
}

export function unchangedAnswer({ etag }: PolledDocument): Response {
  return notModifiedAnswer(etag, VARY);
}
