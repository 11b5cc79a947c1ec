/** A document that nodes poll for: its bytes, written once for all who poll, and the tag that is their content's hash. */
import { contentTag, packed } from "../nodes/node-document.ts";
import { jsonBlobAnswer, notModifiedAnswer } from "./answer.ts";
import { acceptedCodings } from "./coding.ts";

export interface HeldDocument {
  /** With its quotes. */
  readonly etag: string;
  /** A Blob is sent to any number of callers without a copy for each. */
  readonly body: Blob;
  /** The same in gzip, made when it is asked for. */
  readonly packed: Blob;
}

/** What is shorter fits into a packet or two as it is. */
const PACKED_BYTES_LEAST = 2048;
/** The tag names the document and not its coding, since nodes report which document they have. No cache lies between. */
const VARY = { vary: "accept-encoding" };

export function heldDocument(value: unknown): HeldDocument {
  return heldJson(JSON.stringify(value));
}

export function heldJson(json: string): HeldDocument {
  const body = new Blob([json]);
  let packedBody: Blob | null = null;
  return {
    etag: contentTag(json),
    body,
    get packed() {
      packedBody ??= packed(json);
      return packedBody;
    },
  };
}

export function documentAnswer(document: HeldDocument, { headers }: Request): Response {
  const { etag, body } = document;
  const isPacked = body.size >= PACKED_BYTES_LEAST && acceptedCodings(headers.get("accept-encoding")).has("gzip");
  return isPacked
    ? jsonBlobAnswer(document.packed, { etag, ...VARY, "content-encoding": "gzip" })
    : jsonBlobAnswer(body, { etag, ...VARY });
}

export function unchangedAnswer({ etag }: HeldDocument): Response {
  return notModifiedAnswer(etag, VARY);
}
