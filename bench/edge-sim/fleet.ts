/** Many edge nodes in one process, and their statistics. */
import type { Clock } from "../../src/system/clock.ts";
import type { Timers } from "../../src/system/timers.ts";
import type { OrderEnd } from "./certificate-order.ts";
import { DocumentShelf } from "./document-shelf.ts";
import { type Done, HttpEdgeChannel } from "./edge-channel.ts";
import { EdgeNode, type NodeWatcher } from "./edge-node.ts";
import type { ReportWire } from "./node-report.ts";
import type { PollResult } from "./poller.ts";
import { SimulatedAuthority } from "./simulated-authority.ts";
import type { NodeDocument } from "./zone-document.ts";

export interface FleetOptions {
  readonly url: URL;
  readonly nodes: readonly { readonly name: string; readonly secret: string }[];
  readonly seed: number;
  readonly windowSeconds: number;
  readonly cacheDirectory: string | null;
  readonly reportsKept: number | null;
  /** Certificates that each node orders; it has certificates of its other zones. */
  readonly ordersPerNode: number;
  /** Called for each accepted report. */
  readonly onReport?: (node: string, report: ReportWire) => void;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Counts by event. */
export interface FleetSummary {
  readonly nodes: number;
  /** Nodes that have a document, and the number of different documents. */
  readonly holding: number;
  readonly documents: number;
  readonly polls: Readonly<Record<PollResult, number>>;
  readonly reports: { readonly taken: number; readonly failed: number; readonly bytesMax: number };
  /**
   * From the first byte of a report to the last byte of its answer, ms: for accepted reports, up to a maximum number.
   */
  readonly reportTimesMs: readonly number[];
  readonly certificates: { readonly issued: number; readonly failed: number; readonly waits: number };
  /** Failures as text, with counts. */
  readonly troubles: Readonly<Record<string, number>>;
}

/** Documents since a moment. */
export interface Delivery {
  readonly nodes: number;
  readonly tags: number;
  /** Wall clock, ms; 0: none came. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** Connections opened at once, and the pause before the next ones. */
const STARTED_AT_ONCE = 64;
const START_MS = 10;
/** Maximum number of recorded answer times. */
const TIMES_MAX = 100_000;
const TROUBLES_MAX = 100;
/** One of this number of nodes is in dry run. */
const DRY_RUN_SHARE = 8;

export class Fleet implements NodeWatcher {
  readonly nodes: readonly EdgeNode[];
  readonly #options: FleetOptions;
  readonly #polls: Record<PollResult, number> = {
    document: 0,
    unchanged: 0,
    bad_document: 0,
    too_many_holds: 0,
    refused: 0,
    unreachable: 0,
  };
  readonly #troubles = new Map<string, number>();
  readonly #certificates = { issued: 0, failed: 0, waits: 0 };
  #reportTimes: number[] = [];
  #failedReports = 0;
  #markedAtMs = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    const { seed, clock, timers } = options;
    const authority = new SimulatedAuthority({ nodes: () => this.nodes, seed, clock, timers });
    const shared = { shelf: new DocumentShelf(), authority };
    this.nodes = options.nodes.map(({ name, secret }) => this.#node(name, secret, shared));
  }

  /** Resolves when all have started. */
  async start(): Promise<void> {
    for (let from = 0; from < this.nodes.length; from += STARTED_AT_ONCE) {
      await Promise.all(this.nodes.slice(from, from + STARTED_AT_ONCE).map((node) => node.start()));
      await new Promise<void>((resolve) => void this.#options.timers.after(START_MS, resolve));
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  node(name: string): EdgeNode {
    const node = this.nodes.find((other) => other.name === name);
    if (node === undefined) throw new Error(`${name} is no node of this fleet`);
    return node;
  }

  /** From now on documents count as delivered. */
  mark(): void {
    this.#markedAtMs = this.#options.clock.wallMs();
  }

  delivery(): Delivery {
    const reached = this.nodes.filter(({ takenAtMs }) => takenAtMs >= this.#markedAtMs && takenAtMs > 0);
    const times = reached.map(({ takenAtMs }) => takenAtMs);
    return {
      nodes: reached.length,
      tags: new Set(reached.map(({ etag }) => etag)).size,
      firstAtMs: times.length === 0 ? 0 : Math.min(...times),
      lastAtMs: times.length === 0 ? 0 : Math.max(...times),
    };
  }

  /** Resets the answer times. */
  resetTimes(): void {
    this.#reportTimes = [];
  }

  summary(): FleetSummary {
    const tags = new Set(this.nodes.flatMap(({ etag }) => etag ?? []));
    return {
      nodes: this.nodes.length,
      holding: this.nodes.filter(({ etag }) => etag !== null).length,
      documents: tags.size,
      polls: { ...this.#polls },
      reports: {
        taken: this.nodes.reduce((sum, { reporter }) => sum + reporter.taken, 0),
        failed: this.#failedReports,
        bytesMax: Math.max(0, ...this.nodes.map(({ reporter }) => reporter.bytesMax)),
      },
      reportTimesMs: this.#reportTimes,
      certificates: { ...this.#certificates },
      troubles: Object.fromEntries(this.#troubles),
    };
  }

  polled(_node: EdgeNode, result: PollResult, detail: string): void {
    this.#polls[result]++;
    if (detail !== "") this.#trouble(`poll: ${detail}`);
  }

  reported(node: EdgeNode, answer: Done, tookMs: number): void {
    if (answer.kind === "done") {
      if (this.#reportTimes.length < TIMES_MAX) this.#reportTimes.push(tookMs);
      const { onReport } = this.#options;
      const report = onReport === undefined ? null : node.reporter.last;
      if (report !== null) onReport?.(node.name, report);
      return;
    }
    this.#failedReports++;
    this.#trouble(`report: ${answer.kind === "refused" ? `${answer.status} ${answer.error}` : answer.reason}`);
  }

  slotAwaited(): void {
    this.#certificates.waits++;
  }

  danced(_node: EdgeNode, _zone: string, end: OrderEnd): void {
    this.#certificates[end.kind]++;
    if (end.kind === "failed") this.#trouble(`certificate: ${end.reason}`);
  }

  #node(
    name: string,
    secret: string,
    shared: { readonly shelf: DocumentShelf; readonly authority: SimulatedAuthority },
  ): EdgeNode {
    const { url, seed, windowSeconds, cacheDirectory, reportsKept, ordersPerNode, clock, timers } = this.#options;
    const own = Bun.hash.xxHash32(`${seed} ${name}`);
    return new EdgeNode({
      ...{ name, seed, cacheDirectory, windowSeconds, reportsKept, clock, timers, shelf: shared.shelf },
      channel: new HttpEdgeChannel({ url, node: name, secret, timers }),
      isDryRun: own % DRY_RUN_SHARE === 0,
      orders: (document) => ordered(document, own, ordersPerNode),
      authority: shared.authority.accountOf(name),
      watcher: this,
    });
  }

  #trouble(text: string): void {
    const isKnown = this.#troubles.has(text) || this.#troubles.size < TROUBLES_MAX;
    const key = isKnown ? text : "other";
    this.#troubles.set(key, (this.#troubles.get(key) ?? 0) + 1);
  }
}

/** The zones for which a node orders certificates: neighboring nodes start at different zones, and compete for some. */
function ordered({ zones }: NodeDocument, from: number, count: number): string[] {
  return Array.from({ length: Math.min(count, zones.length) }, (_, i) => zones[(from + i) % zones.length]?.name ?? "");
}
