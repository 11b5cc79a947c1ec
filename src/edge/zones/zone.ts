/** A zone: a hostname that edge nodes serve, and its policy. From the zones file, with defaults filled in. */

export interface Zone {
  /** Hostname, in lower case. */
  readonly name: string;
  /** The owner; null: no owner, so only tokens without a tenant can see it. */
  readonly tenant: string | null;
  /** Nodes that list this hostgroup serve the zone; null: all nodes do. */
  readonly hostgroup: string | null;
  /** `host:port`, in the file's order. */
  readonly origins: readonly string[];
  readonly tls: ZoneTls;
  /** URL of an ACME directory (RFC 8555, 7.1.1); null: the node uses its own. */
  readonly acme: { readonly directory: string | null; readonly fallback: string | null };
  readonly policy: ZonePolicy;
  /** A path on the node. */
  readonly extraDirectivesFile: string | null;
}

export interface ZoneTls {
  readonly minVersion: "1.2" | "1.3";
  readonly h3: boolean;
  /** Whether responses over TCP advertise HTTP/3 (Alt-Svc, RFC 7838), and for how long. */
  readonly advertise: boolean;
  readonly altSvcMaxAgeSeconds: number;
}

export interface ZonePolicy {
  /** `none`: requests are passed on without a decision. */
  readonly mode: "decide" | "none";
  /** The decision on requests that cannot be judged. */
  readonly failureMode: "open" | "closed";
  readonly challenge: "auto" | "manual" | "off";
  /** Dry run: denials and challenges are counted, not carried out. */
  readonly dryRun: boolean;
  /** Limit for one source; 0 is off. */
  readonly rate: { readonly rps: number; readonly concurrency: number };
  readonly challengeOptions: ChallengeOptions;
}

export interface ChallengeOptions {
  readonly dryRun: boolean;
  /** Sorted. */
  readonly exemptPaths: readonly string[];
  /** Leading zero bits of the proof of work. */
  readonly difficulty: number;
  readonly cookieTtlSeconds: number;
  /**
   * The request rate of the whole zone at which challenge `auto` starts (0 is off), and how long it lasts afterwards.
   */
  readonly auto: { readonly zoneRps: number; readonly holdSeconds: number };
}

/** Value that stands for an absent field in the zone document (docs/interface.md#zone-document-tls). */
export const ALT_SVC_MAX_AGE_SECONDS = 86_400;
