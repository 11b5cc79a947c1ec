/**
 * Long polls for all channels (docs/interface.md#long-polls): a poll whose caller has the current document is parked
 * until the document changes, the hold time ends, the caller leaves, or a reload changes its answer. One instance per
 * channel. Does not know what is polled.
 */
import type { Principal } from "../../access/principal.ts";
import type { PolledDocument } from "../../nodes/polled-document.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { Refusal } from "../refusal.ts";
import type { Answer, Call } from "../route.ts";
import { goneAnswer } from "../server/answer.ts";
import { type HeldTags, readIfNoneMatch } from "../server/etag.ts";
import { HoldTable } from "./hold-table.ts";
import { documentAnswer, unchangedAnswer } from "./poll-answer.ts";

/** Parked polls of one channel: for one token and configured node, and the minimum of the total. */
const HOLDS_PER_TOKEN = 4;
const HOLDS_PER_NODE = 2;
const HOLDS_LEAST = 8;

/** The document for an accepted poll. */
export interface Found {
  readonly kind: "document";
  /** The document's key for changed(). */
  readonly key: string;
  readonly document: PolledDocument;
}

export type PollCall = Pick<Call, "principal" | "request" | "recheck">;

interface HoldsOptions<Poll extends PollCall> {
  readonly holdMs: number;
  /** Read at each poll, since it depends on the configuration. */
  readonly caps: () => HoldCaps;
  /**
   * The answer to a poll that passed the gate; called again, after the gate, whenever a parked poll may end.
   * Synchronous, so that nothing can change between this decision and parking.
   */
  readonly find: (poll: Poll) => Found | Refusal;
  readonly presence: PollPresence<Poll>;
  /** The caller gets the document, or waits with the tag of it. Absent: nothing depends on it. */
  readonly hasDocument?: (poll: Poll, document: PolledDocument) => void;
  readonly metrics: HoldMetrics;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "after">;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
}

/** Called for accepted polls, answered at once or parked; not for polls that are refused on arrival. */
interface PollPresence<Poll> {
  started(poll: Poll): void;
  ended(poll: Poll): void;
}

/** Only a node's own polls show that it is alive, not an operator's polls for its document. */
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

/** Parked polls answered in one turn of the event loop: a few ms, even with a thousand tokens. */
export const SLICE_POLLS = 16;
/** Fewer polls if they take longer, since each may need its own document. */
const SLICE_MS = 4;

/** The bounds of a channel with this many nodes (docs/interface.md#long-poll-caps). */
export function holdCaps(nodes: number): HoldCaps {
  return { perToken: HOLDS_PER_TOKEN, total: Math.max(HOLDS_LEAST, HOLDS_PER_NODE * nodes) };
}

interface Hold<Poll> {
  readonly poll: Poll;
  readonly tokenName: string;
  readonly node: string | null;
  readonly tags: ReadonlySet<string>;
  readonly answer: PromiseWithResolvers<Response | Refusal>;
  key: string;
  /** Why it ends although its document has not changed; null: it does not end. */
  due: "expired" | "stopped" | null;
  /** The caller must be checked again after a reload. */
  needsCallerCheck: boolean;
  /** Cancels its timer and its listener for the caller's leaving. */
  release: Cancel;
}

type Outcome =
  | { readonly kind: "ends"; readonly reason: HoldEnd; readonly answer: Answer }
  | { readonly kind: "stays"; readonly key: string };

export class Holds<Poll extends PollCall> {
  readonly #options: HoldsOptions<Poll>;
  readonly #table = new HoldTable<Hold<Poll>>();
  /** Holds to be checked again, in this order. */
  readonly #woken = new Set<Hold<Poll>>();
  #drained: Promise<void> | null = null;
  /** Counts calls of `changed`, `changedAll` and `recheckAll`, to notice one during a check. */
  #wakes = 0;
  #isStopped = false;

  constructor(options: HoldsOptions<Poll>) {
    this.#options = options;
  }

  /** Number of parked polls. */
  get size(): number {
    return this.#table.size;
  }

  poll(poll: Poll): Answer {
    const { find, presence, metrics } = this.#options;
    const wakesBefore = this.#wakes;
    const found = find(poll);
    if (found.kind !== "document") return found;
    const { key, document } = found;
    const tags = readIfNoneMatch(poll.request.headers.get("if-none-match"));
    if (!includes(tags, document.etag)) {
      presence.started(poll);
      presence.ended(poll);
      return this.#given(poll, document);
    }
    if (this.#isStopped) return unchangedAnswer(document);
    if (this.#isFull(poll.principal)) {
      metrics.refused();
      return { kind: "too_many_holds" };
    }
    // A caller that sends `*` waits for the document after this one.
    const hold = this.#park(poll, key, tags instanceof Set ? tags : new Set([document.etag]));
    if (tags !== "any") this.#options.hasDocument?.(poll, document);
    if (this.#wakes !== wakesBefore) this.#wake([hold]);
    return hold.answer.promise;
  }

  /** The bytes of this document have changed. */
  changed(key: string): void {
    this.#wakes++;
    this.#wake(this.#table.ofKey(key));
  }

  /** All documents may have changed, but nothing else. */
  changedAll(): void {
    this.#wakes++;
    this.#wake(this.#table.all());
  }

  /** After a reload: every parked poll gets the answer that a new poll would get, or stays parked. */
  recheckAll(): void {
    this.#wakes++;
    for (const hold of this.#table.all()) hold.needsCallerCheck = true;
    this.#wake(this.#table.all());
  }

  /** Resolves when all woken polls have been checked and answered. */
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

  #isFull({ operator, node }: Principal): boolean {
    const { perToken, total } = this.#options.caps();
    // On an open API callers have no names: only the total is limited.
    if (operator !== "" && this.#table.countOf(operator) >= perToken) return true;
    if (this.#table.size < total) return false;
    // Whatever others park, one poll of each node with a token of its own finds a place.
    return node === null || this.#table.hasOfNode(node);
  }

  #park(poll: Poll, key: string, tags: ReadonlySet<string>): Hold<Poll> {
    const { timers, holdMs, presence, metrics } = this.#options;
    const { signal } = poll.request;
    const hold: Hold<Poll> = {
      poll,
      tokenName: poll.principal.operator,
      node: poll.principal.node,
      tags,
      answer: Promise.withResolvers(),
      key,
      due: null,
      needsCallerCheck: false,
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
    // An abort before this call does not fire the listener.
    if (signal.aborted) onAbort();
    return hold;
  }

  #wake(holds: Iterable<Hold<Poll>>): void {
    for (const hold of holds) if (this.#table.has(hold)) this.#woken.add(hold);
    if (this.#woken.size > 0) this.#drained ??= this.#drain();
  }

  /** Works in slices, from the next turn on, so that several changes are handled as one. */
  async #drain(): Promise<void> {
    const { nextTurn, clock } = this.#options;
    await nextTurn();
    let [inSlice, begunMs] = [0, clock.monotonicMs()];
    // Iterating a set also visits items that are added meanwhile.
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
    hold.needsCallerCheck = false;
    this.#move(hold, outcome.key);
    if (this.#wakes !== wakesBefore) this.#wake([hold]);
  }

  #outcome({ poll, tags, due, needsCallerCheck }: Hold<Poll>): Outcome {
    const { find } = this.#options;
    let found: Found | Refusal;
    try {
      const known = needsCallerCheck ? null : find(poll);
      // If nothing has changed, the caller need not be identified, which is slow with many tokens.
      if (due === null && known?.kind === "document" && tags.has(known.document.etag)) {
        return { kind: "stays", key: known.key };
      }
      const caller = poll.recheck();
      // Checked like a new poll, since a reload may have changed the caller's rights.
      found = caller.kind === "principal" ? (known ?? find({ ...poll, principal: caller })) : caller;
    } catch (cause) {
      // Fails like a new poll would; the other polls are still answered.
      return { kind: "ends", reason: "failed", answer: Promise.reject(cause) };
    }
    if (found.kind !== "document") return { kind: "ends", reason: "refused", answer: found };
    const { key, document } = found;
    if (!tags.has(document.etag)) return { kind: "ends", reason: "changed", answer: this.#given(poll, document) };
    if (due !== null) return { kind: "ends", reason: due, answer: unchangedAnswer(document) };
    return { kind: "stays", key };
  }

  #given(poll: Poll, document: PolledDocument): Answer {
    this.#options.hasDocument?.(poll, document);
    return documentAnswer(document, poll.request);
  }

  /** A reload may have changed the node's placement without changing its bytes. */
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
