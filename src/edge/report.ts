/**
 * What an edge node reports of itself (docs/interface.md#edge-report), as far as the service reads it. Claims about
 * zones that the node does not serve are among it: whoever uses it asks for the placement of the moment.
 */
import type { IpAddress } from "../net/address.ts";
import type { EdgeCounts, ReportedState } from "./edge-history.ts";

export interface EdgeReport {
  /** As it came, unknown keys among it: JSON. */
  readonly text: string;
  /** Of all that follows null is: not said. */
  readonly version: string | null;
  readonly isDryRun: boolean | null;
  /** Of the document that it has rendered. */
  readonly zonesEtag: string | null;
  /** In force at its terminator. */
  readonly generation: string | null;
  /** Whether the last configuration passed its test, and what was wrong with it. */
  readonly isTestOk: boolean | null;
  readonly testError: string | null;
  readonly isTerminatorAlive: boolean | null;
  readonly h3: H3Claim;
  /** By zone, in lower case as all names of zones here. */
  readonly certs: ReadonlyMap<string, readonly CertClaim[]>;
  readonly zones: ReadonlyMap<string, ZoneClaim>;
  readonly cut: CutCounts;
}

/** What did not fit into the report. */
export interface CutCounts {
  readonly zones: number;
  readonly certs: number;
  /** Would-be sources, of all zones. */
  readonly sources: number;
  /** Some of these are said of no zone: any may lack some. */
  readonly isAnyZoneAffected: boolean;
}

export interface H3Claim {
  readonly state: string | null;
  /** Zones that are served over QUIC, and such that asked for it in vain. */
  readonly serving: ReadonlySet<string>;
  readonly unsupported: ReadonlySet<string>;
}

export interface CertClaim {
  /** Wall clock, ms. */
  readonly notAfterMs: number;
  readonly issuer: string | null;
}

/** The last closed window of a zone, and how the node treats it. */
export interface ZoneClaim {
  /** End of the window by the node's wall clock, ms; null: none has closed yet. */
  readonly atMs: number | null;
  /** 0: none has closed yet. */
  readonly seconds: number;
  readonly rps: number;
  readonly counts: EdgeCounts;
  /** As it is applied. */
  readonly challenge: string | null;
  /** The node only watches. */
  readonly isWatchOnly: boolean;
  readonly isRungWatchOnly: boolean;
  readonly challengeActive: ActiveChallenge | null;
  /** Each address once, at most EDGE_SOURCES_PER_WINDOW; those in other states are not read. */
  readonly sources: readonly ClaimedSource[];
  /** Would-be sources that are missing. */
  readonly sourcesCut: number;
}

export interface ActiveChallenge {
  readonly reason: string | null;
  /** Wall clock, ms; null: not said. */
  readonly untilMs: number | null;
  readonly isDryRun: boolean;
}

export interface ClaimedSource {
  readonly source: IpAddress;
  readonly state: ReportedState;
  readonly requests: number;
}
