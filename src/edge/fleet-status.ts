/**
 * Combines what the alive edge nodes report about a zone into one row (docs/interface.md#zone-status): sums, unions and
 * names of nodes. A pure function of the reports; windows of different nodes are not aligned.
 */
import type { IpAddress } from "../net/address.ts";
import { FLEET_COUNTERS, type ReportedState } from "./reports/edge-history.ts";
import type { CertClaim, ClaimedSource, EdgeReport, ZoneClaim } from "./reports/report.ts";
import type { Zone } from "./zones/zone.ts";
import type { ChallengeOverride } from "./zones/zone-documents.ts";

export type FleetCounts = Readonly<Record<(typeof FLEET_COUNTERS)[number], number>>;

/** The fleet at one moment. */
export interface Fleet {
  readonly alive: ReadonlySet<string>;
  /** Last reports of alive nodes, by node. */
  readonly reports: ReadonlyMap<string, EdgeReport>;
}

interface FleetTotals {
  readonly alive: number;
  readonly reporting: number;
  /** Numbers of what the reports left out, over all zones. */
  readonly zonesCut: number;
  readonly certsCut: number;
}

export type FleetRow =
  | ZoneStatus
  /** A lever on a zone that is not in the file any more. */
  | { readonly kind: "removed"; readonly name: string; readonly override: ChallengeOverride };

export interface ZoneStatus {
  readonly kind: "zone";
  readonly zone: Zone;
  /** The setting that all nodes apply, or `mixed`; null: no node reports it. */
  readonly challenge: string | null;
  /** Alive nodes whose last report has the zone. */
  readonly nodes: number;
  readonly rps: number;
  readonly counts: FleetCounts;
  /** Names of nodes in the configuration's order, here and below. */
  readonly watchOnly: readonly string[];
  readonly rungWatchOnly: readonly string[];
  readonly challengeActive: readonly NodeChallenge[];
  readonly override: ChallengeOverride | null;
  /** Busiest first. */
  readonly wouldBe: readonly WouldBeSource[];
  /** Number of such sources that the nodes left out. */
  readonly wouldBeCut: number;
  readonly isWouldBePartial: boolean;
  readonly certs: readonly NodeCert[];
  /** Configured nodes that serve the zone, and the alive ones of these. */
  readonly placed: number;
  readonly placedAlive: number;
  readonly h3: { readonly serving: number; readonly unsupported: number; readonly requests: number };
}

export interface NodeChallenge {
  readonly node: string;
  readonly reason: string | null;
  /** Wall clock, ms. */
  readonly untilMs: number | null;
  readonly isDryRun: boolean;
}

export interface NodeCert extends CertClaim {
  readonly node: string;
}

type WouldBeState = Extract<ReportedState, "would-deny" | "would-challenge">;

export interface WouldBeSource {
  readonly source: IpAddress;
  /** The strongest state reported by any node. */
  readonly state: WouldBeState;
  readonly requests: number;
  readonly nodes: readonly string[];
}

export function fleetTotals({ alive, reports }: Fleet): FleetTotals {
  let [zonesCut, certsCut] = [0, 0];
  for (const { cut } of reports.values()) {
    zonesCut += cut.zones;
    certsCut += cut.certs;
  }
  return { alive: alive.size, reporting: reports.size, zonesCut, certsCut };
}

/** The report of an alive node about a zone that it serves, or about another zone. */
export interface NodeClaim {
  readonly node: string;
  readonly report: EdgeReport;
}

export interface Placed {
  /** Configured nodes that serve the zone, and the alive ones of these. */
  readonly nodes: number;
  readonly alive: number;
  /** Reports of these nodes that left out zones. */
  readonly cutReports: readonly EdgeReport[];
}

/** @param claims of the nodes that report about the zone, in the configuration's order. */
export function zoneStatus(
  zone: Zone,
  placed: Placed,
  claims: readonly NodeClaim[],
  override: ChallengeOverride | null,
): ZoneStatus {
  const merged = new MergedSayings(zone.name);
  for (const claim of claims) merged.add(claim);
  // If the zone may have been left out of a report, so may its sources.
  const isCut = placed.cutReports.some(({ zones }) => !zones.has(zone.name));
  return { kind: "zone", zone, override, placed: placed.nodes, placedAlive: placed.alive, ...merged.result(isCut) };
}

type Merged = Omit<ZoneStatus, "kind" | "zone" | "override" | "placed" | "placedAlive">;

class MergedSayings {
  readonly #zone: string;
  readonly #challenges = new Set<string>();
  readonly #counts = Object.fromEntries(FLEET_COUNTERS.map((name) => [name, 0])) as Record<keyof FleetCounts, number>;
  readonly #watchOnly: string[] = [];
  readonly #rungWatchOnly: string[] = [];
  readonly #challengeActive: NodeChallenge[] = [];
  readonly #certs: NodeCert[] = [];
  readonly #wouldBe = new Map<IpAddress, { state: WouldBeState; requests: number; nodes: string[] }>();
  readonly #h3 = { serving: 0, unsupported: 0, requests: 0 };
  #nodes = 0;
  #rps = 0;
  #wouldBeCut = 0;
  #isPartial = false;

  constructor(zone: string) {
    this.#zone = zone;
  }

  add({ node, report }: NodeClaim): void {
    for (const cert of report.certs.get(this.#zone) ?? []) this.#certs.push({ node, ...cert });
    if (report.h3.serving.has(this.#zone)) this.#h3.serving++;
    if (report.h3.unsupported.has(this.#zone)) this.#h3.unsupported++;
    const claim = report.zones.get(this.#zone);
    if (claim !== undefined) this.#addClaim(node, claim, report.cut.isAnyZoneAffected);
  }

  result(isCut: boolean): Merged {
    const [first = null] = this.#challenges;
    const wouldBe = [...this.#wouldBe].map(([source, merged]) => ({ source, ...merged }));
    wouldBe.sort((a, b) => b.requests - a.requests || (a.source < b.source ? -1 : 1));
    return {
      challenge: this.#challenges.size > 1 ? "mixed" : first,
      nodes: this.#nodes,
      rps: this.#rps,
      counts: this.#counts,
      watchOnly: this.#watchOnly,
      rungWatchOnly: this.#rungWatchOnly,
      challengeActive: this.#challengeActive,
      wouldBe,
      wouldBeCut: this.#wouldBeCut,
      isWouldBePartial: isCut || this.#isPartial || this.#wouldBeCut > 0,
      certs: this.#certs,
      h3: this.#h3,
    };
  }

  #addClaim(node: string, claim: ZoneClaim, mayLackSources: boolean): void {
    this.#nodes++;
    this.#rps += claim.rps;
    for (const name of FLEET_COUNTERS) this.#counts[name] += claim.counts[name];
    this.#h3.requests += claim.counts.h3_requests;
    if (claim.challenge !== null) this.#challenges.add(claim.challenge);
    if (claim.isWatchOnly) this.#watchOnly.push(node);
    if (claim.isRungWatchOnly) this.#rungWatchOnly.push(node);
    if (claim.challengeActive !== null) this.#challengeActive.push({ node, ...claim.challengeActive });
    this.#wouldBeCut += claim.sourcesCut;
    if (mayLackSources) this.#isPartial = true;
    for (const source of claim.sources) this.#addSource(node, source);
  }

  #addSource(node: string, { source, state, requests }: ClaimedSource): void {
    if (state !== "would-deny" && state !== "would-challenge") return;
    const known = this.#wouldBe.get(source);
    if (known === undefined) {
      this.#wouldBe.set(source, { state, requests, nodes: [node] });
      return;
    }
    known.requests += requests;
    known.nodes.push(node);
    if (state === "would-deny") known.state = state;
  }
}
