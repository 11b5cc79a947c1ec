/**
 * Links to one attack, incident or customer for people without a token, for a time
 * (docs/interface.md#shared-links). Keeps the digests of their secrets alone. Does not know what a link shows.
 */
import { SHARED_LINKS_MAX } from "../limits.ts";
import { type Callers, type Holder, NO_TENANTS, type Overrun, Shares } from "./shares.ts";

/** `customer`: a tenant, or a hostgroup that no tenant owns. */
export interface SharedSubject {
  readonly kind: "attack" | "incident" | "tenant" | "hostgroup";
  /** Its id, or its name. */
  readonly key: string;
}

export interface SharedLink extends SharedSubject {
  /** Says nothing of the secret. */
  readonly id: string;
  /** Owner of what is shared, as whom the link is read; null: no tenant owns it. */
  readonly owner: string | null;
  readonly by: Holder;
  /** Wall clock, ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** SHA-256 of the secret, hexadecimal. */
  readonly digest: string;
}

interface SharedLinksOptions {
  /** `api.shared_links` of the configuration in force. */
  readonly isAllowed: () => boolean;
  readonly callers: () => Callers;
  /** Resolves when they are on disk. */
  readonly save: (links: readonly SharedLink[]) => Promise<void>;
  readonly newId: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly wallMs: () => number;
}

type SharedLinkOrder = SharedSubject & Pick<SharedLink, "owner" | "by"> & { readonly ttlSeconds: number };
type SharedLinkAnswer =
  | { readonly kind: "shared"; readonly link: SharedLink; readonly secret: string }
  | { readonly kind: "refused"; readonly refusal: Overrun | "not_allowed" };

const SECRET_BYTES = 32;

export class SharedLinks {
  readonly #options: SharedLinksOptions;
  #byDigest: ReadonlyMap<string, SharedLink>;
  /** The last change: each is made to what the one before has left. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SharedLinksOptions, kept: readonly SharedLink[] = []) {
    this.#options = options;
    this.#byDigest = new Map(kept.map((link) => [link.digest, link]));
  }

  get isAllowed(): boolean {
    return this.#options.isAllowed();
  }

  /** Those that have not expired, the oldest first. */
  all(): SharedLink[] {
    const now = this.#options.wallMs();
    return [...this.#byDigest.values()].filter(({ expiresAt }) => expiresAt > now);
  }

  /** null: unknown, expired, or links are not allowed now. By its digest, so that the time depends on no part of the secret. */
  of(secret: string): SharedLink | null {
    const link = this.isAllowed ? this.#byDigest.get(digestOf(secret)) : undefined;
    return link !== undefined && link.expiresAt > this.#options.wallMs() ? link : null;
  }

  /** Rejects if it cannot be saved. */
  share(order: SharedLinkOrder): Promise<SharedLinkAnswer> {
    return this.#inTurn(async () => {
      const { newId, randomBytes, wallMs } = this.#options;
      if (!this.isAllowed) return { kind: "refused", refusal: "not_allowed" };
      const refusal = this.#refusal(order.by);
      if (refusal !== null) return { kind: "refused", refusal };
      const { ttlSeconds, ...shared } = order;
      const secret = Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
      const createdAt = wallMs();
      const times = { createdAt, expiresAt: createdAt + 1000 * ttlSeconds };
      const link = { ...shared, id: newId(), ...times, digest: digestOf(secret) };
      await this.#replace([...this.all(), link]);
      return { kind: "shared", link, secret };
    });
  }

  /** Rejects if that cannot be saved. @returns false: there is none of this id */
  revoke(id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const [all, left] = [this.all(), this.all().filter((link) => link.id !== id)];
      if (left.length === all.length) return false;
      await this.#replace(left);
      return true;
    });
  }

  #refusal(by: Holder): Overrun | null {
    const shares = new Shares(this.#options.callers);
    for (const link of this.all()) shares.take(link.by);
    return shares.refusal(by, { capacity: SHARED_LINKS_MAX });
  }

  async #replace(links: readonly SharedLink[]): Promise<void> {
    await this.#options.save(links);
    this.#byDigest = new Map(links.map((link) => [link.digest, link]));
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(change);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** For a service that keeps none. */
export function noSharedLinks(): SharedLinks {
  const nothing = { callers: () => NO_TENANTS, save: async () => {}, newId: () => "", wallMs: () => 0 };
  return new SharedLinks({ ...nothing, isAllowed: () => false, randomBytes: (count) => new Uint8Array(count) });
}

function digestOf(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("hex");
}
