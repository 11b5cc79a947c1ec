/**
 * Polls the controller for ever: parks, takes what changed, and waits longer after each failure. What cannot be used
 * changes nothing that is held.
 */
import { Backoff } from "../../system/backoff.ts";
import type { Clock } from "../../system/clock.ts";
import { Pause } from "../../system/pause.ts";
import type { Timers } from "../../system/timers.ts";
import type { Controller, Failure, PollAnswer } from "./controller.ts";
import { DocumentProblem, readDocument, type WantedBan } from "./rule-document.ts";

export interface TakenDocument {
  readonly bans: readonly WantedBan[];
  readonly text: string;
  readonly etag: string | null;
  readonly sentAtMs: number | null;
}

/** `bad_document`: the service answered, but what it says cannot be used. */
export type PollTrouble = Failure | { readonly kind: "bad_document"; readonly reason: string };
export type PollResult = "document" | "unchanged" | PollTrouble["kind"];

export interface PollerOptions {
  readonly controller: Pick<Controller, "poll">;
  readonly onDocument: (document: TakenDocument) => void;
  readonly onTrouble: (trouble: PollTrouble, nextMs: number) => void;
  /** At each poll that came to something. */
  readonly onAnswer: () => void;
  readonly count: (result: PollResult) => void;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "after">;
  readonly random: () => number;
}

/**
 * From one poll to the next, where it was answered with a document, and where at once with nothing new: nobody may keep us
 * busy. One that was held is followed at once: the rules of a ban often come some ms after the ban.
 */
const DOCUMENT_MS = 100;
const QUICK_MS = 1000;

/** docs/interface.md#limits; with a tenth more or less, so that a fleet spreads after its controller was away. */
export function pollBackoff(random: () => number): Backoff {
  return new Backoff({ retryMinMs: 1000, retryMaxMs: 30_000 }, () => 0.9 + 0.2 * random());
}

export class Poller {
  readonly #options: PollerOptions;
  readonly #backoff: Backoff;
  readonly #pause: Pause;
  /**
   * Of the document that is held. The first poll is without, also where one was taken from the disk: its answer comes at
   * once, and tells of the service's clock.
   */
  #etag: string | null = null;
  #isStopped = false;
  /** The service did not answer the last poll, nor did anyone who speaks for it. */
  #isAway = false;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#backoff = pollBackoff(options.random);
    this.#pause = new Pause(options.timers);
  }

  /** Resolves once stopped, and after the poll under way has ended. */
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
   * The service was heard of by another way: where it could not be reached, it is asked at once, since one that has begun
   * anew takes a node for lost that does not poll for 15 s.
   */
  hurry(): void {
    if (this.#isAway) this.#pause.end();
  }

  stop(): void {
    this.#isStopped = true;
    this.#pause.end();
  }

  /** Returns how long to wait, ms. */
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
    const bans = bansIn(text);
    if (bans instanceof DocumentProblem) return this.#fail({ kind: "bad_document", reason: bans.message });
    // Without a tag, or with the same again, the next answer would come at once as well.
    const isNew = etag !== null && etag !== this.#etag;
    this.#etag = etag;
    this.#options.onDocument({ bans, text, etag, sentAtMs });
    this.#succeed("document");
    return (isNew ? DOCUMENT_MS : QUICK_MS) - tookMs;
  }

  #succeed(result: PollResult): void {
    this.#isAway = false;
    this.#options.count(result);
    this.#backoff.reset();
    this.#options.onAnswer();
  }

  #fail(trouble: PollTrouble): number {
    const nextMs = this.#backoff.next();
    this.#isAway = isAway(trouble);
    this.#options.count(trouble.kind);
    this.#options.onTrouble(trouble, nextMs);
    return nextMs;
  }
}

/** What a proxy says for a service that it does not reach, and a service that starts says itself. */
const AWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

function isAway(trouble: PollTrouble): boolean {
  return trouble.kind === "unreachable" || (trouble.kind === "refused" && AWAY_STATUSES.has(trouble.status));
}

function bansIn(text: string): readonly WantedBan[] | DocumentProblem {
  try {
    return readDocument(text);
  } catch (cause) {
    if (cause instanceof DocumentProblem) return cause;
    throw cause;
  }
}
