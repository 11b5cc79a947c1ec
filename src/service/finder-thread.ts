/**
 * One thread that finds rules, and the messages that are on their way to it. It ends when it fails or does not answer, and
 * the next one starts after a while.
 */
import type { RuleAnswer, RuleOrder } from "../mitigation/rules/rule-orders.ts";
import type { Cancel, Timers } from "../system/timers.ts";

/** Messages on their way: the thread need not wait for the event loop. */
const MESSAGES_AHEAD = 2;
/** A thread that takes longer for a message is ended, and the next one starts after a while, ms. */
export const ANSWER_MS = 10_000;
export const RESTART_MS = 1000;

export interface FinderThreadOptions {
  readonly timers: Timers;
  readonly code: URL;
  /** It runs, and takes orders. */
  readonly onReady: () => void;
  readonly onAnswered: (orders: readonly RuleOrder[], answers: readonly RuleAnswer[]) => void;
  /** It is gone, with orders that it had not answered. */
  readonly onFailed: (why: string, orders: readonly RuleOrder[]) => void;
}

interface Sent {
  readonly orders: readonly RuleOrder[];
  readonly cancel: Cancel;
}

export class FinderThread {
  readonly #options: FinderThreadOptions;
  /** null: it failed, and the next one is not due; or it was ended. */
  #thread: Worker | null = null;
  /** In the order of the answers. */
  #sent: Sent[] = [];
  #cancelStart: Cancel = () => {};

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
      if (this.#thread === thread) this.#failed(why);
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
    const cancel = this.#options.timers.after(ANSWER_MS, () => this.#failed("does not answer"));
    this.#sent.push({ orders, cancel });
    this.#thread?.postMessage(orders.map(({ message }) => message));
  }

  /** For good. Returns the orders that are not answered. */
  end(): readonly RuleOrder[] {
    this.#cancelStart();
    const thread = this.#thread;
    this.#thread = null;
    const sent = this.#sent;
    this.#sent = [];
    for (const { cancel } of sent) cancel();
    thread?.terminate();
    return sent.flatMap(({ orders }) => orders);
  }

  #answered(answers: readonly RuleAnswer[]): void {
    const sent = this.#sent.shift();
    if (sent === undefined) return;
    sent.cancel();
    this.#options.onAnswered(sent.orders, answers);
  }

  #failed(why: string): void {
    const orders = this.end();
    this.#cancelStart = this.#options.timers.after(RESTART_MS, () => this.start());
    this.#options.onFailed(why, orders);
  }
}
