/** A document that nodes poll: its bytes, generated once for all nodes, and an ETag that is the hash of its content. */
export interface PolledDocument {
  /** Including its quotes. */
  readonly etag: string;
  /** A Blob is sent to any number of clients without copying. */
  readonly body: Blob;
  /** Compressed with gzip (RFC 1952); null: too small to compress. */
  readonly gzipped: Blob | null;
}

export function etagOf(json: string): string {
  return `"${new Bun.CryptoHasher("sha256").update(json).digest("base64url")}"`;
}
