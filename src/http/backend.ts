/** What the routes need of the service, in the words of the domain. The composition root implements it. */
import type { Tenancy } from "../access/tenancy.ts";
import type { AuditAnswer, AuditQuestion } from "../audit/audit-event.ts";
import type { BgpConfig, Config } from "../config/config.ts";
import type { RouteTerms } from "../config/sections/mitigation.ts";
import type { SourceView } from "../dataplane/capture.ts";
import type { DataPlaneView } from "../dataplane/data-plane.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Edge } from "../edge/edge.ts";
import type {
  EdgeEvent,
  EdgeEventsQuestion,
  EdgeHistoryPoint,
  EdgeHistoryQuestion,
  EdgeSourcesQuestion,
  EdgeSourceTotal,
} from "../edge/edge-history.ts";
import type { Item } from "../machine/item.ts";
import type { RouteState } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { IpAddress } from "../net/address.ts";
import type { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { BlockOrder, Pair } from "../sourceblock/source-block.ts";
import type { BlockAnswer, SourceBlockView, UnblockAnswer } from "../sourceblock/source-blocks.ts";
import type { Rates, Thresholds } from "../traffic/rates.ts";
import type { TrafficPoint, TrafficQuestion } from "../traffic/traffic-history.ts";

export interface Backend {
  /** False until all components have started: until then only the open routes answer. */
  isReady(): boolean;
  isDryRun(): boolean;
  /** Of the configuration in force. */
  tenancy(): Tenancy;
  /** Counts and hostgroups are the tenant's own; null: all. */
  status(tenant: string | null): StatusView;
  attacks(): AttacksView;
  /** In progress, over, or of the history; null: there is none of this id. Rejects with a HistoryFault. */
  attack(id: string): Promise<AttackView | null>;
  /**
   * Read row by row, with the event loop running on in between: hosts may come and go meanwhile. A row is valid until the
   * next one is asked for, and only one reading may be under way.
   */
  hosts(): Iterable<HostView>;
  /** In the configuration's order; null: nothing is captured. */
  groupRates(): readonly GroupRatesView[] | null;
  /** What is in force, which after a reload may not be what the file says: `needsRestart` names those keys. */
  configured(): Configured;
  /** Active, refused and ended, in no order. */
  bans(): readonly BanView[];
  /** Oldest first; null: storage is off. Rejects with a HistoryFault. */
  traffic(question: TrafficQuestion): Promise<readonly TrafficPoint[] | null>;
  /** Newest first. Rejects with a HistoryFault. */
  auditEvents(question: AuditQuestion): Promise<AuditAnswer>;
  /** Returns a rejected ban when policy refuses. Throws BackendFault when the ban cannot be kept. */
  ban(target: IpAddress, operator: string): BanView;
  /** What ban() would come to now. Nothing is done. */
  banPreview(target: IpAddress): BanPreview;
  /** The withdrawn ban; null: the address has no active one. Throws BackendFault when that cannot be kept. */
  unban(target: IpAddress, operator: string): BanView | null;
  /** In force, oldest first; may be read while blocks come and go. */
  sourceBlocks(): Iterable<SourceBlockView & Dropping>;
  /** Throws BackendFault when it could not be kept or installed. */
  blockSource(order: BlockOrder): BlockAnswer;
  /** Throws BackendFault when that could not be kept or carried out. */
  unblockSource(pair: Pair): UnblockAnswer;
  /** The scrub nodes: what they report, and what they are told. */
  readonly scrub: ScrubNodes;
  /** The edge nodes and their zones. Setting and clearing a lever throws BackendFault when that could not be kept. */
  readonly edge: Edge;
  /** null: storage is off. */
  readonly edgeHistory: EdgeHistory | null;
  /** Reads the configuration file again. With an invalid one nothing changes. */
  reload(): Promise<ReloadOutcome>;
}

export type ReloadOutcome =
  /** Names the keys that keep their running values until a restart. */
  | { readonly kind: "reloaded"; readonly needsRestart: readonly string[] }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** What is kept of the reports of edge nodes. All of it rejects with a HistoryFault. */
export interface EdgeHistory {
  /** Oldest first. */
  points(question: EdgeHistoryQuestion): Promise<readonly EdgeHistoryPoint[]>;
  /** Busiest first. */
  sources(question: EdgeSourcesQuestion): Promise<readonly EdgeSourceTotal[]>;
  /** Newest first. */
  events(question: EdgeEventsQuestion): Promise<readonly EdgeEvent[]>;
}

/** The world failed the service, not the caller: answered 503 with this message, which must suit a caller's eyes. */
export class BackendFault extends Error {
  override readonly name = "BackendFault";
}

/** The history failed the caller: answered 502. What failed was told and counted where it did. */
export class HistoryFault extends Error {
  override readonly name = "HistoryFault";
}

export interface StatusView {
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly dryRun: boolean;
  readonly networks: readonly string[];
  readonly activeAttacks: number;
  readonly activeBans: number;
  /** Of the group `global`. */
  readonly thresholds: Thresholds;
  readonly hostgroups: readonly HostgroupView[];
  /** null: no announcer is configured. */
  readonly bgp: BgpView | null;
  /** Where diverted traffic goes; null: nothing is said of it. */
  readonly scrubbing: RouteTerms | null;
  /** Channels that are set up. */
  readonly notify: NotifyView;
  /** A newer release; null: none is known of, or nobody asks. */
  readonly update: UpdateView | null;
  /** Configured scrub nodes. */
  readonly scrubNodes: number;
  readonly edgeNodes: number;
  readonly capture: CaptureView;
  /** null: none is configured. */
  readonly dataplane: DataPlaneView | null;
  /** What this machine lacks for the configuration; null: nobody has looked. */
  readonly machineProblems: readonly Item[] | null;
}

export interface UpdateView {
  readonly latestVersion: string;
  readonly isSecurity: boolean;
  readonly latestUrl: string;
}

export interface NotifyView {
  readonly telegram: boolean;
  readonly webhook: boolean;
  readonly slack: boolean;
  readonly email: boolean;
  readonly exec: boolean;
}

export interface HostgroupView {
  readonly name: string;
  readonly calculation: "per_host" | "total";
  readonly mitigation: "blackhole" | "flowspec" | "divert";
  /** Whether its hosts are banned at all. */
  readonly ban: boolean;
}

export interface BgpView {
  readonly config: BgpConfig;
  /** Whether the speaker answers. */
  readonly connected: boolean;
  /** Major version of GoBGP; null while it does not answer. */
  readonly gobgpVersion: number | null;
  /** Why it does not. */
  readonly fault: string | null;
  readonly neighbors: readonly BgpNeighborView[];
}

export interface BgpNeighborView {
  readonly address: string;
  readonly remoteAsn: number;
  readonly state: string;
  /** Wall clock, ms; 0: not known. */
  readonly sinceMs: number;
  /** Our routes in its out-table. */
  readonly advertised: number;
  /** FlowSpec rules that no neighbor gets for now, since this one resets its session over them. */
  readonly keptBack: number;
}

export interface CaptureView {
  readonly trackedHosts: number;
  readonly maxHosts: number;
  /** Empty: control plane only. */
  readonly sources: readonly SourceView[];
}

export interface AttacksView {
  readonly active: readonly AttackView[];
  /** Ended, newest first. */
  readonly recent: readonly AttackView[];
}

export interface AttackView {
  /** While it is active its rates are those of now. */
  readonly attack: Attack;
  /** The ban that it has or had. */
  readonly ban: Ban | null;
}

export interface HostView {
  readonly target: IpAddress;
  readonly group: string;
  readonly rates: Rates;
  readonly ratesOut: Rates;
  /** The base trio that is normal; null: no baseline is configured for its group. */
  readonly baseline: Rates | null;
  readonly baselineOut: Rates | null;
  /** The attack in progress. */
  readonly attack: Pick<Attack, "metric" | "direction"> | null;
}

/** The sums of a hostgroup's hosts, and what its hosts are judged by. */
export interface GroupRatesView {
  readonly name: string;
  readonly thresholds: Thresholds;
  /** null: what its hosts send is not judged. */
  readonly thresholdsOutgoing: Thresholds | null;
  readonly rates: Rates;
  readonly ratesOut: Rates;
}

/** What the data plane of this machine dropped for it. */
export interface Dropping {
  /** null or absent: not known, or nothing of it is in the kernel. */
  readonly dropped?: { readonly packets: number; readonly bytes: number } | null;
}

/** What the configuration says of detection and mitigation. Nothing of it is a secret. */
export interface Configured
  extends Pick<
    Config,
    | "protectedWhitelist"
    | "detection"
    | "hostgroups"
    | "carpet"
    | "mitigations"
    | "ban"
    | "samples"
    | "storage"
    | "updateCheck"
  > {
  readonly needsRestart: readonly string[];
}

export interface BanPreview {
  /** Rejected where policy would refuse it. */
  readonly ban: Ban;
  /** The hostgroup of the address; null: it is outside of all networks. */
  readonly group: string | null;
  /** The address has a ban: the order would prolong it, and make it an operator's. */
  readonly isRefresh: boolean;
}

export interface BanView extends Dropping {
  readonly ban: Ban;
  /** null: nothing is to be announced, or there is no announcer. */
  readonly routeState: RouteState | null;
}
