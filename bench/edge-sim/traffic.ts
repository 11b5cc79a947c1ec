/**
 * The traffic of a zone on a node in one window: a function of the seed, the node, the zone, the window and how the
 * node treats requests, so that a run can be repeated. Pure.
 */
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { ChallengeMode, NodeZone } from "./zone-document.ts";

export type SourceState = "denied" | "challenged" | "would-deny" | "would-challenge" | "cleared" | "marked" | "allow";

/** As in the report. */
export interface SourceWire {
  readonly source: string;
  readonly rps: number;
  readonly requests: number;
  readonly state: SourceState;
}

export interface TrafficOptions {
  readonly seed: number;
  readonly node: string;
  readonly zone: NodeZone;
  /** Wall clock, ms. */
  readonly endMs: number;
  readonly seconds: number;
  /** The node's own decisions, and its current challenges. */
  readonly isDryRun: boolean;
  readonly challenge: ChallengeMode;
  readonly isRungDryRun: boolean;
}

/** The counters, with all sources of the window in the order of a report. */
export interface Traffic {
  readonly counts: Readonly<Record<CountName, number>>;
  readonly sources: readonly SourceWire[];
}

export const COUNT_NAMES = [
  "requests",
  "decided",
  "denied",
  "challenged",
  "cleared",
  "would_deny",
  "would_challenge",
  "status_2xx",
  "status_3xx",
  "status_4xx",
  "status_5xx",
  "h3_requests",
] as const;
export type CountName = (typeof COUNT_NAMES)[number];

/** Sources of a zone in total, and the maximum in one window. */
const POOL = 64;
const SOURCES_MAX = 32;
/** One of this number of windows is under attack; in the others a source sends less by this factor. */
const PRESSED_SHARE = 50;
const QUIET = 0.1;
const LOUDEST_RPS = 200;
/**
 * Would-be sources first, then denied and challenged ones, then the rest; the busiest first in each group
 * (docs/interface.md#edge-report).
 */
const RANK: Readonly<Record<SourceState, number>> = {
  "would-deny": 0,
  "would-challenge": 0,
  denied: 1,
  challenged: 1,
  cleared: 2,
  marked: 2,
  allow: 2,
};

export function trafficIn(options: TrafficOptions): Traffic {
  const { seed, node, zone, endMs, seconds } = options;
  const random = seededRandom(Bun.hash.xxHash32(`${seed} ${node} ${zone.name} ${endMs}`));
  const count = 1 + Math.floor(random() * SOURCES_MAX);
  const first = Math.floor(random() * POOL);
  const loudest = seconds * LOUDEST_RPS * (random() * PRESSED_SHARE < 1 ? 1 : QUIET);
  const sources: SourceWire[] = [];
  for (let i = 0; i < count; i++) {
    // Most zones have little traffic, a few have much.
    const requests = Math.ceil(loudest * random() ** 6);
    const state = stateOf({ ...options, rps: requests / seconds, chance: random() });
    sources.push({ source: sourceOf(zone.name, (first + i) % POOL), rps: requests / seconds, requests, state });
  }
  sources.sort((a, b) => RANK[a.state] - RANK[b.state] || b.requests - a.requests);
  return { counts: countsOf(sources, zone, random), sources };
}

function stateOf(options: TrafficOptions & { readonly rps: number; readonly chance: number }): SourceState {
  const { zone, isDryRun, challenge, isRungDryRun, rps, chance } = options;
  if (zone.rps > 0 && rps > zone.rps) return isDryRun || zone.dryRun ? "would-deny" : "denied";
  if (challenge !== "off" && chance < 0.5) {
    if (isRungDryRun) return "would-challenge";
    return chance < 0.2 ? "cleared" : "challenged";
  }
  return chance > 0.95 ? "marked" : "allow";
}

function countsOf(sources: readonly SourceWire[], { h3 }: NodeZone, random: () => number): Traffic["counts"] {
  const of = (...states: readonly SourceState[]) =>
    sources.reduce((sum, { state, requests }) => (states.includes(state) ? sum + requests : sum), 0);
  const requests = of("denied", "challenged", "would-deny", "would-challenge", "cleared", "marked", "allow");
  const refused = of("denied", "challenged");
  const passed = requests - refused;
  const [moved, failed] = [Math.floor(passed * random() * 0.1), Math.floor(passed * random() * 0.02)];
  return {
    requests,
    decided: requests,
    denied: of("denied"),
    challenged: of("challenged"),
    cleared: of("cleared"),
    would_deny: of("would-deny"),
    would_challenge: of("would-challenge"),
    status_2xx: passed - moved - failed,
    status_3xx: moved,
    status_4xx: refused,
    status_5xx: failed,
    h3_requests: h3 ? Math.floor(requests * random()) : 0,
  };
}

/** From the networks for benchmarks and documentation (RFC 2544, RFC 3849); the same for all nodes. */
function sourceOf(zone: string, n: number): string {
  const hash = Bun.hash.xxHash32(zone);
  if (n % 8 === 7) return `2001:db8:${((hash & 0xffff) | 1).toString(16)}::${(n + 1).toString(16)}`;
  return `198.${18 + (hash & 1)}.${(hash >>> 8) & 0xff}.${(((hash >>> 16) & 3) << 6) | n}`;
}
