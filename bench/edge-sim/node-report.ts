/**
 * A simulated node's report of one window (docs/interface.md#edge-report): its traffic follows from the seed, the node,
 * the zone and the window, so that a run can be repeated. Pure.
 */
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { appliedChallenge, type ChallengeMode, type NodeDocument, type NodeZone } from "./zone-document.ts";

const STATES = ["would-deny", "would-challenge", "denied", "challenged", "cleared", "marked", "allow"] as const;
type SourceState = (typeof STATES)[number];
/** The rest may be left out of a report without being counted. */
const WOULD_BE: readonly SourceState[] = ["would-deny", "would-challenge"];

export const COUNT_NAMES = [
  ...["requests", "decided", "denied", "challenged", "cleared", "would_deny", "would_challenge"],
  ...["status_2xx", "status_3xx", "status_4xx", "status_5xx", "h3_requests"],
] as const;

interface SourceWire {
  readonly source: string;
  readonly rps: number;
  readonly requests: number;
  readonly state: SourceState;
}

export type Counts = Readonly<Record<string, number>>;

export interface ZoneWire {
  readonly zone: string;
  /** End of the window. */
  readonly at: string;
  readonly dry_run: boolean;
  readonly top_sources: readonly SourceWire[];
}

export interface ReportWire {
  readonly zones: readonly ZoneWire[];
  readonly certs: readonly object[];
}

export interface ReportOptions {
  readonly seed: number;
  readonly node: string;
  readonly isDryRun: boolean;
  readonly document: NodeDocument;
  readonly etag: string | null;
  /** Number of rendered documents. */
  readonly generation: number;
  /** Ends of its certificates, wall clock, ms, by zone. */
  readonly certificates: ReadonlyMap<string, number>;
  /** Wall clock, ms. */
  readonly endMs: number;
  readonly windowSeconds: number;
}

/** Sources of a zone in total, and the most in one report. */
const POOL = 64;
const SOURCES_MAX = 20;
/** One of this number of windows is under attack; in the others a source sends less by this factor. */
const PRESSED_SHARE = 50;
const QUIET = 0.1;
const LOUDEST_RPS = 200;
/** More entries than fit are not even built. */
const ZONES_MAX = Math.floor(BODY_BYTES_MAX / 400);

/** As it is sent. Throws if it does not fit even after all cuts. */
export function reportText(options: ReportOptions): string {
  const { seed, node, isDryRun, document, etag, generation, certificates } = options;
  const deciding = document.zones.filter(({ policy }) => policy.mode !== "none");
  // If not all zones fit, different nodes of a fleet report different zones.
  const from = deciding.length > ZONES_MAX ? Bun.hash.xxHash32(`${seed} ${node}`) % deciding.length : 0;
  const zones = [...deciding.slice(from), ...deciding.slice(0, from)].slice(0, ZONES_MAX);
  const serving = document.zones.flatMap(({ tls, name }) => (tls.h3 === true ? name : []));
  const report = {
    version: "1.4.2",
    dry_run: isDryRun,
    ...(etag !== null && { zones_etag: etag }),
    terminator: {
      ...{ kind: "nginx", version: "1.27.4", generation, test_ok: true, alive: true },
      h3: { state: "ready", module: "http_v3_module", tls_library: "OpenSSL 3.5.0", serving, unsupported: [] },
    },
    zones_truncated: deciding.length - zones.length,
    certs: [...certificates].map(([zone, endMs]) => ({ zone, not_after: timeOf(endMs), issuer: "Simulated CA" })),
    zones: zones.map((zone) => zoneWindow(zone, options)),
  };
  for (const cut of cuts(report)) {
    const text = JSON.stringify(cut);
    if (text.length <= BODY_BYTES_MAX) return text;
  }
  throw new Error(`a report does not fit into ${BODY_BYTES_MAX} bytes`);
}

/** Each with less than the one before: fewer sources, then no certificates, then fewer zones. */
function* cuts(report: ReportWire & { readonly zones_truncated: number }): Generator<ReportWire> {
  const { zones, certs, zones_truncated: missing } = report;
  yield report;
  for (let most = SOURCES_MAX; most > 0; most >>= 1)
    yield { ...report, zones: zones.map((zone) => withSources(zone, most)) };
  const bare = zones.map((zone) => withSources(zone, 0));
  const rest = { ...report, certs: [], certs_truncated: certs.length };
  for (let left = bare.length; left > 0; left -= Math.ceil(left / 8)) {
    yield { ...rest, zones: bare.slice(0, left), zones_truncated: missing + bare.length - left } as ReportWire;
  }
}

/** Only would-be ones, which come first; those that are missing are counted. */
function withSources(zone: ZoneWire, most: number): ZoneWire & { readonly sources_truncated: number } {
  const wouldBe = zone.top_sources.filter(({ state }) => WOULD_BE.includes(state));
  const top_sources = wouldBe.slice(0, most);
  return { ...zone, top_sources, sources_truncated: wouldBe.length - top_sources.length };
}

function zoneWindow(zone: NodeZone, options: ReportOptions): ZoneWire {
  const { isDryRun, endMs, windowSeconds } = options;
  const challenge = appliedChallenge(zone, endMs);
  const top_sources = sourcesOf(zone, challenge, options);
  const counts = countsOf(top_sources, zone);
  return {
    ...{ zone: zone.name, at: timeOf(endMs), window_seconds: windowSeconds },
    ...{ rps: (counts["requests"] ?? 0) / windowSeconds, ...counts, challenge },
    dry_run: isDryRun || zone.policy.dry_run,
    ...{ rung_dry_run: isRungDryRun(zone, isDryRun), top_sources },
  };
}

function isRungDryRun({ policy }: NodeZone, isDryRun: boolean): boolean {
  return isDryRun || policy.dry_run || policy.challenge_options.dry_run;
}

/** In the order of a report. */
function sourcesOf(zone: NodeZone, challenge: ChallengeMode, options: ReportOptions): SourceWire[] {
  const { seed, node, isDryRun, endMs, windowSeconds } = options;
  const random = seededRandom(Bun.hash.xxHash32(`${seed} ${node} ${zone.name} ${endMs}`));
  const first = Math.floor(random() * POOL);
  const loudest = windowSeconds * LOUDEST_RPS * (random() * PRESSED_SHARE < 1 ? 1 : QUIET);
  const length = 1 + Math.floor(random() * SOURCES_MAX);
  const sources = Array.from({ length }, (_, i) => {
    // Most zones have little traffic, a few have much.
    const requests = Math.ceil(loudest * random() ** 6);
    const rps = requests / windowSeconds;
    const isLimited = rps > (zone.policy.rate.rps || Number.POSITIVE_INFINITY);
    const state = isLimited ? limited(zone, isDryRun) : passed(random(), isRungDryRun(zone, isDryRun), challenge);
    return { source: sourceOf(zone.name, (first + i) % POOL), rps, requests, state };
  });
  return sources.sort((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state) || b.requests - a.requests);
}

function limited({ policy }: NodeZone, isDryRun: boolean): SourceState {
  return isDryRun || policy.dry_run ? "would-deny" : "denied";
}

function passed(chance: number, isRungDry: boolean, challenge: ChallengeMode): SourceState {
  if (challenge !== "manual" || chance > 0.5) return chance > 0.95 ? "marked" : "allow";
  if (isRungDry) return "would-challenge";
  return chance < 0.2 ? "cleared" : "challenged";
}

function countsOf(sources: readonly SourceWire[], { tls }: NodeZone): Counts {
  const of = (...states: readonly SourceState[]) =>
    sources.reduce((sum, { state, requests }) => (states.includes(state) ? sum + requests : sum), 0);
  const requests = of(...STATES);
  const refused = of("denied", "challenged");
  const [moved, failed] = [(requests - refused) >> 4, (requests - refused) >> 6];
  return {
    ...{ requests, decided: requests, denied: of("denied"), challenged: of("challenged"), cleared: of("cleared") },
    ...{ would_deny: of("would-deny"), would_challenge: of("would-challenge") },
    ...{ status_2xx: requests - refused - moved - failed, status_3xx: moved, status_4xx: refused, status_5xx: failed },
    h3_requests: tls.h3 === true ? requests >> 1 : 0,
  };
}

/** From the networks for benchmarks and documentation (RFC 2544, RFC 3849); the same for all nodes. */
function sourceOf(zone: string, n: number): string {
  const hash = Bun.hash.xxHash32(zone);
  if (n % 8 === 7) return `2001:db8:${((hash & 0xffff) | 1).toString(16)}::${(n + 1).toString(16)}`;
  return `198.${18 + (hash & 1)}.${(hash >>> 8) & 0xff}.${(((hash >>> 16) & 3) << 6) | n}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
