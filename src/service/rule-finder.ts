/**
 * Finds the rules of attacks in threads, the worst attacks first. While there is none, because they failed, they are found
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
import { nextTurn, type Timers } from "../system/timers.ts";
import { FinderThread, type ThreadFailure } from "./finder-thread.ts";

/** Attacks whose rules wait to be looked for: each is in the list once. */
const RULE_ORDERS_MAX = ACTIVE_ATTACKS_MAX;

const CODE = new URL("./rule-thread.ts", import.meta.url);
/** The rules of an attack do not depend on those of another, nor on the thread that finds them. */
const THREADS = 2;
/** Attacks in one message. */
const ATTACKS_AT_ONCE = 16;

type OnFound = (answers: readonly FoundRequest[]) => void;

interface RuleFinderOptions {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly onFound: OnFound;
  /** The rules of one attack could not be made. */
  readonly onFault: (cause: unknown) => void;
  /** The other threads find its rules; without one, the event loop does until the next thread runs. */
  readonly onThreadFault: (cause: unknown) => void;
  /** Time from the first request until the rules are found. */
  readonly onWaited: (ms: number) => void;
  /** Default: the thread of the service. */
  readonly code?: URL;
  /** Default: THREADS. */
  readonly threads?: number;
}

export class RuleFinder {
  readonly #options: RuleFinderOptions;
  readonly #orders = new RuleOrders(RULE_ORDERS_MAX);
  readonly #threads: readonly FinderThread[];
  #isRunning = false;
  #isLookingHere = false;

  constructor(options: RuleFinderOptions) {
    const { timers, code = CODE, threads = THREADS } = options;
    this.#options = options;
    const own = {
      ...{ timers, code, onReady: () => this.#look() },
      onAnswered: (orders: readonly RuleOrder[], answers: readonly RuleAnswer[]) => {
        this.#orders.done(orders);
        // The thread goes on meanwhile.
        this.#look();
        this.#give(orders, answers);
      },
      onFailed: (failure: ThreadFailure) => this.#failed(failure),
    };
    this.#threads = Array.from({ length: threads }, () => new FinderThread(own));
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (const thread of this.#threads) thread.start();
  }

  /** The threads end; what waits is not found. */
  stop(): void {
    this.#isRunning = false;
    for (const thread of this.#threads) this.#orders.putBack(thread.end());
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

  /** More attacks wait than a thread looks for at once. */
  get isBehind(): boolean {
    return this.waiting > ATTACKS_AT_ONCE;
  }

  /** Fills the threads, the idle one first. */
  #look(): void {
    while (this.waiting > 0) {
      const thread = this.#threads.reduce((a, b) => (b.room > a.room ? b : a));
      const orders = thread.room === 0 ? [] : this.#orders.take(ATTACKS_AT_ONCE);
      if (orders.length === 0) break;
      thread.send(orders);
    }
    if (!this.#hasThread) void this.#lookHere();
  }

  get #hasThread(): boolean {
    return this.#threads.some(({ isRunning }) => isRunning);
  }

  /** Attacks that a thread was too slow for twice get no rules from these packets; those that end threads get them here. */
  #failed({ why, isSlow, current, next }: ThreadFailure): void {
    this.#orders.putBack(next);
    const twice = this.#orders.failed(current);
    const failed = `the thread that finds rules ${why}`;
    this.#options.onThreadFault(new Error(failed));
    this.#look();
    this.#give(
      twice,
      twice.map(({ message }) => (isSlow ? { failed } : answerTo(message))),
    );
  }

  async #lookHere(): Promise<void> {
    if (this.#isLookingHere) return;
    this.#isLookingHere = true;
    while (this.#isRunning && !this.#hasThread && this.waiting > 0) {
      await nextTurn();
      const orders = this.#orders.take(1);
      this.#orders.done(orders);
      this.#give(
        orders,
        orders.map(({ message }) => answerTo(message)),
      );
    }
    this.#isLookingHere = false;
  }

  #give(orders: readonly RuleOrder[], answers: readonly RuleAnswer[]): void {
    const { clock, onFound, onFault, onWaited } = this.#options;
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
}

interface LoggedFinderOptions extends Pick<RuleFinderOptions, "timers" | "clock" | "onFound"> {
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
      fault(cause, "a thread that finds rules ended: the next one starts in a second");
    },
    onWaited: (ms) => metrics.mitigation.rulesFound(ms / 1000),
  });
}
