/** Many edge nodes in one process, and their statistics. */
import { type ChallengeOrder, EdgeNode, type NodeWatcher } from "./edge-node.ts";
import { NodeClient } from "./node-client.ts";
import type { ReportWire } from "./node-report.ts";
import { SharedDocuments } from "./zone-document.ts";

export interface FleetOptions {
  readonly url: URL;
  readonly nodes: readonly { readonly name: string; readonly secret: string }[];
  readonly seed: number;
  readonly windowSeconds: number;
  readonly reportsKept: number | null;
  /** Certificates that each node orders; it has certificates of its other zones. */
  readonly ordersPerNode: number;
  /** Called for each accepted report. */
  readonly onReport?: (node: string, report: ReportWire) => void;
}

/** Counts by event. */
export interface FleetSummary {
  readonly nodes: number;
  /** Number of different documents that nodes have. */
  readonly documents: number;
  readonly polls: { readonly document: number; readonly unchanged: number };
  readonly reports: { readonly taken: number; readonly bytesMax: number };
  /** From the first byte of a report to the last byte of its answer, ms: for accepted reports, up to a maximum number. */
  readonly reportTimesMs: readonly number[];
  readonly certificates: { readonly issued: number; readonly waits: number };
  /** By kind, and as text with counts. */
  readonly failed: Readonly<Record<"poll" | "report" | "certificate", number>>;
  readonly troubles: Readonly<Record<string, number>>;
}

/** Documents since a moment. */
export interface Delivery {
  readonly nodes: number;
  /** Wall clock, ms; 0: none came. */
  readonly lastAtMs: number;
}

/** Nodes started at once, and the pause before the next ones. */
const STARTED_AT_ONCE = 64;
const START_MS = 10;
/** Maximum number of recorded answer times. */
const TIMES_MAX = 100_000;
const TROUBLES_MAX = 100;
/** One of this number of nodes is in dry run. */
const DRY_RUN_SHARE = 8;
/** Like real authorities, the simulated one validates several times. */
const LOOKS = 10;
const LOOK_AGAIN_MS = 500;

export class Fleet implements NodeWatcher {
  readonly nodes: readonly EdgeNode[];
  readonly #options: FleetOptions;
  readonly #polls = { document: 0, unchanged: 0 };
  readonly #reports = { taken: 0, bytesMax: 0 };
  readonly #certificates = { issued: 0, waits: 0 };
  readonly #failed = { poll: 0, report: 0, certificate: 0 };
  readonly #troubles = new Map<string, number>();
  #reportTimes: number[] = [];
  #markedAtMs = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    const documents = new SharedDocuments();
    this.nodes = options.nodes.map(({ name, secret }) => this.#node(name, secret, documents));
  }

  /** Resolves when all have started. */
  async start(): Promise<void> {
    for (const [i, node] of this.nodes.entries()) {
      node.start();
      if (i % STARTED_AT_ONCE === STARTED_AT_ONCE - 1) await Bun.sleep(START_MS);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** From now on documents count as delivered. */
  mark(): void {
    this.#markedAtMs = Date.now();
  }

  delivery(): Delivery {
    const times = this.nodes.map(({ takenAtMs }) => takenAtMs).filter((ms) => ms > 0 && ms >= this.#markedAtMs);
    return { nodes: times.length, lastAtMs: Math.max(0, ...times) };
  }

  /** Resets the answer times. */
  resetTimes(): void {
    this.#reportTimes = [];
  }

  summary(): FleetSummary {
    return {
      nodes: this.nodes.length,
      documents: new Set(this.nodes.flatMap(({ etag }) => etag ?? [])).size,
      polls: this.#polls,
      reports: this.#reports,
      reportTimesMs: this.#reportTimes,
      certificates: this.#certificates,
      failed: this.#failed,
      troubles: Object.fromEntries(this.#troubles),
    };
  }

  polled(hasDocument: boolean): void {
    this.#polls[hasDocument ? "document" : "unchanged"]++;
  }

  reported(node: EdgeNode, tookMs: number): void {
    this.#reports.taken++;
    this.#reports.bytesMax = Math.max(this.#reports.bytesMax, node.lastReport?.length ?? 0);
    if (this.#reportTimes.length < TIMES_MAX) this.#reportTimes.push(tookMs);
    const { onReport } = this.#options;
    const report = onReport === undefined ? null : node.last;
    if (report !== null) onReport?.(node.name, report);
  }

  slotAwaited(): void {
    this.#certificates.waits++;
  }

  issued(): void {
    this.#certificates.issued++;
  }

  failed(what: keyof FleetSummary["failed"], reason: string): void {
    this.#failed[what]++;
    const text = `${what}: ${reason}`;
    const key = this.#troubles.has(text) || this.#troubles.size < TROUBLES_MAX ? text : "other";
    this.#troubles.set(key, (this.#troubles.get(key) ?? 0) + 1);
  }

  #node(name: string, secret: string, documents: SharedDocuments): EdgeNode {
    const { url, seed, windowSeconds, reportsKept, ordersPerNode } = this.#options;
    const own = Bun.hash.xxHash32(`${seed} ${name}`);
    return new EdgeNode({
      ...{ name, seed, windowSeconds, reportsKept, documents, watcher: this },
      client: new NodeClient({ url, kind: "edge", node: name, secret }),
      isDryRun: own % DRY_RUN_SHARE === 0,
      // Neighboring nodes start at different zones, and compete for some.
      orders: (zones) =>
        Array.from({ length: Math.min(ordersPerNode, zones.length) }, (_, i) => zones[(own + i) % zones.length] ?? ""),
      validate: (order, orderer) => this.#validate(order, orderer),
    });
  }

  /** As an authority that asks another node of the zone than the one that ordered, if there is one. */
  async #validate({ zone, token, key_authorization }: ChallengeOrder, orderer: string): Promise<void> {
    const serving = this.nodes.filter(({ document }) => document.zones.some(({ name }) => name === zone));
    const others = serving.filter(({ name }) => name !== orderer);
    const asked = others[Math.floor(Math.random() * others.length)] ?? serving[0];
    for (let look = 0; look < LOOKS; look++) {
      if (asked?.keyAuthorizationFor(zone, token) === key_authorization) return;
      await Bun.sleep(LOOK_AGAIN_MS);
    }
    throw new Error("another node of the zone did not answer the challenge");
  }
}
