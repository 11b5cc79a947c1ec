/**
 * Long polls, one mechanism for every channel (interface 4.5, 4.6): a poll whose document is still the one that its
 * caller has is parked until the document changes, the hold is over, the caller leaves, or a reload has another answer
 * for it. Each channel has its own. Knows nothing of what is polled for.
 */
import { HOLDS_LEAST, HOLDS_PER_NODE, HOLDS_PER_TOKEN } from "../limits.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import { goneAnswer } from "./answer.ts";
import { type HeldTags, readIfNoneMatch } from "./etag.ts";
import { documentAnswer, type HeldDocument, unchangedAnswer } from "./held-document.ts";
import { HoldTable } from "./hold-table.ts";
import { refuse } from "./refusal.ts";

/** What a poll that came this moment would be told. */
export type Verdict =
  | { readonly kind: "refused"; readonly answer: Response }
  /** `key` is what `changed` names the document by. */
  | { readonly kind: "document"; readonly key: string; readonly document: HeldDocument };

export interface PollCall {
  readonly principal: { readonly operator: string };
  readonly request: Request;
}

export interface HoldsOptions<Call extends PollCall> {
  readonly holdMs: number;
  /** Read at each poll, since it follows the configuration. */
  readonly caps: () => HoldCaps;
  /**
   * All of it, from the token on, since it is asked again when a parked poll ends. Answers at once: nothing can change
   * between a judgement and the parking that follows from it.
   */
  readonly judge: (call: Call) => Verdict;
  readonly presence: PollPresence<Call>;
  readonly metrics: HoldMetrics;
  readonly timers: Pick<Timers, "after">;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
}

/** Told of accepted polls, answered at once or parked; of one that is refused when it comes it is told nothing. */
export interface PollPresence<Call> {
  started(call: Call): void;
  ended(call: Call): void;
}

export interface HoldCaps {
  readonly perToken: number;
  readonly total: number;
}

export type HoldEnd = "changed" | "expired" | "refused" | "aborted" | "stopped" | "failed";

export interface HoldMetrics {
  parked(): void;
  ended(reason: HoldEnd): void;
  refused(): void;
}

/** Parked polls that are answered in one turn of the event loop: a few ms of work. */
export const SLICE_POLLS = 64;

/** The bounds of a channel with this many nodes (interface, section 8). */
export function holdCaps(nodes: number): HoldCaps {
  return { perToken: HOLDS_PER_TOKEN, total: Math.max(HOLDS_LEAST, HOLDS_PER_NODE * nodes) };
}

interface Hold<Call> {
  readonly call: Call;
  readonly tokenName: string;
  readonly tags: ReadonlySet<string>;
  readonly answer: PromiseWithResolvers<Response>;
  key: string;
  /** Why it ends although its document has not changed; null: it does not. */
  due: "expired" | "stopped" | null;
  /** Ends its timer, and its ear for the caller's leaving. */
  release: Cancel;
}

type Outcome =
  | { readonly kind: "ends"; readonly reason: HoldEnd; readonly answer: Response | Promise<never> }
  | { readonly kind: "stays"; readonly key: string };

export class Holds<Call extends PollCall> {
  readonly #options: HoldsOptions<Call>;
  readonly #table = new HoldTable<Hold<Call>>();
  /** To be judged again, in this order. */
  readonly #woken = new Set<Hold<Call>>();
  #drained: Promise<void> | null = null;
  /** Counts calls of `changed` and `judgeAll`, to notice one in the midst of a judgement. */
  #wakes = 0;
  #isStopped = false;

  constructor(options: HoldsOptions<Call>) {
    this.#options = options;
  }

  /** Parked now. */
  get size(): number {
    return this.#table.size;
  }

  poll(call: Call): Response | Promise<Response> {
    const { judge, presence } = this.#options;
    const wakesBefore = this.#wakes;
    const verdict = judge(call);
    if (verdict.kind === "refused") return verdict.answer;
    const { key, document } = verdict;
    const tags = readIfNoneMatch(call.request.headers.get("if-none-match"));
    if (!includes(tags, document.etag)) {
      presence.started(call);
      presence.ended(call);
      return documentAnswer(document);
    }
    if (this.#isStopped) return unchangedAnswer(document);
    if (this.#isFull(call.principal.operator)) {
      this.#options.metrics.refused();
      return refuse({ kind: "too_many_holds" });
    }
    // Whoever says `*` waits for another document than this one.
    const hold = this.#park(call, key, tags instanceof Set ? tags : new Set([document.etag]));
    if (this.#wakes !== wakesBefore) this.#wake([hold]);
    return hold.answer.promise;
  }

  /** The bytes of this document are others now. */
  changed(key: string): void {
    this.#wakes++;
    this.#wake(this.#table.ofKey(key));
  }

  /** After a reload: every parked poll gets what a fresh one would get, and stays when that is to be parked. */
  judgeAll(): void {
    this.#wakes++;
    this.#wake(this.#table.all());
  }

  /** Ends every hold and parks no more. Resolves once all are answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const hold of this.#table.all()) hold.due = "stopped";
    this.#wake(this.#table.all());
    await this.#drained;
  }

  #isFull(tokenName: string): boolean {
    const { perToken, total } = this.#options.caps();
    if (this.#table.size >= total) return true;
    // On an open API nobody has a name: there the total alone counts.
    return tokenName !== "" && this.#table.countOf(tokenName) >= perToken;
  }

  #park(call: Call, key: string, tags: ReadonlySet<string>): Hold<Call> {
    const { timers, holdMs, presence, metrics } = this.#options;
    const { signal } = call.request;
    const answer = Promise.withResolvers<Response>();
    const hold: Hold<Call> = {
      call,
      tokenName: call.principal.operator,
      tags,
      answer,
      key,
      due: null,
      release: () => {},
    };
    const cancelTimer = timers.after(holdMs, () => {
      hold.due = "expired";
      this.#wake([hold]);
    });
    const onAbort = () => this.#end(hold, "aborted", goneAnswer());
    signal.addEventListener("abort", onAbort);
    hold.release = () => {
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
    };
    this.#table.add(hold);
    presence.started(call);
    metrics.parked();
    // An event that was before is not told again.
    if (signal.aborted) onAbort();
    return hold;
  }

  #wake(holds: Iterable<Hold<Call>>): void {
    for (const hold of holds) if (this.#table.has(hold)) this.#woken.add(hold);
    if (this.#woken.size > 0) this.#drained ??= this.#drain();
  }

  /** In slices, and not before the next turn: several changes at once are one. */
  async #drain(): Promise<void> {
    const { nextTurn } = this.#options;
    await nextTurn();
    let inSlice = 0;
    // A set gives out what is added while it is gone through, too.
    for (const hold of this.#woken) {
      this.#woken.delete(hold);
      this.#judgeAgain(hold);
      inSlice = (inSlice + 1) % SLICE_POLLS;
      if (inSlice === 0) await nextTurn();
    }
    this.#drained = null;
  }

  #judgeAgain(hold: Hold<Call>): void {
    const wakesBefore = this.#wakes;
    const outcome = this.#outcome(hold);
    if (outcome.kind === "ends") {
      this.#end(hold, outcome.reason, outcome.answer);
      return;
    }
    this.#move(hold, outcome.key);
    if (this.#wakes !== wakesBefore) this.#wake([hold]);
  }

  #outcome({ call, tags, due }: Hold<Call>): Outcome {
    let verdict: Verdict;
    try {
      verdict = this.#options.judge(call);
    } catch (cause) {
      // Fails as a fresh poll would; the others still get their answers.
      return { kind: "ends", reason: "failed", answer: Promise.reject(cause) };
    }
    if (verdict.kind === "refused") return { kind: "ends", reason: "refused", answer: verdict.answer };
    const { key, document } = verdict;
    if (!tags.has(document.etag)) return { kind: "ends", reason: "changed", answer: documentAnswer(document) };
    if (due !== null) return { kind: "ends", reason: due, answer: unchangedAnswer(document) };
    return { kind: "stays", key };
  }

  /** A reload may place its node elsewhere, with the same bytes for now. */
  #move(hold: Hold<Call>, key: string): void {
    if (hold.key === key) return;
    this.#table.remove(hold);
    hold.key = key;
    this.#table.add(hold);
  }

  #end(hold: Hold<Call>, reason: HoldEnd, answer: Response | Promise<never>): void {
    hold.release();
    this.#table.remove(hold);
    this.#woken.delete(hold);
    this.#options.presence.ended(hold.call);
    this.#options.metrics.ended(reason);
    hold.answer.resolve(answer);
  }
}

function includes(tags: HeldTags | null, etag: string): boolean {
  return tags === "any" || (tags?.has(etag) ?? false);
}
