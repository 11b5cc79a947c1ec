/** The events of which the service notifies. Values only: each channel decides on their text and delivery. */
import type { Tenant } from "../access/fair-queue.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { Severity } from "../targets/target-words.ts";
import type { Condition, ConditionEnd, ConditionKind } from "./condition.ts";
import type { Orders } from "./order-notices.ts";

export type NotifyEvent =
  | AttackEvent
  | BanEvent
  | SessionEvent
  | StateEvent
  | CapEvent
  | ExporterEvent
  | ScrubNodeEvent
  | FileEvent
  | ClusterEvent
  | ConditionEvent
  | OrderEvent
  | OwnerChangedEvent
  | JoinedEvent
  | TestEvent;

interface Occasion {
  /** The same for each attempt to deliver it. */
  readonly id: string;
  /** Wall clock, ms. */
  readonly atMs: number;
  /** Whether the service was in dry run at that moment. */
  readonly dryRun: boolean;
  /** Tenant of the attacked or banned address; null: of no tenant. */
  readonly tenant: Tenant;
  /** The hostgroup; null: the event is of none. */
  readonly group: string | null;
}

export interface AttackEvent extends Occasion {
  readonly kind: "attack_started" | "attack_changed" | "attack_lasts" | "attack_not_held" | "attack_ended";
  readonly attack: Attack;
  /** For `attack_changed`: whether the kind of attack changed; otherwise its rate has grown. */
  readonly isNewKind: boolean;
  /** The ban that it has or had. */
  readonly ban: Ban | null;
}

export interface BanEvent extends Occasion {
  readonly kind: "ban_active" | "ban_withdrawn" | "ban_rejected" | "rules_not_found";
  readonly ban: Ban;
}

export interface SessionEvent extends Occasion {
  readonly kind: "bgp_session_lost" | "bgp_session_restored";
  readonly neighbor: Neighbor;
}

export interface StateEvent extends Occasion {
  readonly kind: "state_damaged";
  readonly damage: Damage;
}

/** The state database was damaged at the start, and a new one is in its place. */
export interface Damage {
  readonly reason: string;
  /** Path of the damaged file. */
  readonly movedTo: string;
  /** Number of rows that could be read, by table. */
  readonly salvaged: Readonly<Record<string, number>>;
}

export interface CapEvent extends Occasion {
  readonly kind: "cap_reached";
  readonly cap: CapReached;
}

export interface ExporterEvent extends Occasion {
  readonly kind: "exporter_fault" | "exporter_fault_over";
  readonly exporter: FaultyExporter;
}

/** An exporter of flow telemetry, and a fault of it. */
export interface FaultyExporter {
  readonly name: string;
  readonly address: string;
  readonly fault: string;
  /** The finding and its remedy; empty: the fault is over. */
  readonly found: string;
  readonly remedy: string;
}

export interface ScrubNodeEvent extends Occasion {
  readonly kind: "scrub_node_fault" | "scrub_node_fault_over";
  readonly scrubNode: FaultyScrubNode;
}

/** A scrub node that does not enforce what it gets. */
export interface FaultyScrubNode {
  readonly name: string;
  /** The reported fault; empty: the fault is over. */
  readonly found: string;
}

export interface FileEvent extends Occasion {
  readonly kind: "file_fault" | "file_fault_over";
  readonly file: FaultyFile;
}

/** A file that the configuration names and that cannot be used. */
export interface FaultyFile {
  /** The place in the configuration. */
  readonly key: string;
  /** The finding, and the setting that holds in its place; empty: it can be used again. */
  readonly error: string;
  readonly effect: string;
}

export interface ClusterEvent extends Occasion {
  readonly kind: "cluster_fault" | "cluster_fault_over";
  readonly cluster: FaultyCluster;
}

/** A fault between this brain and another, or of its own place in the cluster. */
export interface FaultyCluster {
  /** The other brain, or this one. */
  readonly brain: string;
  /** `split` and other kinds (docs/interface.md#cluster). */
  readonly fault: string;
  /** The finding and its remedy; empty: the fault is over. */
  readonly found: string;
  readonly remedy: string;
}

export interface ConditionEvent extends Occasion {
  readonly kind: ConditionKind | ConditionEnd;
  readonly condition: Condition;
}

/** For standing orders, and bans by hand. */
export interface OrderEvent extends Occasion {
  readonly kind: "order_made" | "order_changed" | "order_ended";
  readonly orders: Orders;
}

/** For targets of the tenant that owned an attack or a ban until a reload: all that they get of it from then on. */
export interface OwnerChangedEvent extends Occasion {
  readonly kind: "owner_changed";
  readonly left: LeftProblem;
}

export interface LeftProblem {
  readonly type: "attack" | "ban";
  readonly id: string;
}

/** Events that one target did not get one by one, since they were too many. */
export interface JoinedEvent extends Occasion {
  readonly kind: "events_joined";
  readonly joined: Joined;
}

interface Joined {
  /** By kind. */
  readonly counts: Readonly<Record<string, number>>;
  /** Severity of the most urgent. */
  readonly severity: Severity;
  /** Wall clock, ms: of the first. */
  readonly sinceMs: number;
}

/** Ordered by a person, to see whether a target can be reached. */
export interface TestEvent extends Occasion {
  readonly kind: "test";
  /** The name of the token. */
  readonly orderedBy: string;
}

/** A cap on bans, or the table of attacks on hosts and hostgroups or of those on prefixes. */
export interface CapReached {
  readonly name: "max_active_bans" | "max_banned_fraction" | "attacks" | "carpets";
  readonly limit: number;
  /** Bans, or detections, which are repeated in each tick. */
  readonly refused: number;
  /** Bans or attacks that gave their place to those of worse attacks. */
  readonly replaced: number;
}

export interface Neighbor {
  readonly address: string;
  readonly remoteAsn: number;
  /**
   * State of the session in the words of RFC 4271, lower case; `unknown` while the speaker does not answer, `removed` where the
   * neighbor is configured no more.
   */
  readonly state: string;
}
