/**
 * One brain as this node follows it: polls its rule document, checks it against the bounds of this node, keeps it on disk,
 * and reports to it. What brains want together is put in force by the agent.
 */
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import type { ScrubAgentMetrics } from "../../observability/scrub-agent-metrics.ts";
import type { Clock } from "../../system/clock.ts";
import type { Timers } from "../../system/timers.ts";
import type { ScrubAgentConfig } from "./agent-config.ts";
import type { Controller } from "./controller.ts";
import type { BoundsCheck } from "./document-bounds.ts";
import { DocumentFile } from "./document-file.ts";
import type { Enforced, HeldBan } from "./enforcement.ts";
import { aheadMs, heldBans, heldBansOf } from "./held-document.ts";
import { type SourcedBan, sourced } from "./joined-bans.ts";
import { Poller, type PollTrouble, type ReceivedDocument } from "./poller.ts";
import { withLastGood } from "./refusals.ts";
import { Reporter, type ReporterOptions } from "./reporter.ts";
import { BoundsProblem, type ReadingBounds, type RefusedBan, readDocument } from "./rule-document.ts";

/** How one brain is reached. */
export interface BrainAccess {
  readonly url: string;
  readonly controller: Controller;
  /** The text for operators, with a remedy. */
  readonly troubleText: (trouble: PollTrouble) => string;
}

interface BrainFeedOptions extends Pick<ReporterOptions, "filter" | "version"> {
  readonly config: ScrubAgentConfig;
  readonly access: BrainAccess;
  /** Counts the brains in the order of the configuration, from 0. */
  readonly index: number;
  readonly bounds: BoundsCheck;
  readonly reading: () => ReadingBounds;
  /** The rules in force, with the ETag of this brain's document. */
  readonly enforced: () => Enforced;
  /** Prefixes of refused bans, of this brain, that are of the document or have no room. */
  readonly refused: () => readonly RefusedBan[];
  /** The wanted bans are others. */
  readonly onDocument: () => void;
  /** Something that a report says may have changed. */
  readonly onState: () => void;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: ScrubAgentMetrics;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: () => number;
}

/** `refused`: the document of an earlier process is beyond the bounds, and its rules go. */
type Saved = "loaded" | "refused" | "none";

export class BrainFeed {
  readonly #options: BrainFeedOptions;
  readonly #file: DocumentFile;
  readonly #poller: Poller;
  readonly #reporter: Reporter;
  #polling: Promise<void> | null = null;
  #bans: readonly SourcedBan[] = [];
  /** ETag of the document; null: none was taken. */
  etag: string | null = null;
  /** Refused bans of the document itself, as far as it is not for want of room. */
  refused: readonly RefusedBan[] = [];
  /** Why the last document was refused as a whole; null: it was not. */
  refusal: string | null = null;
  /** Since when the brain does not answer, monotonic ms; null: it answers. */
  #unreachableSinceMs: number | null = null;
  #hasAnswered = false;
  #skewMs = 0;

  constructor(options: BrainFeedOptions) {
    const { config, index, access, clock, timers, metrics, random, reading } = options;
    this.#options = options;
    this.#file = new DocumentFile(config.stateDir, index, (cause) => {
      metrics.failed("document_file");
      this.#logError(
        "document file",
        cause,
        "the rule document cannot be saved: after a restart without the service there are no rules",
      );
    });
    this.#poller = new Poller({
      controller: access.controller,
      reading,
      onDocument: (document) => this.#takeDocument(document),
      onTrouble: (trouble, nextMs) => this.#onPollFailed(trouble, nextMs),
      onAnswer: () => this.#onPollSucceeded(),
      count: (result) => metrics.polled(result),
      clock,
      timers,
      random,
    });
    this.#reporter = new Reporter({
      ...options,
      controller: access.controller,
      troubleText: access.troubleText,
      refusal: () => this.refusal,
      skewMs: () => this.#skewMs,
      onStored: () => this.#poller.pollNow(),
    });
  }

  /** Those that have not expired. */
  get bans(): readonly SourcedBan[] {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#bans.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  }

  get isUp(): boolean {
    return this.#hasAnswered && this.#unreachableSinceMs === null;
  }

  get load(): Reporter["load"] {
    return this.#reporter.load;
  }

  start(): void {
    this.#reporter.start();
    this.#polling = this.#poller.run();
  }

  /** Resolves when the last document is on disk. */
  async stop(): Promise<void> {
    this.#reporter.stop();
    this.#poller.stop();
    this.#options.access.controller.close();
    await this.#polling;
    await this.#file.written();
  }

  /** Call it when the rules in force have changed. */
  reportSoon(): void {
    this.#reporter.soon();
  }

  /** In words, for the log. */
  stateText(): string {
    const sinceMs = this.#unreachableSinceMs;
    return sinceMs === null ? "up" : `away for ${Math.round((this.#options.clock.monotonicMs() - sinceMs) / 1000)} s`;
  }

  /** Takes the document of an earlier process. */
  async loadSaved(): Promise<Saved> {
    const { clock, log } = this.#options;
    try {
      const saved = await this.#file.load();
      if (saved === null) return "none";
      if (saved.owner !== this.#owner) {
        log.warn(
          { file: this.#file.path, of: saved.owner },
          "the rule document on disk belongs to another node: ignored",
        );
        return "none";
      }
      const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
      const { bans, refused } = readDocument(saved.text, this.#options.reading());
      const held = heldBansOf(bans, { atMs: saved.savedAtMs, aheadMs: saved.aheadMs }, now);
      this.#want(this.#withinBounds(held, refused), saved.etag);
      return "loaded";
    } catch (cause) {
      if (cause instanceof BoundsProblem) {
        log.error(
          { cause, file: this.#file.path },
          "the rule document on disk is beyond the bounds: all rules removed",
        );
        this.#want([], null);
        return "refused";
      }
      log.error({ cause, file: this.#file.path }, "the rule document on disk is unusable: rules stay unchanged");
      return "none";
    }
  }

  #takeDocument({ text, etag, sentAtMs, ...document }: ReceivedDocument): void {
    const { clock, log, limiter } = this.#options;
    const now = { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const ahead = aheadMs(sentAtMs, now.wallMs);
    const held = this.#withinBounds(heldBans(document.bans, { ...now, aheadMs: ahead }), document.refused);
    this.#skewMs = ahead;
    this.refusal = null;
    if (ahead !== 0) {
      limiter.pass("clock", (suppressed) =>
        log.warn(
          { service_ahead_seconds: Math.round(ahead / 1000), suppressed },
          "the clocks of this node and of the service differ: expiries follow the service's; run NTP on both",
        ),
      );
    }
    this.#want(withLastGood(held, this.refused, this.bans), etag);
    this.#options.onDocument();
    this.#file.save({ text, etag, savedAtMs: now.wallMs, aheadMs: ahead, owner: this.#owner });
  }

  #want(held: readonly HeldBan[], etag: string | null): void {
    this.#bans = sourced(held, this.#bans, this.#options.clock.monotonicMs());
    this.etag = etag;
  }

  /** Those that this node accepts; the others are refused. */
  #withinBounds(held: readonly HeldBan[], unread: readonly RefusedBan[]): readonly HeldBan[] {
    const nowMs = this.#options.clock.monotonicMs();
    const beyond: RefusedBan[] = [];
    const within = held.filter((ban) => {
      const reason = this.#options.bounds.excessOf(ban, nowMs);
      if (reason !== null)
        beyond.push({ prefix: ban.prefix, isVirtual: ban.isVirtual, cause: "out_of_bounds", reason });
      return reason === null;
    });
    this.refused = [...unread, ...beyond];
    return within;
  }

  /** Identifies the node and brain of a document. */
  get #owner(): string {
    const { config, access } = this.#options;
    return `${config.node} at ${access.url}`;
  }

  #onPollFailed(trouble: PollTrouble, nextMs: number): void {
    const { clock, limiter, log, access, onState } = this.#options;
    if ("reason" in trouble && trouble.kind !== "unreachable") this.refusal = trouble.reason;
    onState();
    this.#unreachableSinceMs ??= clock.monotonicMs();
    const key = trouble.kind === "refused" ? `poll ${trouble.status}` : `poll ${trouble.kind}`;
    limiter.pass(this.#keyed(key), (suppressed) =>
      log.warn(
        { problem: access.troubleText(trouble), next_try_seconds: nextMs / 1000, suppressed },
        "no rule document",
      ),
    );
  }

  #onPollSucceeded(): void {
    const { clock, log } = this.#options;
    const sinceMs = this.#unreachableSinceMs;
    if (!this.#hasAnswered) log.info(this.#named({}), "the service answers");
    else if (sinceMs !== null) {
      const after = Math.round((clock.monotonicMs() - sinceMs) / 1000);
      log.info(this.#named({ after_seconds: after }), "the service answers again");
    }
    this.#unreachableSinceMs = null;
    this.refusal = null;
    this.#hasAnswered = true;
  }

  #logError(key: string, cause: unknown, message: string): void {
    const { limiter, log } = this.#options;
    limiter.pass(this.#keyed(key), (suppressed) => log.error({ cause, suppressed }, message));
  }

  #keyed(key: string): string {
    return this.#options.index === 0 ? key : `${key} ${this.#options.index}`;
  }

  /** One brain alone needs no name. */
  #named(fields: object): object {
    const { config, access } = this.#options;
    return config.controller.others.length === 0 ? fields : { service: access.url, ...fields };
  }
}
