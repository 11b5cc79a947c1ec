/**
 * One simulated edge node that follows the interface: it polls for its zones and keeps their document, reports traffic,
 * applies and expires levers, answers published challenges, and orders certificates.
 */

import type { Clock } from "../../src/system/clock.ts";
import type { Timers } from "../../src/system/timers.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { type Authority, type Certificate, type Order, type OrderEnd, orderCertificate } from "./certificate-order.ts";
import { DocumentCache } from "./document-cache.ts";
import type { DocumentShelf } from "./document-shelf.ts";
import type { Done, EdgeChannel, PolledDocument } from "./edge-channel.ts";
import { Poller, type PollResult } from "./poller.ts";
import { Reporter } from "./reporter.ts";
import { Waits } from "./waits.ts";
import { appliedChallenge, type ChallengeMode, type NodeDocument } from "./zone-document.ts";

/** Receives the events of a node. */
export interface NodeWatcher {
  polled(node: EdgeNode, result: PollResult, detail: string): void;
  reported(node: EdgeNode, answer: Done, tookMs: number): void;
  slotAwaited(node: EdgeNode): void;
  danced(node: EdgeNode, zone: string, end: OrderEnd): void;
}

export interface EdgeNodeOptions {
  readonly name: string;
  readonly seed: number;
  readonly channel: EdgeChannel;
  readonly shelf: DocumentShelf;
  /** Keeps documents on disk; null: they are not kept. */
  readonly cacheDirectory: string | null;
  readonly windowSeconds: number;
  readonly isDryRun: boolean;
  readonly reportsKept: number | null;
  /** Zones that it orders certificates for; it has certificates of the other zones. */
  readonly orders: (document: NodeDocument) => readonly string[];
  readonly authority: Authority;
  readonly watcher: NodeWatcher;
  readonly clock: Clock;
  readonly timers: Timers;
}

const NO_DOCUMENT: NodeDocument = { zones: [], challenges: [], grants: [] };
/** Expiry of the certificates that it has from the start. */
const VALID_MS = 60 * 86_400_000;
const ORDER_AGAIN_MS = 60_000;

export class EdgeNode {
  readonly name: string;
  readonly reporter: Reporter;
  readonly cache: DocumentCache | null;
  readonly certificates = new Map<string, Certificate>();
  document = NO_DOCUMENT;
  etag: string | null = null;
  /** When the document arrived, wall clock, ms; 0: there is none. */
  takenAtMs = 0;
  /** Number of rendered documents. */
  generation = 0;
  readonly #options: EdgeNodeOptions;
  readonly #startedAtMs: number;
  /** Own challenges that it answers in addition to those of the document, by token. */
  readonly #ownOrders = new Map<string, Order>();
  /** Waits that end with a new document, or by time. */
  readonly #documents: Waits;
  readonly #pauses: Waits;
  #poller: Poller | null = null;
  #polling: Promise<void> = Promise.resolve();
  #dancing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: EdgeNodeOptions) {
    const { name, seed, windowSeconds, isDryRun, reportsKept, channel, watcher, clock, timers } = options;
    const { cacheDirectory } = options;
    this.#options = options;
    this.name = name;
    this.#startedAtMs = clock.wallMs();
    this.#documents = new Waits(timers);
    this.#pauses = new Waits(timers);
    this.cache = cacheDirectory === null ? null : new DocumentCache(cacheDirectory, name);
    this.reporter = new Reporter({
      ...{ node: name, seed, windowSeconds, isDryRun, reportsKept, channel, clock, timers },
      rendered: () => this,
      onReport: (answer, tookMs) => watcher.reported(this, answer, tookMs),
    });
  }

  /** Resolves when the kept document is in force and the first poll has been sent. */
  async start(): Promise<void> {
    const { name, seed, channel, watcher, clock, timers } = this.#options;
    const kept = (await this.cache?.load()) ?? null;
    if (kept !== null) this.#render({ etag: kept.etag, body: Buffer.from(kept.text), isGzipped: false });
    const poller = new Poller(
      {
        ...{ channel, clock, timers, random: seededRandom(Bun.hash.xxHash32(`${seed} ${name} poll`)) },
        take: (document) => this.#take(document),
        onResult: (result, detail) => watcher.polled(this, result, detail),
      },
      this.etag,
    );
    this.#poller = poller;
    this.reporter.start();
    this.#polling = poller.run();
    this.#dancing = this.#obtainCertificates();
  }

  /** Returns its slots, and resolves when nothing is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.reporter.stop();
    this.#poller?.stop();
    this.#documents.wakeAll();
    this.#pauses.wakeAll();
    await this.#dancing;
    this.#options.channel.close();
    await this.#polling;
    await this.cache?.written();
  }

  /** How it treats the zone now; null: it does not serve the zone. */
  challengeOf(name: string): ChallengeMode | null {
    const zone = this.document.zones.find((other) => other.name === name);
    return zone === undefined ? null : appliedChallenge(zone, this.#options.clock.wallMs());
  }

  /** Its answer at `/.well-known/acme-challenge/TOKEN` of a zone (RFC 8555, 8.3); null: not found. */
  keyAuthorizationFor(zone: string, token: string): string | null {
    const nowMs = this.#options.clock.wallMs();
    const challenge = this.document.challenges.find((other) => other.zone === zone && other.token === token);
    if (challenge !== undefined && challenge.expiresAtMs > nowMs) return challenge.keyAuthorization;
    return this.#ownOrders.get(`${zone} ${token}`)?.keyAuthorization ?? null;
  }

  /** Resolves when `check` is true, which is called for each document; with false when the time is over. */
  async until(check: () => boolean, withinMs: number): Promise<boolean> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + withinMs;
    while (!check()) {
      if (this.#isStopped || clock.monotonicMs() >= endMs) return false;
      await this.#documents.wait(endMs - clock.monotonicMs());
    }
    return true;
  }

  #take(polled: PolledDocument): void {
    const text = this.#render(polled);
    this.takenAtMs = this.#options.clock.wallMs();
    this.cache?.save({ etag: polled.etag, text }).catch((cause: unknown) => {
      this.#options.watcher.polled(this, "bad_document", `it could not be kept: ${String(cause)}`);
    });
    this.#documents.wakeAll();
  }

  /** Returns the document's text. */
  #render(polled: PolledDocument): string {
    const { document, text } = this.#options.shelf.read(polled);
    this.document = document;
    this.etag = polled.etag;
    this.generation++;
    const names = new Set(this.document.zones.map(({ name }) => name));
    for (const name of this.certificates.keys()) if (!names.has(name)) this.certificates.delete(name);
    const ordered = new Set(this.#options.orders(this.document));
    for (const name of names) {
      if (ordered.has(name) || this.certificates.has(name)) continue;
      this.certificates.set(name, { notAfterMs: this.#startedAtMs + VALID_MS, issuer: "Simulated CA" });
    }
    return text;
  }

  /** Orders one certificate after the other, until it is stopped. */
  async #obtainCertificates(): Promise<void> {
    while (!this.#isStopped) {
      const zone = this.#options.orders(this.document).find((name) => !this.certificates.has(name));
      if (zone === undefined) await this.#documents.wait(null);
      else await this.#obtain(zone);
    }
  }

  async #obtain(zone: string): Promise<void> {
    const { channel, authority, watcher, clock } = this.#options;
    const isPublished = (token: string) =>
      this.document.challenges.some((other) => other.zone === zone && other.token === token);
    const end = await orderCertificate(zone, {
      ...{ channel, authority, clock },
      answer: (order) => this.#ownOrders.set(`${zone} ${order.token}`, order),
      isFannedOut: (token, withinMs) => this.until(() => isPublished(token), withinMs),
      onWait: () => watcher.slotAwaited(this),
      slotFreed: (withinMs) => this.#slotFreed(zone, withinMs),
      pause: async (ms) => {
        await this.#pauses.wait(ms);
        this.#assertRunning();
      },
    });
    this.#ownOrders.clear();
    if (this.#isStopped) return;
    watcher.danced(this, zone, end);
    if (end.kind === "issued") this.certificates.set(zone, end.certificate);
    else await this.#pauses.wait(ORDER_AGAIN_MS);
  }

  /** The document may be from before the slot was granted: wait until it shows the slot. */
  async #slotFreed(zone: string, withinMs: number): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + withinMs;
    const isGiven = () => this.document.grants.some((grant) => grant.zone === zone);
    await this.until(isGiven, withinMs);
    await this.until(() => !isGiven(), endMs - clock.monotonicMs());
    this.#assertRunning();
  }

  #assertRunning(): void {
    if (this.#isStopped) throw new Error("the node is stopping");
  }
}
