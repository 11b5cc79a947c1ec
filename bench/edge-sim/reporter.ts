/** Reports to the service every ten seconds (docs/interface.md#edge-report): each closed window once. */
import type { Clock } from "../../src/system/clock.ts";
import type { Cancel, Timers } from "../../src/system/timers.ts";
import type { Certificate } from "./certificate-order.ts";
import type { Done, EdgeChannel } from "./edge-channel.ts";
import {
  type CertificateWire,
  fittedText,
  REPORTED_ZONES_MAX,
  type ReportWire,
  sourcesToTell,
  type ZoneWire,
} from "./node-report.ts";
import { trafficIn } from "./traffic.ts";
import { appliedChallenge, type NodeDocument, type NodeZone } from "./zone-document.ts";

export interface Rendered {
  readonly document: NodeDocument;
  readonly etag: string | null;
  /** Number of rendered documents. */
  readonly generation: number;
  readonly certificates: ReadonlyMap<string, Certificate>;
}

export interface ReporterOptions {
  readonly node: string;
  readonly seed: number;
  readonly windowSeconds: number;
  readonly isDryRun: boolean;
  /**
   * After this number of reports they are repeated with new times; null: each is generated. A large fleet cannot
   * generate all reports in time.
   */
  readonly reportsKept: number | null;
  readonly channel: Pick<EdgeChannel, "report">;
  readonly rendered: () => Rendered;
  readonly onReport: (answer: Done, tookMs: number) => void;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "after">;
}

const VERSION = "1.4.2";
/** Time after the end of a window until requests in progress are counted. */
const CLOSE_MS = 20;

export class Reporter {
  readonly #options: ReporterOptions;
  /** Offset of this node's windows: nodes do not start together. */
  readonly #phaseMs: number;
  /** Zones with an automatic challenge, and its end; wall clock, ms. */
  readonly #autoUntil = new Map<string, number>();
  /** A report is being sent. */
  isSending = false;
  #isStopped = false;
  #cancel: Cancel = () => {};
  /** Number of accepted reports, and the size of the largest. */
  taken = 0;
  bytesMax = 0;
  #lastText: string | null = null;
  /** Zones of the rendered document, starting with the one to report next. */
  #kept: { readonly endMs: number; readonly text: string }[] = [];
  #keptOf: string | null = null;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#phaseMs = Bun.hash.xxHash32(`${options.seed} ${options.node}`) % (options.windowSeconds * 1000);
  }

  start(): void {
    const { clock, timers, windowSeconds } = this.#options;
    const nowMs = clock.wallMs();
    const endMs = this.#lastEndMs(nowMs) + windowSeconds * 1000;
    this.#cancel = timers.after(endMs - nowMs + CLOSE_MS, () => {
      void this.report();
      this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Reports the last closed window. Never rejects; only one report is sent at a time. */
  async report(): Promise<void> {
    if (this.isSending || this.#isStopped) return;
    this.isSending = true;
    const { channel, clock, onReport } = this.#options;
    const text = this.#textOf(this.#lastEndMs(clock.wallMs()));
    this.bytesMax = Math.max(this.bytesMax, text.length);
    const begunMs = clock.monotonicMs();
    const answer = await channel.report(text);
    this.isSending = false;
    if (answer.kind === "done") {
      this.taken++;
      this.#lastText = text;
    }
    // A report that was aborted because this node stopped is not a failure.
    if (answer.kind === "done" || !this.#isStopped) onReport(answer, clock.monotonicMs() - begunMs);
  }

  /** The last accepted report, as sent. */
  get last(): ReportWire | null {
    return this.#lastText === null ? null : (JSON.parse(this.#lastText) as ReportWire);
  }

  #lastEndMs(nowMs: number): number {
    const windowMs = this.#options.windowSeconds * 1000;
    return Math.floor((nowMs - this.#phaseMs) / windowMs) * windowMs + this.#phaseMs;
  }

  #textOf(endMs: number): string {
    const { reportsKept, rendered } = this.#options;
    if (reportsKept === null) return fittedText(this.#report(endMs));
    const { etag } = rendered();
    if (etag !== this.#keptOf) this.#kept = [];
    this.#keptOf = etag;
    const again = this.#kept.length < reportsKept ? undefined : this.#kept.shift();
    const report = again ?? { endMs, text: fittedText(this.#report(endMs)) };
    this.#kept.push(report);
    return report.text.replaceAll(new Date(report.endMs).toISOString(), new Date(endMs).toISOString());
  }

  #report(endMs: number): ReportWire {
    const { node, seed, isDryRun, rendered } = this.#options;
    const { document, etag, generation, certificates } = rendered();
    const deciding = document.zones.filter(({ decides }) => decides);
    // If not all zones fit, different nodes of a fleet report different zones.
    const from = deciding.length > REPORTED_ZONES_MAX ? Bun.hash.xxHash32(`${seed} ${node}`) % deciding.length : 0;
    const included = [...deciding.slice(from), ...deciding.slice(0, from)].slice(0, REPORTED_ZONES_MAX);
    const truncated = deciding.length - included.length;
    return {
      version: VERSION,
      dry_run: isDryRun,
      ...(etag !== null && { zones_etag: etag }),
      terminator: terminatorOf(document, generation),
      certs: [...certificates].map(certificateWire),
      ...(truncated > 0 && { zones_truncated: truncated }),
      zones: included.map((zone) => this.#window(zone, endMs)),
    };
  }

  #window(zone: NodeZone, endMs: number): ZoneWire {
    const { node, seed, windowSeconds, isDryRun } = this.#options;
    const challenge = appliedChallenge(zone, endMs);
    const isRungDryRun = isDryRun || zone.dryRun || zone.rungDryRun;
    const isChallenging = challenge === "manual" || (challenge === "auto" && this.#isAutoActive(zone, endMs));
    const inForce = isChallenging ? challenge : "off";
    const traffic = trafficIn({
      ...{ seed, node, zone, endMs, seconds: windowSeconds },
      ...{ isDryRun, challenge: inForce, isRungDryRun },
    });
    const rps = traffic.counts.requests / windowSeconds;
    if (challenge === "auto" && zone.auto.zoneRps > 0 && rps > zone.auto.zoneRps) {
      this.#autoUntil.set(zone.name, endMs + zone.auto.holdSeconds * 1000);
    }
    return {
      zone: zone.name,
      at: new Date(endMs).toISOString(),
      window_seconds: windowSeconds,
      rps,
      ...traffic.counts,
      challenge,
      dry_run: isDryRun || zone.dryRun,
      rung_dry_run: isRungDryRun,
      ...this.#challengeActive(zone, endMs, isRungDryRun),
      ...sourcesToTell(traffic),
    };
  }

  #isAutoActive({ name }: NodeZone, endMs: number): boolean {
    return (this.#autoUntil.get(name) ?? 0) > endMs - this.#options.windowSeconds * 1000;
  }

  /** End of a challenge: of the lever, or of an automatic one. */
  #challengeActive(zone: NodeZone, endMs: number, dry_run: boolean): Pick<ZoneWire, "challenge_active"> {
    const { override } = zone;
    const autoUntilMs = this.#autoUntil.get(zone.name) ?? 0;
    if (override?.mode === "manual" && override.untilMs > endMs) {
      return { challenge_active: { reason: "lever", until: new Date(override.untilMs).toISOString(), dry_run } };
    }
    if (appliedChallenge(zone, endMs) !== "auto" || autoUntilMs <= endMs) return {};
    return { challenge_active: { reason: "zone_rps", until: new Date(autoUntilMs).toISOString(), dry_run } };
  }
}

function terminatorOf({ zones }: NodeDocument, generation: number): ReportWire["terminator"] {
  const serving = zones.flatMap(({ h3, name }) => (h3 ? name : []));
  return {
    kind: "nginx",
    version: "1.27.4",
    generation,
    test_ok: true,
    alive: true,
    h3: {
      state: "ready",
      module: "http_v3_module",
      tls_library: "OpenSSL 3.5.0",
      early_data_capable: false,
      serving,
      unsupported: [],
      ...(serving.length > 0 && { listening: true }),
    },
  };
}

function certificateWire([zone, { notAfterMs, issuer }]: readonly [string, Certificate]): CertificateWire {
  return { zone, not_after: new Date(notAfterMs).toISOString(), issuer };
}
