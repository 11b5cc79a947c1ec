/** Many prefixes in two arrays, as they cross to the addon: for lists of a million. */
import { ADDRESS_BYTES, MAPPED_BITS, writeAddress } from "./address.ts";
import { mappedLength, type Prefix } from "./prefix.ts";

export interface PrefixColumns {
  /** 16 bytes per prefix, IPv4 in its mapped form. */
  readonly addresses: Uint8Array<ArrayBuffer>;
  /** In the 128-bit form, where an IPv4 /24 is 120. */
  readonly lengths: Uint8Array<ArrayBuffer>;
}

const ROWS_AT_FIRST = 1024;

/** Collects prefixes whose number is not known before. */
export class PrefixColumnsWriter {
  #addresses = new Uint8Array(ROWS_AT_FIRST * ADDRESS_BYTES);
  #lengths = new Uint8Array(ROWS_AT_FIRST);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(prefix: Prefix): void {
    writeAddress(prefix.address, this.#row(mappedLength(prefix)));
  }

  /** @param address the 32 bits as a number. */
  addIpv4(address: number, length: number): void {
    const row = this.#row(MAPPED_BITS + length);
    row[10] = 0xff;
    row[11] = 0xff;
    for (let i = 0; i < 4; i++) row[12 + i] = address >>> (24 - 8 * i);
  }

  /** @param bytes 16. */
  addBytes(bytes: Uint8Array, length: number): void {
    this.#row(length).set(bytes);
  }

  /** The writer is not used after this. */
  columns(): PrefixColumns {
    return {
      addresses: this.#addresses.slice(0, this.#count * ADDRESS_BYTES),
      lengths: this.#lengths.slice(0, this.#count),
    };
  }

  /** The 16 zero bytes of a new row. */
  #row(length: number): Uint8Array {
    if (this.#count === this.#lengths.length) {
      this.#addresses = grown(this.#addresses);
      this.#lengths = grown(this.#lengths);
    }
    const at = this.#count++;
    this.#lengths[at] = length;
    return this.#addresses.subarray(at * ADDRESS_BYTES, (at + 1) * ADDRESS_BYTES);
  }
}

function grown(array: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * array.length);
  larger.set(array);
  return larger;
}
