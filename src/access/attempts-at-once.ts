/**
 * The sign-ins that ask the provider now, and the attempts that have asked: strangers can begin as many as they like, so
 * each asks once, and one peer takes a part of the places. Does not know the provider.
 */
import { SIGN_INS_AT_ONCE_MAX, SIGN_INS_PER_PEER } from "../limits.ts";
import { addressFamily, type IpAddress } from "../net/address.ts";
import { enclosingPrefix } from "../net/prefix.ts";

/** Attempts that have asked, until they expire; over it the oldest is forgotten, and its code is of no use twice. */
export const USED_ATTEMPTS_MAX = 8192;
/** Length of the IPv6 prefix of one peer. */
const PEER_BITS = 64;

export class AttemptsAtOnce {
  /** Until when by state, in the order of their use; monotonic, ms. */
  readonly #used = new Map<string, number>();
  readonly #byPeer = new Map<string, number>();
  #asking = 0;

  /** Whether an attempt with this state has asked before. Marks it. */
  isUsed(state: string, { expiresAt, now }: { readonly expiresAt: number; readonly now: number }): boolean {
    for (const [other, until] of this.#used) {
      if (until > now && this.#used.size < USED_ATTEMPTS_MAX) break;
      this.#used.delete(other);
    }
    if (this.#used.has(state)) return true;
    this.#used.set(state, expiresAt);
    return false;
  }

  /** Runs it if there is a place. @param peer null: not known @returns null: there is none */
  async run<T>(peer: IpAddress | null, ask: () => Promise<T>): Promise<T | null> {
    const key = peerKey(peer);
    const own = this.#byPeer.get(key) ?? 0;
    if (this.#asking >= SIGN_INS_AT_ONCE_MAX || own >= SIGN_INS_PER_PEER) return null;
    this.#take(key, 1);
    try {
      return await ask();
    } finally {
      this.#take(key, -1);
    }
  }

  #take(key: string, by: number): void {
    this.#asking += by;
    const own = (this.#byPeer.get(key) ?? 0) + by;
    if (own === 0) this.#byPeer.delete(key);
    else this.#byPeer.set(key, own);
  }
}

function peerKey(peer: IpAddress | null): string {
  if (peer === null) return "";
  return addressFamily(peer) === 4 ? peer : enclosingPrefix(peer, PEER_BITS).text;
}
