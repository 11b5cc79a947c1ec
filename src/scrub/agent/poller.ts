/**
 * Polls the controller until stopped: waits for each answer, applies changes, and waits longer after each failure. An
 * unusable answer does not change the current document.
 */
import { Backoff } from "../../system/backoff.ts";
import type { Clock } from "../../system/clock.ts";
import { Pause } from "../../system/pause.ts";
import type { Timers } from "../../system/timers.ts";
import type { Controller, Failure, PollAnswer } from "./controller.ts";
import {
  BoundsProblem,
  DocumentProblem,
  type ReadDocument,
  type ReadingBounds,
  readDocument,
} from "./rule-document.ts";

export interface ReceivedDocument extends ReadDocument {
  readonly text: string;
  readonly etag: string | null;
  readonly sentAtMs: number | null;
}

/** The service answered with an unusable document; `out_of_bounds`: with one beyond the bounds of this node. */
interface RefusedDocument {
  readonly kind: "bad_document" | "out_of_bounds";
  readonly reason: string;
}
export type PollTrouble = Failure | RefusedDocument;
export type PollResult = "document" | "unchanged" | PollTrouble["kind"];

interface PollerOptions {
  readonly controller: Pick<Controller, "poll">;
  readonly reading: () => ReadingBounds;
  /** Puts the document in force. */
  readonly onDocument: (document: ReceivedDocument) => void;
  readonly onTrouble: (trouble: PollTrouble, nextMs: number) => void;
  /** Called after each successful poll. */
  readonly onAnswer: () => void;
  readonly count: (result: PollResult) => void;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "after">;
  readonly random: () => number;
}

/**
 * Minimum time between polls, if the last one returned a document, or returned at once without one: it bounds the load
 * from a faulty service. A held poll is followed at once: the rules of a ban often come some ms after the ban.
 */
const DOCUMENT_MS = 100;
const QUICK_MS = 1000;
/** A document of many megabytes is followed by a pause of seconds: reading and saving it would take all the time. */
const CHARACTERS_PER_MS = 4096;

/**
 * docs/interface.md#limits; randomized by 10 %, so that the nodes do not poll together after an outage of the
 * controller.
 */
export function pollBackoff(random: () => number): Backoff {
  return new Backoff({ retryMinMs: 1000, retryMaxMs: 30_000 }, () => 0.9 + 0.2 * random());
}

export class Poller {
  readonly #options: PollerOptions;
  readonly #backoff: Backoff;
  readonly #pause: Pause;
  /**
   * ETag of the current document. The first poll is sent without, even if a document was loaded from disk: its answer
   * comes at once, and gives the service's clock.
   */
  #etag: string | null = null;
  #isStopped = false;
  /** The last poll did not reach the service: no answer, or a proxy's 502, 503 or 504. */
  #isUnreachable = false;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#backoff = pollBackoff(options.random);
    this.#pause = new Pause(options.timers);
  }

  /** Resolves after stop(), when the poll in progress has ended. */
  async run(): Promise<void> {
    const { controller, clock } = this.#options;
    while (!this.#isStopped) {
      const begunMs = clock.monotonicMs();
      const answer = await controller.poll(this.#etag);
      if (this.#isStopped) return;
      const waitMs = this.#take(answer, clock.monotonicMs() - begunMs);
      if (!this.#isStopped) await this.#pause.wait(waitMs);
    }
  }

  /**
   * Another request reached the service: if polling is waiting to retry, it polls now, since a restarted service
   * regards a node without polls for 15 s as lost.
   */
  pollNow(): void {
    if (this.#isUnreachable) this.#pause.end();
  }

  stop(): void {
    this.#isStopped = true;
    this.#pause.end();
  }

  /** Returns the time to wait, ms. */
  #take(answer: PollAnswer, tookMs: number): number {
    switch (answer.kind) {
      case "document":
        return this.#takeDocument(answer, tookMs);
      case "unchanged":
        this.#succeed(answer.kind);
        return QUICK_MS - tookMs;
      default:
        return this.#fail(answer);
    }
  }

  #takeDocument({ text, etag, sentAtMs }: Extract<PollAnswer, { kind: "document" }>, tookMs: number): number {
    try {
      this.#options.onDocument({ ...readDocument(text, this.#options.reading()), text, etag, sentAtMs });
    } catch (cause) {
      if (!(cause instanceof DocumentProblem)) throw cause;
      const kind = cause instanceof BoundsProblem ? "out_of_bounds" : "bad_document";
      return this.#fail({ kind, reason: cause.message });
    }
    // Without an ETag, or with an unchanged one, the next answer would come at once as well.
    const isNew = etag !== null && etag !== this.#etag;
    this.#etag = etag;
    this.#succeed("document");
    return Math.max(isNew ? DOCUMENT_MS : QUICK_MS, text.length / CHARACTERS_PER_MS) - tookMs;
  }

  #succeed(result: PollResult): void {
    this.#isUnreachable = false;
    this.#options.count(result);
    this.#backoff.reset();
    this.#options.onAnswer();
  }

  #fail(trouble: PollTrouble): number {
    const nextMs = this.#backoff.next();
    this.#isUnreachable = isUnreachable(trouble);
    this.#options.count(trouble.kind);
    this.#options.onTrouble(trouble, nextMs);
    return nextMs;
  }
}

/** Status codes of a proxy for an unreachable service, and of a starting service. */
const UNREACHABLE_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

function isUnreachable(trouble: PollTrouble): boolean {
  return trouble.kind === "unreachable" || (trouble.kind === "refused" && UNREACHABLE_STATUSES.has(trouble.status));
}
