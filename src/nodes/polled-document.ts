/** A document that nodes poll for: its bytes, written once for all who poll, and the tag that is their content's hash. */
export interface PolledDocument {
  /** With its quotes. */
  readonly etag: string;
  /** A Blob is sent to any number of callers without a copy for each. */
  readonly body: Blob;
  /** The same in gzip (RFC 1952); null: it is not worth that. */
  readonly gzipped: Blob | null;
}

export function etagOf(json: string): string {
  return `"${new Bun.CryptoHasher("sha256").update(json).digest("base64url")}"`;
}
