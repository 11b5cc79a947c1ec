/**
 * Long polls, one mechanism for every channel (docs/interface.md#long-polls): a poll whose document is still the one
 * that its caller has is parked until the document changes, the hold is over, the caller leaves, or a reload has
 * another answer for it. Each channel has its own. Knows nothing of what is polled for.
 */
import { HOLDS_LEAST, HOLDS_PER_NODE, HOLDS_PER_TOKEN } from "../../limits.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { Refusal } from "../refusal.ts";
import type { Answer, Call } from "../route.ts";
import { goneAnswer } from "../server/answer.ts";
import { type HeldTags, readIfNoneMatch } from "../server/etag.ts";
import { documentAnswer, type HeldDocument, unchangedAnswer } from "./held-document.ts";
import { HoldTable } from "./hold-table.ts";

/** What a poll gets that may have it. */
export interface Found {
  readonly kind: "document";
  /** What `changed` names the document by. */
  readonly key: string;
  readonly document: HeldDocument;
}

export type PollCall = Pick<Call, "principal" | "request" | "recheck">;

export interface HoldsOptions<Poll extends PollCall> {
  readonly holdMs: number;
  /** Read at each poll, since it follows the configuration. */
  readonly caps: () => HoldCaps;
  /**
   * What a poll gets that passed the gate; asked again, after the gate, whenever a parked poll may end. Answers at once:
   * nothing can change between a judgement and the parking that follows from it.
   */
  readonly find: (poll: Poll) => Found | Refusal;
  readonly presence: PollPresence<Poll>;
  readonly metrics: HoldMetrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "after">;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
}

/** Told of accepted polls, answered at once or parked; of one that is refused when it comes it is told nothing. */
export interface PollPresence<Poll> {
  started(poll: Poll): void;
  ended(poll: Poll): void;
}

/** Whose polls say that a node is there: its own. An operator who asks what a node is told is not that node. */
export function agentPresence(nodes: {
  pollStarted(node: string, operator: string): void;
  pollEnded(node: string): void;
}): PollPresence<Call> {
  const onAgent = ({ principal, node }: Call, then: (node: string) => void) => {
    if (principal.role === "agent" && node !== null) then(node);
  };
  return {
    started: (call) => onAgent(call, (node) => nodes.pollStarted(node, call.principal.operator)),
    ended: (call) => onAgent(call, (node) => nodes.pollEnded(node)),
  };
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

/** Parked polls that are answered in one turn of the event loop: a few ms, also where there are a thousand tokens. */
export const SLICE_POLLS = 16;
/** Fewer where these take longer, since each may have a document of its own to be written. */
const SLICE_MS = 4;

/** The bounds of a channel with this many nodes (docs/interface.md#long-poll-caps). */
export function holdCaps(nodes: number): HoldCaps {
  return { perToken: HOLDS_PER_TOKEN, total: Math.max(HOLDS_LEAST, HOLDS_PER_NODE * nodes) };
}

interface Hold<Poll> {
  readonly poll: Poll;
  readonly tokenName: string;
  readonly tags: ReadonlySet<string>;
  readonly answer: PromiseWithResolvers<Response | Refusal>;
  key: string;
  /** Why it ends although its document has not changed; null: it does not. */
  due: "expired" | "stopped" | null;
  /** Its caller may be another, since a reload. */
  isCallerInDoubt: boolean;
  /** Ends its timer, and its ear for the caller's leaving. */
  release: Cancel;
}

type Outcome =
  | { readonly kind: "ends"; readonly reason: HoldEnd; readonly answer: Answer }
  | { readonly kind: "stays"; readonly key: string };

export class Holds<Poll extends PollCall> {
  readonly #options: HoldsOptions<Poll>;
  readonly #table = new HoldTable<Hold<Poll>>();
  /** To be judged again, in this order. */
  readonly #woken = new Set<Hold<Poll>>();
  #drained: Promise<void> | null = null;
  /** Counts calls of `changed`, `changedAll` and `judgeAll`, to notice one in the midst of a judgement. */
  #wakes = 0;
  #isStopped = false;

  constructor(options: HoldsOptions<Poll>) {
    this.#options = options;
  }

  /** Parked now. */
  get size(): number {
    return this.#table.size;
  }

  poll(poll: Poll): Answer {
    const { find, presence, metrics } = this.#options;
    const { operator } = poll.principal;
    const wakesBefore = this.#wakes;
    const found = find(poll);
    if (found.kind !== "document") return found;
    const { key, document } = found;
    const tags = readIfNoneMatch(poll.request.headers.get("if-none-match"));
    if (!includes(tags, document.etag)) {
      presence.started(poll);
      presence.ended(poll);
      return documentAnswer(document, poll.request);
    }
    if (this.#isStopped) return unchangedAnswer(document);
    if (this.#isFull(operator)) {
      metrics.refused();
      return { kind: "too_many_holds" };
    }
    // Whoever says `*` waits for another document than this one.
    const hold = this.#park(poll, key, tags instanceof Set ? tags : new Set([document.etag]));
    if (this.#wakes !== wakesBefore) this.#wake([hold]);
    return hold.answer.promise;
  }

  /** The bytes of this document are others now. */
  changed(key: string): void {
    this.#wakes++;
    this.#wake(this.#table.ofKey(key));
  }

  /** All documents may be others, and nothing else is. */
  changedAll(): void {
    this.#wakes++;
    this.#wake(this.#table.all());
  }

  /** After a reload: every parked poll gets what a fresh one would get, and stays when that is to be parked. */
  judgeAll(): void {
    this.#wakes++;
    for (const hold of this.#table.all()) hold.isCallerInDoubt = true;
    this.#wake(this.#table.all());
  }

  /** Resolves once everybody was told who is to be told of anything. */
  async drained(): Promise<void> {
    await this.#drained;
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

  #park(poll: Poll, key: string, tags: ReadonlySet<string>): Hold<Poll> {
    const { timers, holdMs, presence, metrics } = this.#options;
    const { signal } = poll.request;
    const hold: Hold<Poll> = {
      poll,
      tokenName: poll.principal.operator,
      tags,
      answer: Promise.withResolvers(),
      key,
      due: null,
      isCallerInDoubt: false,
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
    presence.started(poll);
    metrics.parked();
    // An event that was before is not told again.
    if (signal.aborted) onAbort();
    return hold;
  }

  #wake(holds: Iterable<Hold<Poll>>): void {
    for (const hold of holds) if (this.#table.has(hold)) this.#woken.add(hold);
    if (this.#woken.size > 0) this.#drained ??= this.#drain();
  }

  /** In slices, and not before the next turn: several changes at once are one. */
  async #drain(): Promise<void> {
    const { nextTurn, clock } = this.#options;
    await nextTurn();
    let [inSlice, begunMs] = [0, clock.monotonicMs()];
    // A set gives out what is added while it is gone through, too.
    for (const hold of this.#woken) {
      this.#woken.delete(hold);
      this.#judgeAgain(hold);
      inSlice++;
      if (inSlice < SLICE_POLLS && clock.monotonicMs() - begunMs < SLICE_MS) continue;
      await nextTurn();
      [inSlice, begunMs] = [0, clock.monotonicMs()];
    }
    this.#drained = null;
  }

  #judgeAgain(hold: Hold<Poll>): void {
    const wakesBefore = this.#wakes;
    const outcome = this.#outcome(hold);
    if (outcome.kind === "ends") {
      this.#end(hold, outcome.reason, outcome.answer);
      return;
    }
    hold.isCallerInDoubt = false;
    this.#move(hold, outcome.key);
    if (this.#wakes !== wakesBefore) this.#wake([hold]);
  }

  #outcome({ poll, tags, due, isCallerInDoubt }: Hold<Poll>): Outcome {
    const { find } = this.#options;
    let found: Found | Refusal;
    try {
      const known = isCallerInDoubt ? null : find(poll);
      // Who it is from need not be known to leave it: that takes long where there are many tokens.
      if (due === null && known?.kind === "document" && tags.has(known.document.etag)) {
        return { kind: "stays", key: known.key };
      }
      const caller = poll.recheck();
      // As a fresh one would come: a reload may have made another caller of it.
      found = caller.kind === "principal" ? (known ?? find({ ...poll, principal: caller })) : caller;
    } catch (cause) {
      // Fails as a fresh poll would; the others still get their answers.
      return { kind: "ends", reason: "failed", answer: Promise.reject(cause) };
    }
    if (found.kind !== "document") return { kind: "ends", reason: "refused", answer: found };
    const { key, document } = found;
    if (!tags.has(document.etag))
      return { kind: "ends", reason: "changed", answer: documentAnswer(document, poll.request) };
    if (due !== null) return { kind: "ends", reason: due, answer: unchangedAnswer(document) };
    return { kind: "stays", key };
  }

  /** A reload may place its node elsewhere, with the same bytes for now. */
  #move(hold: Hold<Poll>, key: string): void {
    if (hold.key === key) return;
    this.#table.remove(hold);
    hold.key = key;
    this.#table.add(hold);
  }

  #end(hold: Hold<Poll>, reason: HoldEnd, answer: Answer): void {
    hold.release();
    this.#table.remove(hold);
    this.#woken.delete(hold);
    this.#options.presence.ended(hold.poll);
    this.#options.metrics.ended(reason);
    hold.answer.resolve(answer);
  }
}

function includes(tags: HeldTags | null, etag: string): boolean {
  return tags === "any" || (tags?.has(etag) ?? false);
}
