/** The two kinds of BGP speaker, as the link uses them. */
import type { BgpConfig } from "../bgp-config.ts";
import { connectGobgp } from "../gobgp/gobgp-client.ts";
import { parseSpeakerTarget } from "../gobgp/gobgp-connection.ts";
import { NeighborPolicies } from "../neighbor-policies.ts";
import type { RouteLimit } from "../withheld-routes.ts";
import type { Session } from "./neighbor.ts";
import type { RouteCounts } from "./neighbor-limits.ts";
import type { PeerNotification } from "./peer-notification.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import type { SpeakerFault } from "./speaker-fault.ts";

export interface Speaker {
  readonly kind: BgpConfig["speaker"];
  /** The policies that it enforces by the marks of routes since the last connect(). */
  readonly policies: NeighborPolicies;
  /** A client of a running and configured speaker. Throws a SpeakerFault if there is none; the caller retries. */
  connect(): Promise<SpeakerClient>;
  /**
   * Sets the configured neighbors, after the routes are in the speaker, so that a new session sends them. Returns the
   * faults of single neighbors; the others are set.
   */
  configure(client: SpeakerClient): Promise<readonly SpeakerFault[]>;
  /** To be called with each list of sessions. */
  follow(client: SpeakerClient, followed: Followed): Promise<SessionChanges>;
  /** Why the neighbor ended its last session; null: not known. */
  neighborFault(address: string): string | null;
  /** The wanted routes changed, or the service stops and leaves them. */
  routesChanged(): void;
  /** Takes effect with the next connect() and configure(). */
  reload(config: BgpConfig): void;
  /** Stops a process that the speaker started. */
  end(): Promise<void>;
}

export interface Followed {
  readonly sessions: readonly Session[];
  /** Our routes in the speaker that a neighbor gets if it takes them all. */
  readonly installed: (neighbor: string) => RouteCounts;
  /** In force; at first those of an earlier process of the service. */
  readonly limits: readonly RouteLimit[];
  /** That other brains found since the last call. */
  readonly others: readonly RouteLimit[];
}

/** Sessions that began or ended since the last call. */
export interface SessionChanges {
  readonly notifications: readonly PeerNotification[];
  /** Neighbors whose session ended for a reason that is no route of ours. */
  readonly blameless: readonly string[];
  /** Neighbors to which the speaker must send all routes again, by resend(). */
  readonly unsent: readonly string[];
  /** Neighbors that get only what resend() sends. */
  readonly deferring: readonly string[];
  /** To be in force from now on, before neighbors are configured again. */
  readonly limits: readonly RouteLimit[];
  /** Those of them that are found, not looked for. */
  readonly known: readonly RouteLimit[];
}

interface ExternalSpeakerOptions {
  /** As in the configuration. */
  readonly grpc: string;
  readonly deadlineMs: number;
}

/** A speaker that is run and configured outside of the service: we only add and withdraw our routes. */
export class ExternalSpeaker implements Speaker {
  readonly kind = "external";
  readonly policies = new NeighborPolicies({ speaker: "external", localAsn: 0, neighbors: [], communitiesAt: [] });
  readonly #options: ExternalSpeakerOptions;

  constructor(options: ExternalSpeakerOptions) {
    this.#options = options;
  }

  connect(): Promise<SpeakerClient> {
    const { grpc, deadlineMs } = this.#options;
    return connectGobgp({ target: parseSpeakerTarget(grpc), deadlineMs });
  }

  async configure(): Promise<readonly SpeakerFault[]> {
    return [];
  }

  /** GoBGP 3 has the notifications in its log alone, which is not ours here. */
  async follow(): Promise<SessionChanges> {
    return { notifications: [], blameless: [], unsent: [], deferring: [], limits: [], known: [] };
  }

  neighborFault(): null {
    return null;
  }
  routesChanged(): void {}

  reload(): void {}

  async end(): Promise<void> {}
}
