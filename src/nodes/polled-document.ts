/** A document that nodes poll: its bytes, generated once for all nodes, and an ETag that is the hash of its content. */
export interface PolledDocument {
  /** Including its quotes. */
  readonly etag: string;
  /** A Blob is sent to any number of clients without copying. */
  readonly body: Blob;
  /** Compressed with gzip (RFC 1952); null: too small to compress. */
  readonly gzipped: Blob | null;
}

/**
 * A document without a compressed form: for rule documents, which change all the time during an attack, and whose
 * readers do not request it.
 */
export function uncompressed(json: string): PolledDocument {
  return { etag: etagOf(json), body: new Blob([json]), gzipped: null };
}

export function etagOf(json: string): string {
  return `"${new Bun.CryptoHasher("sha256").update(json).digest("base64url")}"`;
}
