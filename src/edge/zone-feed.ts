/**
 * What edge nodes are told, as of now: brings zones, keys, levers and ACME together into documents, and tells whoever
 * answers polls when these are others, by an order, a reload, or by the wall clock alone
 * (docs/interface.md#edge-zones-poll).
 */
import type { AcmeIssuance } from "./acme-issuance.ts";
import { type KeysOf, nextTurnMs } from "./clearance-keys.ts";
import type { EdgeNodes } from "./edge-nodes.ts";
import type { Levers } from "./levers.ts";
import type { Zone } from "./zone.ts";
import { type DocumentsReading, type ZoneDocument, ZoneDocuments, type ZoneState } from "./zone-documents.ts";

export interface ZoneFeedOptions {
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

/** At a moment of the wall clock, ms. */
export interface FeedKeys {
  at(nowMs: number): KeysOf;
  /** Those of the next midnight on. */
  ahead(nowMs: number): KeysOf;
}

export interface FeedWatcher {
  /** Documents are others now, some or all. */
  changed(): void;
  /** Nodes, tokens and bindings may be, too. */
  reloaded(): void;
}

/** A clock that was set is noticed within this. */
const LOOK_MS = 1000;
/** How long before midnight the keys of the next day are derived, and how many zones' before others have their turn. */
const AHEAD_MS = 60_000;
const SLICE = 100;

export class ZoneFeed {
  readonly #options: ZoneFeedOptions;
  readonly #documents: ZoneDocuments;
  /** Of the documents: made then, and good until. */
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

  /** The one who answers polls. */
  watch(watcher: FeedWatcher): void {
    this.#watcher = watcher;
  }

  start(): void {
    // All nodes come back at once after a restart: the first shall not wait for a thousand zones in one piece.
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

  /** A lever or something of ACME is another, or has lapsed. */
  changed(): void {
    this.#refresh();
    this.#watcher?.changed();
  }

  /** Nodes and zones are others; `prepare` was best called with the zones before. */
  reloaded(): void {
    this.#refresh();
    this.#watcher?.reloaded();
  }

  /** Writes zones that are to come, in slices, so that the reload itself is short. */
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

  /** Also when the clock was set back to before they were made. */
  #isDue(): boolean {
    const nowMs = this.#options.nowMs();
    return nowMs >= this.#dueAtMs || nowMs < this.#madeAtMs;
  }

  #look(): void {
    const { levers, keys, nowMs, after } = this.#options;
    if (this.#isDue()) this.changed();
    // What could not be saved is tried again.
    levers.flush();
    keys.at(nowMs());
    if (nextTurnMs(nowMs()) - nowMs() <= AHEAD_MS) void this.#deriveAhead();
    const dueInMs = Math.ceil(this.#dueAtMs - nowMs());
    this.#cancel = after(Math.max(1, Math.min(dueInMs, LOOK_MS)), () => this.#look());
  }

  /** A thousand zones' keys take 30 ms, which at midnight every poll would wait for. */
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
