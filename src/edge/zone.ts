/**
 * A zone: a hostname that edge nodes serve, and how they are to treat its requests. As its file has it, every default
 * filled in.
 */

export interface Zone {
  /** Hostname, in lower case. */
  readonly name: string;
  /** Who owns it; null: nobody, then tokens without a tenant alone see it. */
  readonly tenant: string | null;
  /** The nodes that list this hostgroup serve it; null: all do. */
  readonly hostgroup: string | null;
  /** `host:port`, in the file's order. */
  readonly origins: readonly string[];
  readonly tls: ZoneTls;
  /** URLs of directories (RFC 8555, 7.1.1); null: not said, the node has its own. */
  readonly acme: { readonly directory: string | null; readonly fallback: string | null };
  readonly policy: ZonePolicy;
  /** A path on the node. */
  readonly extraDirectivesFile: string | null;
}

export interface ZoneTls {
  readonly minVersion: "1.2" | "1.3";
  readonly h3: boolean;
  /** Whether answers over TCP tell of HTTP/3 (Alt-Svc, RFC 7838), and for how long that holds. */
  readonly advertise: boolean;
  readonly altSvcMaxAgeSeconds: number;
}

export interface ZonePolicy {
  /** `none`: requests are passed on undecided. */
  readonly mode: "decide" | "none";
  /** What becomes of requests that cannot be decided. */
  readonly failureMode: "open" | "closed";
  readonly challenge: "auto" | "manual" | "off";
  /** Watch only: refusals and challenges are counted, not made. */
  readonly dryRun: boolean;
  /** Of one source; 0 is off. */
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
  /** The rate of the whole zone that challenge `auto` begins at, 0 is off, and how long it stays after. */
  readonly auto: { readonly zoneRps: number; readonly holdSeconds: number };
}

/** What stands for nothing in the zone document (docs/interface.md#zone-document-tls). */
export const ALT_SVC_MAX_AGE_SECONDS = 86_400;
