/** The state of the parts whose faults are notified: captures, the BGP speaker, nodes, diversions, and the disks that are written to. */
import type { Config } from "../config/config.ts";
import type { SourceView } from "../dataplane/capture.ts";
import type { Edge } from "../edge/edge.ts";
import type { ConditionReading } from "../notify/condition-watch.ts";
import type { DiskSpace } from "../system/disk-space.ts";
import type { Floodwall } from "./floodwall.ts";

interface ConditionParts {
  readonly floodwall: Pick<Floodwall, "config" | "packetPath" | "announcer" | "scrub" | "diversions">;
  readonly edge: Pick<Edge, "nodes" | "reports" | "feed">;
  /** null: not known. */
  readonly diskSpace: (path: string) => Promise<DiskSpace | null>;
}

/** A disk with less than this share of its bytes free, and with less than these bytes, is nearly full. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 2 ** 30;
/** Time between two looks at the disks, ms. */
const DISK_EVERY_MS = 30_000;
/** A capture that loses less of its packets in a second does not lose. */
const LOSING_SHARE = 0.001;
/** How long a document must have been the node's before one that has another is late, ms. */
const DOCUMENT_LATE_MS = 60_000;

interface Counted {
  readonly received: number;
  readonly dropped: number;
}

export class ConditionReadings {
  readonly #parts: ConditionParts;
  /** Counts of each capture at the last reading; bounded by those configured. */
  #counted = new Map<string, Counted>();
  /** The document of each edge node, and since when it is that. */
  #documents = new Map<string, { readonly etag: string; readonly sinceMs: number }>();
  /** null: not read yet. */
  #disks: readonly ConditionReading[] | null = null;
  #disksReadMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ConditionParts) {
    this.#parts = parts;
  }

  /** Call this once a second. What is said of disks is of the reading before. */
  read(monotonicMs: number): readonly ConditionReading[] {
    if (monotonicMs - this.#disksReadMs >= DISK_EVERY_MS) {
      this.#disksReadMs = monotonicMs;
      void this.#readDisks();
    }
    return [
      ...this.#captures(),
      ...this.#speaker(),
      ...this.#scrubNodes(),
      ...this.#edgeNodes(monotonicMs),
      ...this.#diversions(),
      ...(this.#disks ?? disksOf(this.#parts.floodwall.config).map(notReadYet)),
    ];
  }

  /** They are bounded by DIVERSIONS_MAX, and those that the hook has ended and leaves alone by FAULTS_KEPT. */
  #diversions(): ConditionReading[] {
    const { diversions } = this.#parts.floodwall;
    const views = diversions.views();
    const faults = new Map(diversions.faults().map((fault) => [fault.prefix, fault]));
    const readings = views.flatMap(({ prefix: name, phase, error, bans, isDryRun, isLost }): ConditionReading[] => {
      const fault = faults.get(name) ?? null;
      faults.delete(name);
      const known = isLost === true || phase === "failed" ? { cause: error, isLost: isLost === true } : fault;
      return [
        { kind: "diversion_begun", name, found: begunText(bans, isDryRun === true) },
        { kind: "diversion_confirmed", name, found: phase === "diverted" ? confirmedText(isDryRun === true) : null },
        ...faultReadings(name, known),
        { kind: "diversion_stuck", name, found: phase === "ending" ? (error ?? "the hook goes on with it") : null },
      ];
    });
    return [...readings, ...[...faults.values()].flatMap((fault) => faultReadings(fault.prefix, fault))];
  }

  #captures(): ConditionReading[] {
    const before = this.#counted;
    const sources = this.#parts.floodwall.packetPath?.sources() ?? [];
    this.#counted = new Map(sources.map((source) => [source.name, countedOf(source)]));
    return sources.flatMap(({ name, state, error }): ConditionReading[] => [
      { kind: "capture_lost", name, found: state === "failed" ? (error ?? "it gave no reason") : null },
      { kind: "capture_losing", name, found: lossText(before.get(name), this.#counted.get(name)) },
    ]);
  }

  #speaker(): ConditionReading[] {
    const status = this.#parts.floodwall.announcer?.status();
    if (status === undefined) return [];
    const found = status.connected ? null : (status.fault ?? "it has not answered yet");
    return [{ kind: "speaker_down", name: `(${status.speaker})`, found }];
  }

  #scrubNodes(): ConditionReading[] {
    const { scrub } = this.#parts.floodwall;
    return [...scrub.views()].map(({ node: { name }, liveness }) => ({
      ...({ kind: "scrub_node_lost", name } as const),
      found: liveness === "lost" ? `no poll for ${scrub.staleAfterSeconds} s` : null,
      isUnknown: liveness === "not_seen" || liveness === "unknown",
    }));
  }

  #edgeNodes(monotonicMs: number): ConditionReading[] {
    const { nodes } = this.#parts.edge;
    const documents = new Map<string, { etag: string; sinceMs: number }>();
    const readings = nodes.nodes().flatMap(({ name, scope }): ConditionReading[] => {
      const { etag } = this.#parts.edge.feed.documentFor(scope);
      const before = this.#documents.get(name);
      const sinceMs = before?.etag === etag ? before.sinceMs : monotonicMs;
      documents.set(name, { etag, sinceMs });
      const liveness = nodes.livenessOf(name);
      const isLost = liveness === "lost";
      const isUnknown = liveness === "not_seen" || liveness === "unknown";
      const isDue = monotonicMs - sinceMs >= DOCUMENT_LATE_MS;
      return [
        { kind: "edge_node_lost", name, found: isLost ? `no poll for ${nodes.staleAfterSeconds} s` : null, isUnknown },
        {
          ...({ kind: "edge_node_fault", name } as const),
          found: isLost ? null : this.#faultOf(name, isDue ? etag : null),
          isUnknown: isUnknown || (!isLost && this.#parts.edge.reports.reportOf(name) === null),
        },
      ];
    });
    this.#documents = documents;
    return readings;
  }

  /** @param etag of the document that it should have by now; null: it may still have an older one. */
  #faultOf(node: string, etag: string | null): string | null {
    const report = this.#parts.edge.reports.reportOf(node)?.report;
    if (report === undefined) return null;
    if (report.isTestOk === false) return `it refuses its document: ${report.testError ?? "it gave no reason"}`;
    if (report.isTerminatorAlive === false) return "its terminator does not run";
    const isLate = etag !== null && report.zonesEtag !== null && report.zonesEtag !== etag;
    return isLate ? `it has not put in force what it got more than ${DOCUMENT_LATE_MS / 1000} s ago` : null;
  }

  async #readDisks(): Promise<void> {
    const { floodwall, diskSpace } = this.#parts;
    const readings = disksOf(floodwall.config).map(async (name): Promise<ConditionReading> => {
      return { kind: "disk_nearly_full", name, found: roomText(await diskSpace(name)) };
    });
    this.#disks = await Promise.all(readings);
  }
}

/** Bans in one text. */
const BANS_NAMED = 3;

function faultReadings(
  name: string,
  fault: { readonly cause: string | null; readonly isLost: boolean } | null,
): ConditionReading[] {
  const found = fault === null ? null : (fault.cause ?? "the hook gave no reason");
  return [
    { kind: "diversion_lost", name, found: fault?.isLost === true ? found : null },
    { kind: "diversion_failed", name, found: fault?.isLost === false ? found : null },
  ];
}

function begunText(bans: readonly string[], isDryRun: boolean): string {
  const named = bans.slice(0, BANS_NAMED).join(", ");
  const more = bans.length > BANS_NAMED ? ` and ${bans.length - BANS_NAMED} more` : "";
  const cause = bans.length === 0 ? "no ban wants it any more" : `for the bans of ${named}${more}`;
  return isDryRun ? `in dry run, ${cause}` : cause;
}

function confirmedText(isDryRun: boolean): string {
  return isDryRun ? "in dry run: nothing is diverted" : "the scrubbing center has the traffic";
}

function notReadYet(name: string): ConditionReading {
  return { kind: "disk_nearly_full", name, found: null, isUnknown: true };
}

function disksOf({ stateDir, storage: { driver } }: Pick<Config, "stateDir" | "storage">): string[] {
  const history = driver?.kind === "sqlite" ? [driver.path.replace(/\/[^/]*$/, "") || "/"] : [];
  return [...new Set([stateDir, ...history])];
}

function roomText(space: DiskSpace | null): string | null {
  if (space === null || space.freeBytes >= FREE_BYTES || space.freeBytes >= FREE_SHARE * space.bytes) return null;
  return `${Math.floor(space.freeBytes / 2 ** 20)} MiB of ${Math.ceil(space.bytes / 2 ** 20)} MiB are free`;
}

function countedOf({ queues }: SourceView): Counted {
  let [received, dropped] = [0, 0];
  for (const queue of queues) {
    received += queue.receivedPackets;
    dropped += queue.droppedRingFull + queue.droppedFillEmpty + queue.droppedKernel;
  }
  return { received, dropped };
}

function lossText(before: Counted | undefined, now: Counted | undefined): string | null {
  if (before === undefined || now === undefined) return null;
  const dropped = now.dropped - before.dropped;
  const all = dropped + Math.max(0, now.received - before.received);
  if (dropped <= 0 || dropped < LOSING_SHARE * all) return null;
  return `${dropped} of ${all} packets of the last second`;
}
