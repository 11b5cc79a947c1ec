/**
 * Finds out which of some thousand known addresses a row of a table has, without making text of every row. What an
 * address means is for its owner to know.
 */
import { ADDRESS_BYTES, addressToBytes, type IpAddress } from "../net/address.ts";

/** Places of the filter. */
const ENDINGS = 4096;

interface Known {
  readonly bytes: Uint8Array;
  readonly address: IpAddress;
}

export class AddressIndex {
  readonly #byHash = new Map<number, Known[]>();
  /** How many addresses have the same last bits: most others differ in them, and need no more than one look. */
  readonly #endings = new Uint16Array(ENDINGS);
  /** Odd. No sender can choose addresses that are compared with one another for every row. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 1;

  constructor(addresses: Iterable<IpAddress> = []) {
    for (const address of addresses) this.add(address);
  }

  /** No effect for a known address. */
  add(address: IpAddress): void {
    const bytes = addressToBytes(address);
    if (this.find(bytes, 0) !== null) return;
    this.#countEnding(bytes, 1);
    const hash = this.#hash(bytes, 0);
    const same = this.#byHash.get(hash);
    if (same === undefined) this.#byHash.set(hash, [{ bytes, address }]);
    else same.push({ bytes, address });
  }

  delete(address: IpAddress): void {
    const bytes = addressToBytes(address);
    if (this.find(bytes, 0) === null) return;
    this.#countEnding(bytes, -1);
    const hash = this.#hash(bytes, 0);
    const others = (this.#byHash.get(hash) ?? []).filter((known) => known.address !== address);
    if (others.length === 0) this.#byHash.delete(hash);
    else this.#byHash.set(hash, others);
  }

  /** `addresses`: 16 bytes a row, IPv4 in its mapped form. null: the row's address is not known. */
  find(addresses: Uint8Array, row: number): IpAddress | null {
    const at = row * ADDRESS_BYTES;
    if (this.#endings[endingOf(addresses, at)] === 0) return null;
    const same = this.#byHash.get(this.#hash(addresses, at));
    if (same === undefined) return null;
    for (const { bytes, address } of same) if (isAt(addresses, at, bytes)) return address;
    return null;
  }

  *values(): Generator<IpAddress> {
    for (const same of this.#byHash.values()) for (const { address } of same) yield address;
  }

  #countEnding(bytes: Uint8Array, by: 1 | -1): void {
    const ending = endingOf(bytes, 0);
    this.#endings[ending] = (this.#endings[ending] as number) + by;
  }

  #hash(bytes: Uint8Array, at: number): number {
    let hash = 0;
    for (let i = at; i < at + ADDRESS_BYTES; i += 4) {
      const high = ((bytes[i] as number) << 24) | ((bytes[i + 1] as number) << 16);
      const word = high | ((bytes[i + 2] as number) << 8) | (bytes[i + 3] as number);
      hash = Math.imul(hash ^ word, this.#seed);
      hash ^= hash >>> 15;
    }
    return hash;
  }
}

function endingOf(bytes: Uint8Array, at: number): number {
  return (((bytes[at + ADDRESS_BYTES - 2] as number) << 8) | (bytes[at + ADDRESS_BYTES - 1] as number)) % ENDINGS;
}

function isAt(addresses: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let i = ADDRESS_BYTES - 1; i >= 0; i--) if (addresses[at + i] !== bytes[i]) return false;
  return true;
}
