/**
 * One simulated edge node: it polls for its zones, reports their traffic, answers published challenges, and orders
 * certificates (docs/interface.md#edge-channel).
 */
import { pollBackoff } from "../../src/scrub/agent/poller.ts";
import { Pause } from "../../src/system/pause.ts";
import { systemTimers } from "../../src/system/timers.ts";
import type { NodeClient } from "./node-client.ts";
import { type ReportWire, reportText } from "./node-report.ts";
import { appliedChallenge, type ChallengeMode, NO_DOCUMENT, type SharedDocuments } from "./zone-document.ts";

export interface ChallengeOrder {
  readonly zone: string;
  readonly token: string;
  readonly key_authorization: string;
}

/** Watches a node; failures as text. */
export interface NodeWatcher {
  polled(hasDocument: boolean): void;
  reported(node: EdgeNode, tookMs: number): void;
  slotAwaited(): void;
  issued(): void;
  failed(what: "poll" | "report" | "certificate", reason: string): void;
}

export interface EdgeNodeOptions {
  readonly name: string;
  readonly seed: number;
  readonly client: NodeClient;
  readonly documents: SharedDocuments;
  readonly windowSeconds: number;
  readonly isDryRun: boolean;
  /**
   * After this number of reports they are repeated with new times; null: each is generated. A large fleet cannot
   * generate all reports in time.
   */
  readonly reportsKept: number | null;
  /** Zones that it orders certificates for; it has certificates of the other zones. */
  readonly orders: (zones: readonly string[]) => readonly string[];
  /** Resolves when the authority, which may ask any node of the zone, has seen the challenge; rejects if it has not. */
  readonly validate: (order: ChallengeOrder, orderer: string) => Promise<void>;
  readonly watcher: NodeWatcher;
}

const DAY_MS = 86_400_000;
const ORDER_AGAIN_MS = 60_000;
/** Before the next poll when an answer came at once. */
const QUICK_MS = 1000;
/** Time after the end of a window until requests in progress are counted. */
const CLOSE_MS = 20;

export class EdgeNode {
  readonly name: string;
  document = NO_DOCUMENT;
  etag: string | null = null;
  /** When the document arrived, wall clock, ms; 0: there is none. */
  takenAtMs = 0;
  /** Text of the last accepted report. */
  lastReport: string | null = null;
  isReporting = true;
  isSending = false;
  readonly #options: EdgeNodeOptions;
  /** Ends of its certificates, wall clock, ms, by zone. */
  readonly #certificates = new Map<string, number>();
  readonly #pauses = { poll: new Pause(systemTimers), report: new Pause(systemTimers), order: new Pause(systemTimers) };
  #generation = 0;
  #orders = 0;
  #kept: { readonly endMs: number; readonly text: string }[] = [];
  #isStopped = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: EdgeNodeOptions) {
    this.#options = options;
    this.name = options.name;
  }

  start(): void {
    this.#running = Promise.all([this.#poll(), this.#report(), this.#order()]);
  }

  /** Resolves when nothing is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const pause of Object.values(this.#pauses)) pause.end();
    this.#options.client.close();
    await this.#running;
  }

  /** How it treats the zone now; null: it does not serve the zone. */
  challengeOf(name: string): ChallengeMode | null {
    const zone = this.document.zones.find((other) => other.name === name);
    return zone === undefined ? null : appliedChallenge(zone, Date.now());
  }

  /** Its answer at `/.well-known/acme-challenge/TOKEN` of a zone (RFC 8555, 8.3); undefined: not found. */
  keyAuthorizationFor(zone: string, token: string): string | undefined {
    return this.document.acme_challenges.find((other) => other.zone === zone && other.token === token)
      ?.key_authorization;
  }

  get last(): ReportWire | null {
    return this.lastReport === null ? null : (JSON.parse(this.lastReport) as ReportWire);
  }

  async #poll(): Promise<void> {
    const { client, watcher } = this.#options;
    const backoff = pollBackoff(Math.random);
    while (!this.#isStopped) {
      const begunMs = performance.now();
      try {
        const polled = await client.poll(this.etag);
        const isNew = polled !== null && polled.etag !== this.etag;
        if (isNew) this.#take(polled);
        watcher.polled(isNew);
        backoff.reset();
        await this.#pauses.poll.wait(isNew ? 0 : QUICK_MS - (performance.now() - begunMs));
      } catch (cause) {
        if (this.#isStopped) return;
        watcher.failed("poll", textOf(cause));
        await this.#pauses.poll.wait(backoff.next());
      }
    }
  }

  #take(polled: Parameters<SharedDocuments["read"]>[0]): void {
    const { documents, orders } = this.#options;
    this.document = documents.read(polled);
    this.etag = polled.etag;
    this.takenAtMs = Date.now();
    this.#generation++;
    this.#kept = [];
    const names = this.document.zones.map(({ name }) => name);
    for (const name of this.#certificates.keys()) if (!names.includes(name)) this.#certificates.delete(name);
    const ordered = new Set(orders(names));
    for (const name of names) {
      if (!ordered.has(name) && !this.#certificates.has(name))
        this.#certificates.set(name, this.takenAtMs + 60 * DAY_MS);
    }
    this.#pauses.order.end();
  }

  /** Each closed window once; nodes' windows do not end together. */
  async #report(): Promise<void> {
    const { name, seed, client, windowSeconds, watcher } = this.#options;
    const windowMs = windowSeconds * 1000;
    const phaseMs = Bun.hash.xxHash32(`${seed} ${name}`) % windowMs;
    while (!this.#isStopped && this.isReporting) {
      const endMs = Math.ceil((Date.now() + 1 - phaseMs) / windowMs) * windowMs + phaseMs;
      await this.#pauses.report.wait(endMs + CLOSE_MS - Date.now());
      if (this.#isStopped || !this.isReporting) return;
      this.isSending = true;
      const text = this.#textOf(endMs);
      const begunMs = performance.now();
      try {
        await client.report(text);
        this.lastReport = text;
        watcher.reported(this, performance.now() - begunMs);
      } catch (cause) {
        if (!this.#isStopped) watcher.failed("report", textOf(cause));
      }
      this.isSending = false;
    }
  }

  #textOf(endMs: number): string {
    const { seed, name: node, isDryRun, windowSeconds, reportsKept } = this.#options;
    const again = this.#kept.length < (reportsKept ?? Number.POSITIVE_INFINITY) ? undefined : this.#kept.shift();
    const { document, etag } = this;
    const own = { seed, node, isDryRun, windowSeconds, document, etag };
    const made = { ...own, generation: this.#generation, certificates: this.#certificates, endMs };
    const report = again ?? { endMs, text: reportText(made) };
    if (reportsKept !== null) this.#kept.push(report);
    return report.text.replaceAll(new Date(report.endMs).toISOString(), new Date(endMs).toISOString());
  }

  /** Orders one certificate after the other, until it is stopped. */
  async #order(): Promise<void> {
    const { orders, watcher } = this.#options;
    while (!this.#isStopped) {
      const zone = orders(this.document.zones.map(({ name }) => name)).find((name) => !this.#certificates.has(name));
      if (zone === undefined) await this.#pauses.order.wait(ORDER_AGAIN_MS);
      else {
        try {
          if (await this.#obtain(zone)) watcher.issued();
        } catch (cause) {
          if (this.#isStopped) return;
          watcher.failed("certificate", textOf(cause));
          await this.#pauses.order.wait(ORDER_AGAIN_MS);
        }
      }
    }
  }

  /** docs/interface.md#acme-command: slot, order, publication to all nodes of the zone, validation, slot returned. */
  async #obtain(zone: string): Promise<boolean> {
    const { client, seed, validate, watcher } = this.#options;
    const slot = await client.slot(zone);
    if (!slot.granted) {
      watcher.slotAwaited();
      // A new document may show that it is free.
      await this.#pauses.order.wait(slot.retry_after_seconds * 1000);
      return false;
    }
    const token = new Bun.CryptoHasher("sha256")
      .update(`${seed} ${this.name} ${zone} ${this.#orders++}`)
      .digest("base64url");
    const order = { zone, token, key_authorization: `${token}.${token}` };
    try {
      await client.publish(order);
      await validate(order, this.name);
      this.#certificates.set(zone, Date.now() + 90 * DAY_MS);
      return true;
    } finally {
      await client.release(zone);
    }
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
