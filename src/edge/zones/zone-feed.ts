/**
 * Provides the current zone documents: combines zones, keys, levers and ACME data, and notifies a watcher when
 * documents change through a command, a reload or the wall clock (docs/interface.md#edge-zones-poll).
 */

import type { EdgeNodes } from "../edge-nodes.ts";
import type { AcmeIssuance } from "./acme-issuance.ts";
import { type KeysOf, nextTurnMs } from "./clearance-keys.ts";
import type { Levers } from "./levers.ts";
import type { Zone } from "./zone.ts";
import { type DocumentsReading, type ZoneDocument, ZoneDocuments, type ZoneState } from "./zone-documents.ts";

interface ZoneFeedOptions {
  readonly nodes: EdgeNodes;
  readonly levers: Levers;
  readonly acme: AcmeIssuance;
  readonly keys: FeedKeys;
  /** Wall clock, ms. */
  readonly nowMs: () => number;
  /** Runs `fn` once, `ms` from now, unless it is cancelled before. */
  readonly after: (ms: number, fn: () => void) => () => void;
  /** Lets other work run between two slices. */
  readonly nextTurn: () => Promise<void>;
}

/** Keys at a moment of the wall clock, ms. */
export interface FeedKeys {
  at(nowMs: number): KeysOf;
  /** Keys from the next midnight on. */
  ahead(nowMs: number): KeysOf;
}

interface FeedWatcher {
  /** Some or all documents have changed. */
  changed(): void;
  /** Nodes, tokens and bindings may have changed as well. */
  reloaded(): void;
}

/** A clock change is noticed within this time. */
const LOOK_MS = 1000;
/** How long before midnight the next day's keys are derived, and the number of zones in one slice. */
const AHEAD_MS = 60_000;
const SLICE = 100;

export class ZoneFeed {
  readonly #options: ZoneFeedOptions;
  readonly #documents: ZoneDocuments;
  /** When the documents were made, and until when they are valid. */
  #madeAtMs: number;
  #dueAtMs: number;
  #derivedBeforeMs = 0;
  #watcher: FeedWatcher | null = null;
  #cancel: () => void = () => {};

  constructor(options: ZoneFeedOptions) {
    this.#options = options;
    const nowMs = options.nowMs();
    this.#documents = new ZoneDocuments(this.#stateAt(nowMs), nowMs);
    this.#madeAtMs = nowMs;
    this.#dueAtMs = this.#documents.nextChangeMs;
  }

  /** Sets the watcher, which answers the polls. */
  watch(watcher: FeedWatcher): void {
    this.#watcher = watcher;
  }

  start(): void {
    // All nodes poll at once after a restart: the first one must not wait until a thousand zones are written.
    void this.prepare(this.#options.nodes.zones());
    this.#look();
  }

  stop(): void {
    this.#cancel();
  }

  /** @param scope the node's; `all`: every zone. */
  documentFor(scope: readonly string[] | "all"): ZoneDocument {
    if (this.#isDue()) this.changed();
    return this.#documents.of(scope);
  }

  /** A lever or ACME data has changed or expired. */
  changed(): void {
    this.#refresh();
    this.#watcher?.changed();
  }

  /** Nodes and zones have changed; call `prepare` with the new zones first. */
  reloaded(): void {
    this.#refresh();
    this.#watcher?.reloaded();
  }

  /** Writes future zones in slices, so that the reload itself is short. */
  async prepare(zones: readonly Zone[]): Promise<void> {
    const { nowMs, nextTurn } = this.#options;
    await this.#documents.prepare({ ...this.#stateAt(nowMs()), zones }, nowMs(), nextTurn);
  }

  reading(): DocumentsReading {
    return this.#documents.reading();
  }

  #refresh(): void {
    const nowMs = this.#options.nowMs();
    this.#documents.refresh(this.#stateAt(nowMs), nowMs);
    this.#madeAtMs = nowMs;
    this.#dueAtMs = this.#documents.nextChangeMs;
  }

  #stateAt(nowMs: number): ZoneState {
    const { nodes, levers, acme, keys } = this.#options;
    levers.settle(nowMs);
    acme.settle(nowMs);
    return {
      zones: nodes.zones(),
      keysOf: keys.at(nowMs),
      overrides: new Map(levers.all),
      challenges: acme.challenges,
      grants: acme.grants,
    };
  }

  /** Also true if the clock was set back to before the documents were made. */
  #isDue(): boolean {
    const nowMs = this.#options.nowMs();
    return nowMs >= this.#dueAtMs || nowMs < this.#madeAtMs;
  }

  #look(): void {
    const { keys, nowMs, after } = this.#options;
    if (this.#isDue()) this.changed();
    keys.at(nowMs());
    if (nextTurnMs(nowMs()) - nowMs() <= AHEAD_MS) void this.#deriveAhead();
    const dueInMs = Math.ceil(this.#dueAtMs - nowMs());
    this.#cancel = after(Math.max(1, Math.min(dueInMs, LOOK_MS)), () => this.#look());
  }

  /** Deriving a thousand zones' keys takes 30 ms, which would delay every poll at midnight. */
  async #deriveAhead(): Promise<void> {
    const { nodes, keys, nowMs, nextTurn } = this.#options;
    const turnMs = nextTurnMs(nowMs());
    if (this.#derivedBeforeMs === turnMs) return;
    this.#derivedBeforeMs = turnMs;
    const keysOf = keys.ahead(nowMs());
    for (const [i, zone] of nodes.zones().entries()) {
      keysOf(zone);
      if (i % SLICE === SLICE - 1) await nextTurn();
    }
  }
}
