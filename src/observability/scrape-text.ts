/** One text of the metrics for all readers, at most a second old: readers without a token cost no text each. */
import type { Clock } from "../system/clock.ts";

/** Prometheus reads every few seconds. */
export const SCRAPE_TEXT_MS = 1000;

export class ScrapeText {
  readonly #write: () => Promise<string>;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #written: Promise<Blob> | null = null;
  /** When the next one may be begun; while one is being written: never. */
  #staleAtMs = 0;

  constructor(write: () => Promise<string>, clock: Pick<Clock, "monotonicMs">) {
    this.#write = write;
    this.#clock = clock;
  }

  /** Rejects as the writing does; the next call then writes again. A Blob is sent without a copy for each reader. */
  read(): Promise<Blob> {
    if (this.#written !== null && this.#clock.monotonicMs() < this.#staleAtMs) return this.#written;
    this.#staleAtMs = Number.POSITIVE_INFINITY;
    this.#written = this.#begin();
    return this.#written;
  }

  async #begin(): Promise<Blob> {
    const startMs = this.#clock.monotonicMs();
    try {
      const blob = new Blob([await this.#write()]);
      this.#staleAtMs = startMs + SCRAPE_TEXT_MS;
      return blob;
    } catch (cause) {
      this.#written = null;
      throw cause;
    }
  }
}
