/**
 * Which connections to the port of a brain are answered. Until the certificate is seen only the address says who calls:
 * strangers neither keep the other brains out nor take the time of this one. Pure; times are monotonic, ms.
 */

/** At once, of all strangers, and begun by them in a second: a handshake takes about half a millisecond. */
export const STRANGERS_MAX = 16;
export const STRANGERS_A_SECOND = 20;
/** At once, from the addresses of the other brains. */
export const BRAINS_MAX = 64;

export class ConnectionBounds {
  readonly #addresses: ReadonlySet<string>;
  #ofBrains = 0;
  #ofStrangers = 0;
  #begun = 0;
  #second = 0;

  /** @param addresses of the other brains. */
  constructor(addresses: Iterable<string>) {
    this.#addresses = new Set(addresses);
  }

  /** null: there is no room. Call what it returns once the connection is closed. */
  admit(address: string, nowMs: number): (() => void) | null {
    if (this.#addresses.has(address)) {
      if (this.#ofBrains >= BRAINS_MAX) return null;
      this.#ofBrains++;
      return () => void this.#ofBrains--;
    }
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) [this.#second, this.#begun] = [second, 0];
    if (this.#ofStrangers >= STRANGERS_MAX || this.#begun >= STRANGERS_A_SECOND) return null;
    this.#ofStrangers++;
    this.#begun++;
    return () => void this.#ofStrangers--;
  }
}
