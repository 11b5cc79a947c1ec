/**
 * Attacks whose rules are looked for elsewhere than where bans are planned: which come first, and that none is looked for
 * twice. Does not know who looks.
 */
import { sizeOfRates } from "../../detection/attack/attack-size.ts";
import { type AttackMessage, SampledAttack } from "../../detection/attack/sampled-attack.ts";
import { messageOf } from "../../system/error-message.ts";
import type { RuleRequest } from "../circumstances.ts";
import type { FoundRules } from "../measure.ts";
import { attackRules } from "./attack-rules.ts";
import { rulesText } from "./rule.ts";

/** A request with the packets as of then, as it is sent to another thread. */
export interface RuleMessage extends Omit<RuleRequest, "attacks"> {
  readonly attacks: readonly AttackMessage[];
}

type SampledRequest = Omit<RuleRequest, "attacks"> & { readonly attacks: readonly SampledAttack[] };

export interface RuleOrder {
  readonly request: SampledRequest;
  readonly message: RuleMessage;
  /** See attack-size.ts. */
  readonly size: number;
  /** Monotonic ms: since then the attack waits for rules. */
  readonly sinceMs: number;
  /** Searches that failed, for these packets or for older ones that these replace. */
  readonly failures: number;
}

/** Searches for the rules of one request that may fail. */
const FAILURES_MAX = 2;
/** Requests that failed so often and are remembered: the oldest is forgotten. */
const FAILED_MAX = 64;

/** `failed`: the message of the fault. */
export type RuleAnswer = { readonly found: FoundRules } | { readonly failed: string };

export function answerTo({ prefix, attacks, flowspec, present }: RuleMessage): RuleAnswer {
  try {
    return {
      found: attackRules(
        prefix,
        attacks.map((each) => SampledAttack.of(each)),
        flowspec,
        present,
      ),
    };
  } catch (cause) {
    return { failed: messageOf(cause) };
  }
}

export class RuleOrders {
  readonly #most: number;
  /** By prefix, as #taken. */
  readonly #waiting = new Map<string, RuleOrder>();
  readonly #taken = new Map<string, RuleOrder>();
  /** By prefix, those that failed too often: they are not looked for again before there are newer packets. */
  readonly #failed = new Map<string, RuleOrder>();

  constructor(most: number) {
    this.#most = most;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * A newer sample replaces an older one. If there are too many, the last one is left out: its ban requests it again.
   * @returns false: there are no sampled packets.
   */
  add(request: RuleRequest, nowMs: number): boolean {
    if (!isSampled(request)) return false;
    const key = request.prefix.text;
    const older = this.#waiting.get(key);
    const failed = this.#failed.get(key);
    const isKnown = (order: RuleOrder | undefined) => order !== undefined && isSame(order.request, request);
    if ([older, this.#taken.get(key), failed].some(isKnown)) return true;
    const size = Math.max(...request.attacks.map(({ attack }) => sizeOfRates(attack.rates)));
    const { sinceMs = nowMs, failures = failed === undefined ? 0 : 1 } = older ?? {};
    this.#waiting.set(key, { request, message: sentOf(request), size, sinceMs, failures });
    const last = this.#waiting.size > this.#most ? this.#sorted().at(-1) : undefined;
    if (last !== undefined) this.#waiting.delete(last.request.prefix.text);
    return true;
  }

  /**
   * The next ones, at most `count`; one that failed is alone. They are being looked for until done(), failed() or putBack(),
   * and newer packets of the same attack wait until then: an older answer never follows a newer one.
   */
  take(count: number): readonly RuleOrder[] {
    const free = this.#sorted().filter(({ request }) => !this.#taken.has(request.prefix.text));
    const isAlone = (free[0]?.failures ?? 0) > 0;
    const next = isAlone ? free.slice(0, 1) : free.filter(({ failures }) => failures === 0).slice(0, count);
    for (const order of next) {
      this.#waiting.delete(order.request.prefix.text);
      this.#taken.set(order.request.prefix.text, order);
    }
    return next;
  }

  done(orders: readonly RuleOrder[]): void {
    for (const { request } of orders) {
      this.#taken.delete(request.prefix.text);
      this.#failed.delete(request.prefix.text);
    }
  }

  /** The search for these did not begin: they wait again, unless there are newer packets. */
  putBack(orders: readonly RuleOrder[]): void {
    this.done(orders);
    for (const order of orders) {
      const key = order.request.prefix.text;
      this.#waiting.set(key, { ...(this.#waiting.get(key) ?? order), failures: order.failures });
    }
  }

  /**
   * The search for these failed: they wait again, each for a search of its own, unless there are newer packets, which do.
   * @returns those that failed too often, which do not wait again.
   */
  failed(orders: readonly RuleOrder[]): readonly RuleOrder[] {
    const failed = orders.map((order) => ({ ...order, failures: order.failures + 1 }));
    const isOver = ({ request, failures }: RuleOrder) =>
      failures >= FAILURES_MAX && !this.#waiting.has(request.prefix.text);
    const over = failed.filter(isOver);
    this.putBack(failed.filter((order) => !over.includes(order)));
    this.done(over);
    for (const order of over) this.#failed.set(order.request.prefix.text, order);
    for (const key of [...this.#failed.keys()].slice(0, -FAILED_MAX)) this.#failed.delete(key);
    return over;
  }

  #sorted(): RuleOrder[] {
    return [...this.#waiting.values()].sort((a, b) => urgencyOf(b) - urgencyOf(a));
  }
}

function isSampled(request: RuleRequest): request is SampledRequest {
  return request.attacks.length > 0 && request.attacks.every((each) => each instanceof SampledAttack);
}

function isSame(a: SampledRequest, b: SampledRequest): boolean {
  const isOfSample = (each: SampledAttack, i: number) => b.attacks[i]?.isOfSample(each) === true;
  const isSameSample = a.attacks.length === b.attacks.length && a.attacks.every(isOfSample);
  return isSameSample && a.flowspec === b.flowspec && rulesText(a.present) === rulesText(b.present);
}

function sentOf({ prefix, attacks, flowspec, present }: SampledRequest): RuleMessage {
  return { prefix, flowspec, present, attacks: attacks.map((each) => each.message()) };
}

/** Attacks without rules come first, large ones before small ones; then those that wait longest. */
function urgencyOf({ request, size }: RuleOrder): number {
  return request.present.length > 0 ? -1 : size;
}
