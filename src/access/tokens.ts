/**
 * Which principal a presented secret means (interface 5.5 to 5.8). Knows neither requests nor the environment: both come
 * in from outside, at every question, so that a rotated secret holds at once.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { TokenConfig } from "../config/api-section.ts";
import type { Principal } from "./principal.ts";

/** Where secrets stand. */
export interface Secrets {
  /** Takes in what changed since; before each question. */
  refresh(): void;
  /** The value of a variable; null: not set. */
  read(variable: string): string | null;
}

export type Meaning =
  | Principal
  | { readonly kind: "unknown_secret" }
  /** The secret is that of tokens which differ in what they allow. */
  | { readonly kind: "ambiguous_secret"; readonly names: readonly string[] };

/** What a bearer header can carry: visible ASCII. A comma would be two headers that were joined on the way. */
const SECRET = /^[!-+\--~]+$/;

export function canBePresented(secret: string): boolean {
  return SECRET.test(secret);
}

interface Digest {
  readonly secret: string;
  readonly bytes: Buffer;
}

export class Tokens {
  readonly #secrets: Secrets;
  /** Kept while the variable stays as it is: hashing a thousand secrets for each request would be felt. */
  readonly #digests = new WeakMap<TokenConfig, Digest>();

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  /**
   * Compares with every token before anything is decided, digest with digest, so that the time tells neither how much of
   * a secret was right nor whose it was. Equal secrets of equal rights are one; that they agree makes any of them the
   * highest (5.6).
   */
  meaningOf(presented: string, tokens: readonly TokenConfig[]): Meaning {
    this.#secrets.refresh();
    const digest = sha256(presented);
    const [first, ...others] = tokens.filter((token) => this.#isSecretOf(token, digest));
    if (first === undefined) return { kind: "unknown_secret" };
    if (others.some((other) => !haveEqualRights(first, other))) {
      return { kind: "ambiguous_secret", names: [first, ...others].map(({ name }) => name) };
    }
    const { name: operator, role, tenant, node } = first;
    return { kind: "principal", operator, role, tenant, node };
  }

  /** A variable that is empty or not set has no secret, and nothing equals it. */
  #isSecretOf(token: TokenConfig, presented: Buffer): boolean {
    const secret = this.#secrets.read(token.tokenEnv) ?? "";
    return timingSafeEqual(this.#digestOf(token, secret), presented) && secret !== "";
  }

  #digestOf(token: TokenConfig, secret: string): Buffer {
    const known = this.#digests.get(token);
    if (known?.secret === secret) return known.bytes;
    const bytes = sha256(secret);
    this.#digests.set(token, { secret, bytes });
    return bytes;
  }
}

function haveEqualRights(a: TokenConfig, b: TokenConfig): boolean {
  return a.role === b.role && a.tenant === b.tenant && a.node === b.node;
}

/** The comparison wants equal lengths. */
function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
