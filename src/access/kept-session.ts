/** A session of a browser as it is kept over a restart, with no secret, only their digests. */
import type { Claims } from "./claims.ts";

export interface KeptSession {
  readonly id: string;
  readonly claims: Claims;
  readonly issuer: string;
  readonly clientId: string;
  /** Wall clock, ms. */
  readonly createdAt: number;
  readonly seenAt: number;
  /** When this was written, by the wall clock, and how old the session was then, ms. */
  readonly keptAt: number;
  readonly ageMs: number;
  /** SHA-256 of secrets, hexadecimal. `next` was sent, and was not in use yet. */
  readonly current: string;
  readonly next: string | null;
  /** The one before, and for how long it still worked, ms. */
  readonly before: { readonly digest: string; readonly leftMs: number } | null;
}
