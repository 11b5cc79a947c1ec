/**
 * One thread that finds rules, and the messages that are on their way to it. It ends when it fails or does not answer, and
 * the next one starts after a while.
 */
import type { RuleAnswer, RuleOrder } from "../mitigation/rules/rule-orders.ts";
import type { Cancel, Timers } from "../system/timers.ts";

/** Messages on their way: the thread need not wait for the event loop. */
const MESSAGES_AHEAD = 2;
/** A thread that takes longer for one message is ended, and the next one starts after a while, ms. */
export const ANSWER_MS = 10_000;
export const RESTART_MS = 1000;

interface FinderThreadOptions {
  readonly timers: Timers;
  readonly code: URL;
  /** It runs, and takes orders. */
  readonly onReady: () => void;
  readonly onAnswered: (orders: readonly RuleOrder[], answers: readonly RuleAnswer[]) => void;
  /** It is gone. */
  readonly onFailed: (failure: ThreadFailure) => void;
}

export interface ThreadFailure {
  readonly why: string;
  /** It did not answer, rather than ended by itself. */
  readonly isSlow: boolean;
  /** The message that it was at. */
  readonly current: readonly RuleOrder[];
  /** Those that it had not begun. */
  readonly next: readonly RuleOrder[];
}

export class FinderThread {
  readonly #options: FinderThreadOptions;
  /** null: it failed, and the next one is not due; or it was ended. */
  #thread: Worker | null = null;
  /** Messages in the order of the answers. */
  #sent: (readonly RuleOrder[])[] = [];
  #cancelStart: Cancel = () => {};
  #cancelAnswer: Cancel = () => {};

  constructor(options: FinderThreadOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#thread !== null;
  }

  /** How many more messages it takes now. */
  get room(): number {
    return this.#thread === null ? 0 : MESSAGES_AHEAD - this.#sent.length;
  }

  start(): void {
    const { code, onReady } = this.#options;
    const thread = new Worker(code);
    const onGone = (why: string) => {
      if (this.#thread === thread) this.#failed(why, false);
    };
    thread.onmessage = ({ data }: MessageEvent<readonly RuleAnswer[]>) => {
      if (this.#thread === thread) this.#answered(data);
    };
    thread.onerror = ({ message }) => onGone(`failed: ${message}`);
    thread.addEventListener("close", () => onGone("ended"));
    thread.unref();
    this.#thread = thread;
    onReady();
  }

  send(orders: readonly RuleOrder[]): void {
    this.#sent.push(orders);
    if (this.#sent.length === 1) this.#awaitAnswer();
    this.#thread?.postMessage(orders.map(({ message }) => message));
  }

  /** For good. Returns the orders that are not answered. */
  end(): readonly RuleOrder[] {
    this.#cancelStart();
    this.#cancelAnswer();
    const thread = this.#thread;
    this.#thread = null;
    const sent = this.#sent;
    this.#sent = [];
    thread?.terminate();
    return sent.flat();
  }

  #awaitAnswer(): void {
    this.#cancelAnswer = this.#options.timers.after(ANSWER_MS, () => this.#failed("does not answer", true));
  }

  #answered(answers: readonly RuleAnswer[]): void {
    const orders = this.#sent.shift();
    if (orders === undefined) return;
    this.#cancelAnswer();
    if (this.#sent.length > 0) this.#awaitAnswer();
    this.#options.onAnswered(orders, answers);
  }

  #failed(why: string, isSlow: boolean): void {
    const [current = [], ...next] = this.#sent;
    this.end();
    this.#cancelStart = this.#options.timers.after(RESTART_MS, () => this.start());
    this.#options.onFailed({ why, isSlow, current, next: next.flat() });
  }
}
