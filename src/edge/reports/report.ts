/**
 * The report of an edge node (docs/interface.md#edge-report), as far as the service reads it. It may have claims about
 * zones that the node does not serve: users of a report check the current placement.
 */
import type { IpAddress } from "../../net/address.ts";
import type { EdgeCounts, ReportedState } from "./edge-history.ts";

export interface EdgeReport {
  /** Its JSON, rewritten: with unknown keys, and with numbers that JavaScript would round. */
  readonly text: string;
  /** In this and the following fields null means not reported. */
  readonly version: string | null;
  readonly isDryRun: boolean | null;
  /** ETag of the document that the node has rendered. */
  readonly zonesEtag: string | null;
  /** The generation in force at its terminator. */
  readonly generation: string | null;
  /** Whether the last configuration passed its test, and the error if not. */
  readonly isTestOk: boolean | null;
  readonly testError: string | null;
  readonly isTerminatorAlive: boolean | null;
  readonly h3: H3Claim;
  /** By zone, in lower case. */
  readonly certs: ReadonlyMap<string, readonly CertClaim[]>;
  readonly zones: ReadonlyMap<string, ZoneClaim>;
  readonly cut: CutCounts;
}

/** The entries that did not fit into the report. */
interface CutCounts {
  readonly zones: number;
  readonly certs: number;
  /** Would-be sources, over all zones. */
  readonly sources: number;
  /** Some are not assigned to a zone, so that every zone may lack some. */
  readonly isAnyZoneAffected: boolean;
}

export interface H3Claim {
  readonly state: string | null;
  /** Zones that are served over QUIC, and zones that requested it without success. */
  readonly serving: ReadonlySet<string>;
  readonly unsupported: ReadonlySet<string>;
}

export interface CertClaim {
  /** Wall clock, ms. */
  readonly notAfterMs: number;
  readonly issuer: string | null;
}

/** The last closed window of a zone, and how the node treats the zone. */
export interface ZoneClaim {
  /** End of the window by the node's wall clock, ms; null: none has closed yet. */
  readonly atMs: number | null;
  /** 0: none has closed yet. */
  readonly seconds: number;
  readonly rps: number;
  readonly counts: EdgeCounts;
  /** As applied by the node. */
  readonly challenge: string | null;
  /** The node is in dry run for the zone. */
  readonly isWatchOnly: boolean;
  readonly isRungWatchOnly: boolean;
  readonly challengeActive: ActiveChallenge | null;
  /** Each address once, at most EDGE_SOURCES_PER_WINDOW; sources in other states are ignored. */
  readonly sources: readonly ClaimedSource[];
  /** Number of would-be sources that were left out. */
  readonly sourcesCut: number;
}

export interface ActiveChallenge {
  readonly reason: string | null;
  /** Wall clock, ms; null: not reported. */
  readonly untilMs: number | null;
  readonly isDryRun: boolean;
}

export interface ClaimedSource {
  readonly source: IpAddress;
  readonly state: ReportedState;
  readonly requests: number;
}
