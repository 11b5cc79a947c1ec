/** What every document that nodes poll for has beside its text: a tag by its content, and a packed form. */

/** Of 1 to 9: a megabyte takes 4 ms and comes down to a seventh; higher levels take twice as long for a tenth less. */
const LEVEL = 2;

/** The hash of the content, with the quotes of an ETag. */
export function contentTag(json: string): string {
  return `"${new Bun.CryptoHasher("sha256").update(json).digest("base64url")}"`;
}

/** In gzip (RFC 1952). */
export function packed(json: string): Blob {
  return new Blob([Bun.gzipSync(json, { level: LEVEL })]);
}
