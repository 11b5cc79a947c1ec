/**
 * Puts the named sets of prefixes into the filter when they changed: at once into one that is being opened, and off the
 * event loop into one in force, since the kernel waits until no program reads the sets before. Knows nothing of rules.
 */
import type { KernelFilter, NamedSets } from "./kernel-filter.ts";

interface SetExchangeOptions {
  /** null: there are none. Throws an Error where they could not be made. */
  readonly wanted: () => NamedSets | null;
  readonly monotonicMs: () => number;
  /** The sets before stay in force. */
  readonly onFault: (cause: unknown) => void;
  /** Others are in force in an open filter. */
  readonly onExchanged: () => void;
}

/** For how long rules wait for an exchange, which takes the kernel some milliseconds. */
export const HELD_MAX_MS = 1000;

export class SetExchange {
  readonly #options: SetExchangeOptions;
  #inForce: NamedSets | null = null;
  /** The one in progress, of the open filter. Monotonic clock, ms. */
  #exchange: { readonly sinceMs: number } | null = null;

  constructor(options: SetExchangeOptions) {
    this.#options = options;
  }

  get hasSets(): boolean {
    return this.#inForce !== null;
  }

  /** Rules that may name the new sets must wait. */
  get isHeld(): boolean {
    return this.#exchange !== null && this.#options.monotonicMs() - this.#exchange.sinceMs < HELD_MAX_MS;
  }

  /** Another filter is being opened, which no packet comes to yet. The result of an exchange before does not count. */
  putInto(opened: KernelFilter): void {
    this.#inForce = null;
    this.#exchange = null;
    const sets = this.#options.wanted();
    if (sets !== null) opened.setNamedSets(sets);
    this.#inForce = sets;
  }

  /** Those that changed; one exchange at a time. Sets that the kernel refuses are tried again by the next call. */
  put(filter: KernelFilter): void {
    const { wanted, monotonicMs, onFault, onExchanged } = this.#options;
    if (this.#exchange !== null) return;
    try {
      const sets = wanted();
      if (sets === null) this.#inForce = null;
      if (sets === this.#inForce || sets === null) return;
      const exchange = { sinceMs: monotonicMs() };
      const isLast = () => this.#exchange === exchange;
      this.#exchange = exchange;
      filter.exchangeNamedSets(sets).then(
        () => {
          if (!isLast()) return;
          this.#exchange = null;
          this.#inForce = sets;
          onExchanged();
        },
        (cause: unknown) => {
          if (isLast()) this.#exchange = null;
          onFault(cause);
        },
      );
    } catch (cause) {
      onFault(cause);
    }
  }
}
