/**
 * Polls for the zone document continuously (docs/interface.md#edge-zones-poll): long polls, takes changed documents,
 * and waits longer after each failure.
 */
import { pollBackoff } from "../../src/scrub/agent/poller.ts";
import type { Backoff } from "../../src/system/backoff.ts";
import type { Clock } from "../../src/system/clock.ts";
import { Pause } from "../../src/system/pause.ts";
import type { Timers } from "../../src/system/timers.ts";
import type { EdgeChannel, PolledDocument } from "./edge-channel.ts";

/** The result of one poll. */
export type PollResult = "document" | "unchanged" | "bad_document" | "too_many_holds" | "refused" | "unreachable";

export interface PollerOptions {
  readonly channel: Pick<EdgeChannel, "poll">;
  /** Throws if the document cannot be used; then the previous one stays. */
  readonly take: (document: PolledDocument) => void;
  readonly onResult: (result: PollResult, detail: string) => void;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "after">;
  readonly random: () => number;
}

/** Pause between polls if the first one was answered at once without a change, to avoid a busy loop. */
const QUICK_MS = 1000;

export class Poller {
  readonly #options: PollerOptions;
  readonly #backoff: Backoff;
  readonly #pause: Pause;
  #etag: string | null;
  #isStopped = false;

  /** @param etag of the document that the node has; null: none. */
  constructor(options: PollerOptions, etag: string | null) {
    this.#options = options;
    this.#backoff = pollBackoff(options.random);
    this.#pause = new Pause(options.timers);
    this.#etag = etag;
  }

  /** Resolves after it was stopped and the current poll has ended. */
  async run(): Promise<void> {
    while (!this.#isStopped) {
      const waitMs = await this.#poll();
      if (!this.#isStopped) await this.#pause.wait(waitMs);
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#pause.end();
  }

  /** Returns how long to wait, ms. */
  async #poll(): Promise<number> {
    const { channel, clock } = this.#options;
    const begunMs = clock.monotonicMs();
    const answer = await channel.poll(this.#etag);
    if (this.#isStopped) return 0;
    const quickMs = QUICK_MS - (clock.monotonicMs() - begunMs);
    switch (answer.kind) {
      case "unchanged":
        return this.#succeed("unchanged", quickMs);
      case "document":
        return this.#takeDocument(answer, quickMs);
      case "refused":
        return this.#fail(answer.status === 429 ? "too_many_holds" : "refused", `${answer.status} ${answer.error}`);
      case "unreachable":
        return this.#fail("unreachable", answer.reason);
    }
  }

  #takeDocument(document: PolledDocument, quickMs: number): number {
    try {
      this.#options.take(document);
    } catch (cause) {
      return this.#fail("bad_document", cause instanceof Error ? cause.message : String(cause));
    }
    // Without a tag, or with the same one again, the next answer would also come at once.
    const isNew = document.etag !== null && document.etag !== this.#etag;
    this.#etag = document.etag;
    return this.#succeed("document", isNew ? 0 : quickMs);
  }

  #succeed(result: PollResult, waitMs: number): number {
    this.#backoff.reset();
    this.#options.onResult(result, "");
    return waitMs;
  }

  #fail(result: PollResult, detail: string): number {
    this.#options.onResult(result, detail);
    return this.#backoff.next();
  }
}
