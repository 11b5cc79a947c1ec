/**
 * Finds the rules of attacks in a thread, the worst attacks first. While there is none, because it failed, they are found
 * in the event loop, one attack at a time.
 */
import { ACTIVE_ATTACKS_MAX } from "../limits.ts";
import type { FoundRequest, RuleMaker } from "../mitigation/circumstances.ts";
import { attackRules } from "../mitigation/rules/attack-rules.ts";
import { answerTo, type RuleAnswer, type RuleOrder, RuleOrders } from "../mitigation/rules/rule-orders.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Clock } from "../system/clock.ts";
import { type Cancel, nextTurn, type Timers } from "../system/timers.ts";

/** Attacks whose rules wait to be looked for: each is in the list once. */
const RULE_ORDERS_MAX = ACTIVE_ATTACKS_MAX;

const THREAD = new URL("./rule-thread.ts", import.meta.url);
/** Attacks in one message, and messages on their way: the thread need not wait for the event loop. */
const ATTACKS_AT_ONCE = 16;
const MESSAGES_AHEAD = 2;
/** A thread that takes longer for a message is ended, and the next one starts after a while, ms. */
export const ANSWER_MS = 10_000;
export const RESTART_MS = 1000;

export type OnFound = (answers: readonly FoundRequest[]) => void;

export interface RuleFinderOptions {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly onFound: OnFound;
  /** The rules of one attack could not be made. */
  readonly onFault: (cause: unknown) => void;
  /** They are found in the event loop until the next thread runs. */
  readonly onThreadFault: (cause: unknown) => void;
  /** Time from the first request until the rules are found. */
  readonly onWaited: (ms: number) => void;
  /** Default: the thread of the service. */
  readonly code?: URL;
}

interface Sent {
  readonly orders: readonly RuleOrder[];
  readonly cancel: Cancel;
}

export class RuleFinder {
  readonly #options: RuleFinderOptions;
  readonly #orders = new RuleOrders(RULE_ORDERS_MAX);
  #isRunning = false;
  /** null: it failed, and the next one is not due. */
  #thread: Worker | null = null;
  /** In the order of the answers. */
  #sent: Sent[] = [];
  #cancelStart: Cancel = () => {};
  #isLookingHere = false;

  constructor(options: RuleFinderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isRunning = true;
    this.#startThread();
  }

  /** The thread ends; what waits is not found. */
  stop(): void {
    this.#isRunning = false;
    this.#cancelStart();
    this.#endThread();
  }

  /** null for attacks with sampled packets. Others, and all while it is not started: at once. */
  readonly make: RuleMaker = (prefix, attacks, flowspec, present) => {
    const nowMs = this.#options.clock.monotonicMs();
    const isOrdered = this.#isRunning && this.#orders.add({ prefix, attacks, flowspec, present }, nowMs);
    if (!isOrdered) return attackRules(prefix, attacks, flowspec, present);
    this.#look();
    return null;
  };

  /** Attacks that wait for the search for rules. */
  get waiting(): number {
    return this.#orders.waiting;
  }

  /** More attacks wait than the thread looks for at once. */
  get isBehind(): boolean {
    return this.waiting > ATTACKS_AT_ONCE;
  }

  #look(): void {
    if (this.#thread === null) void this.#lookHere();
    else this.#send(this.#thread);
  }

  #send(thread: Worker): void {
    while (this.#sent.length < MESSAGES_AHEAD && this.waiting > 0) {
      const orders = this.#orders.take(ATTACKS_AT_ONCE);
      const cancel = this.#options.timers.after(ANSWER_MS, () => this.#failed("does not answer"));
      this.#sent.push({ orders, cancel });
      thread.postMessage(orders.map(({ message }) => message));
    }
  }

  #answered(thread: Worker, answers: readonly RuleAnswer[]): void {
    const sent = this.#sent.shift();
    if (sent === undefined) return;
    sent.cancel();
    this.#send(thread);
    this.#give(sent.orders, answers);
  }

  async #lookHere(): Promise<void> {
    if (this.#isLookingHere) return;
    this.#isLookingHere = true;
    while (this.#isRunning && this.#thread === null && this.waiting > 0) {
      await nextTurn();
      const orders = this.#orders.take(1);
      this.#give(
        orders,
        orders.map(({ message }) => answerTo(message)),
      );
    }
    this.#isLookingHere = false;
  }

  #give(orders: readonly RuleOrder[], answers: readonly RuleAnswer[]): void {
    const { clock, onFound, onFault, onWaited } = this.#options;
    this.#orders.done(orders);
    const found: FoundRequest[] = [];
    for (const [i, { request, sinceMs }] of orders.entries()) {
      const answer = answers[i] ?? { failed: "no answer" };
      if ("failed" in answer) {
        onFault(new Error(`the rules of ${request.prefix.text} were not found: ${answer.failed}`));
        continue;
      }
      onWaited(clock.monotonicMs() - sinceMs);
      found.push({ request, found: answer.found });
    }
    onFound(found);
  }

  #startThread(): void {
    const thread = new Worker(this.#options.code ?? THREAD);
    const onGone = (why: string) => {
      if (this.#thread === thread) this.#failed(why);
    };
    thread.onmessage = ({ data }: MessageEvent<readonly RuleAnswer[]>) => {
      if (this.#thread === thread) this.#answered(thread, data);
    };
    thread.onerror = ({ message }) => onGone(`failed: ${message}`);
    thread.addEventListener("close", () => onGone("ended"));
    thread.unref();
    this.#thread = thread;
    this.#send(thread);
  }

  #failed(why: string): void {
    this.#endThread();
    this.#options.onThreadFault(new Error(`the thread that finds rules ${why}`));
    this.#cancelStart = this.#options.timers.after(RESTART_MS, () => this.#startThread());
    this.#look();
  }

  #endThread(): void {
    const thread = this.#thread;
    this.#thread = null;
    for (const { orders, cancel } of this.#sent) {
      cancel();
      this.#orders.failed(orders);
    }
    this.#sent = [];
    thread?.terminate();
  }
}

export interface LoggedFinderOptions extends Pick<RuleFinderOptions, "timers" | "clock" | "onFound"> {
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: Pick<Metrics, "mitigation">;
}

export function openRuleFinder({ log, limiter, metrics, ...options }: LoggedFinderOptions): RuleFinder {
  const fault = (cause: unknown, message: string) =>
    limiter.pass(message, (suppressed) => log.error({ cause, suppressed }, message));
  return new RuleFinder({
    ...options,
    onFault: (cause) => fault(cause, "the rules of an attack could not be found"),
    onThreadFault: (cause) => {
      metrics.mitigation.ruleThreadFailed();
      fault(cause, "rules are found in the event loop until the next thread runs");
    },
    onWaited: (ms) => metrics.mitigation.rulesFound(ms / 1000),
  });
}
