/**
 * Finds the principal of a presented secret (docs/interface.md#authentication). Knows neither requests nor the
 * environment. Each lookup checks whether the secrets have changed, so that a rotated secret is valid at once.
 */
import type { Principal } from "./principal.ts";
import type { TokenConfig } from "./token-config.ts";

/** The source of the secrets. */
export interface Secrets {
  /** Reads changes. Called before each lookup; a new number means that variables may have changed. */
  refresh(): number;
  /** The value of a variable; null: not set. */
  read(variable: string): string | null;
}

type Meaning =
  | Principal
  | { readonly kind: "unknown_secret" }
  /** The secret belongs to several tokens with different rights. */
  | { readonly kind: "ambiguous_secret"; readonly names: readonly string[] };

/** A bearer header can carry visible ASCII. A comma would mean that a proxy joined two headers. */
const SECRET = /^[!-+\--~]+$/;

export function canBePresented(secret: string): boolean {
  return SECRET.test(secret);
}

/** SHA-256, as 32-bit words. */
const DIGEST_WORDS = 8;

/** Tokens that have a secret, and the digests of these one after the other. */
interface Table {
  /** The table was made from these: the list of tokens, and the version of the secrets. */
  readonly of: readonly TokenConfig[];
  readonly version: number;
  readonly tokens: readonly TokenConfig[];
  readonly digests: Uint32Array;
}

export class Tokens {
  readonly #secrets: Secrets;
  /** Kept while nothing changes: hashing a thousand secrets for each request would be slow. */
  #table: Table | null = null;

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  /**
   * Compares the secret with every token, digest with digest, so that the time reveals neither how much of a secret was
   * right nor whose it was. Tokens with equal secrets and equal rights count as one
   * (docs/interface.md#ambiguous-secret).
   * @param tokens must be a new object when the list changes.
   */
  meaningOf(presented: string, tokens: readonly TokenConfig[]): Meaning {
    const table = this.#tableOf(tokens);
    const digest = digestOf(presented);
    const [first, ...others] = table.tokens.filter((_, index) => isDigestAt(table.digests, index, digest));
    if (first === undefined) return { kind: "unknown_secret" };
    if (others.some((other) => !haveEqualRights(first, other))) {
      return { kind: "ambiguous_secret", names: [first, ...others].map(({ name }) => name) };
    }
    const { name: operator, role, tenant, node } = first;
    return { kind: "principal", operator, role, tenant, node };
  }

  #tableOf(of: readonly TokenConfig[]): Table {
    const version = this.#secrets.refresh();
    if (this.#table?.of !== of || this.#table.version !== version) this.#table = this.#makeTable(of, version);
    return this.#table;
  }

  /** A variable that is empty or not set has no secret, and no presented secret matches it. */
  #makeTable(of: readonly TokenConfig[], version: number): Table {
    const tokens = of.filter(({ tokenEnv }) => (this.#secrets.read(tokenEnv) ?? "") !== "");
    const digests = new Uint32Array(tokens.length * DIGEST_WORDS);
    for (const [index, { tokenEnv }] of tokens.entries()) {
      digests.set(digestOf(this.#secrets.read(tokenEnv) ?? ""), index * DIGEST_WORDS);
    }
    return { of, version, tokens, digests };
  }
}

/** Compares every word, also after a difference. */
function isDigestAt(digests: Uint32Array, index: number, digest: Uint32Array): boolean {
  let difference = 0;
  for (let word = 0; word < DIGEST_WORDS; word++) {
    difference |= (digests[index * DIGEST_WORDS + word] ?? 0) ^ (digest[word] ?? 0);
  }
  return difference === 0;
}

function haveEqualRights(a: TokenConfig, b: TokenConfig): boolean {
  return a.role === b.role && a.tenant === b.tenant && a.node === b.node;
}

function digestOf(secret: string): Uint32Array {
  const bytes = new Bun.SHA256().update(secret).digest();
  return new Uint32Array(bytes.buffer, bytes.byteOffset, DIGEST_WORDS);
}
