/**
 * The record that a browser keeps while its user is at the identity provider, sealed so that only this process can read
 * and make it. The service keeps nothing of an attempt: strangers can begin as many as they like.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";

export interface SignInAttempt {
  /** OpenID Connect Core 1.0, section 3.1.2.1; the verifier of RFC 7636. */
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The place in the dashboard to return to. */
  readonly place: string;
  /** To whom the browser was led: an answer counts for the same alone. */
  readonly issuer: string;
  readonly clientId: string;
  /** Id of the session that the browser had; null: none. The new one takes its place. */
  readonly replaces: string | null;
  /** Monotonic clock, ms. */
  readonly expiresAt: number;
}

const ALGORITHM = "aes-256-gcm";
const [KEY_BYTES, IV_BYTES, TAG_BYTES] = [32, 12, 16];

export class AttemptSeal {
  readonly #key: Uint8Array;
  readonly #randomBytes: (count: number) => Uint8Array;

  constructor(randomBytes: (count: number) => Uint8Array) {
    this.#key = randomBytes(KEY_BYTES);
    this.#randomBytes = randomBytes;
  }

  /** As base64url. */
  seal(attempt: SignInAttempt): string {
    const iv = this.#randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv);
    const sealed = [cipher.update(JSON.stringify(attempt), "utf8"), cipher.final()];
    return Buffer.concat([iv, ...sealed, cipher.getAuthTag()]).toString("base64url");
  }

  /** null: this process did not make it. */
  open(text: string): SignInAttempt | null {
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length <= IV_BYTES + TAG_BYTES) return null;
    try {
      const opened = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      opened.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = Buffer.concat([opened.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), opened.final()]);
      return JSON.parse(text.toString("utf8")) as SignInAttempt;
    } catch {
      return null;
    }
  }
}
