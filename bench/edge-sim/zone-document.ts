/**
 * Parses the zone document as a node does (docs/interface.md#zone-document): completely or not at all. Unknown keys are
 * ignored, an unknown version is refused. Pure.
 */
import { parseTimestamp } from "../../src/http/wire/timestamp.ts";

export type ChallengeMode = "auto" | "manual" | "off";

export interface NodeDocument {
  readonly zones: readonly NodeZone[];
  readonly challenges: readonly FannedOutChallenge[];
  readonly grants: readonly { readonly zone: string; readonly node: string; readonly expiresAtMs: number }[];
}

export interface NodeZone {
  readonly name: string;
  /** Whether requests are decided; otherwise they pass. */
  readonly decides: boolean;
  readonly challenge: ChallengeMode;
  /** Limit for one source; 0 is off. */
  readonly rps: number;
  /** Dry run of the zone, and of its challenge. */
  readonly dryRun: boolean;
  readonly rungDryRun: boolean;
  readonly auto: { readonly zoneRps: number; readonly holdSeconds: number };
  readonly h3: boolean;
  readonly acmeDirectory: string | null;
  /** An operator's lever while it is set; it expires at its time, with or without the service. */
  readonly override: { readonly mode: ChallengeMode; readonly untilMs: number; readonly reason: string } | null;
  /** Ids of the keys that sign clearances. */
  readonly keyIds: readonly string[];
}

export interface FannedOutChallenge {
  readonly zone: string;
  readonly token: string;
  readonly keyAuthorization: string;
  readonly expiresAtMs: number;
}

/** The document cannot be used; the message says where and why. */
export class DocumentProblem extends Error {}

const VERSION = 1;
const CHALLENGES: readonly string[] = ["auto", "manual", "off"] satisfies ChallengeMode[];

type Wire = Readonly<Record<string, unknown>>;

/** Throws DocumentProblem. */
export function readDocument(text: string): NodeDocument {
  const { version, zones, acme_challenges, issuance_grants } = asObject(parsed(text), "the document");
  if (version !== VERSION) throw new DocumentProblem(`version ${JSON.stringify(version)} is none that this node knows`);
  return {
    zones: each(zones, "zones", readZone),
    challenges: each(acme_challenges, "acme_challenges", (challenge, at) => ({
      zone: asText(challenge["zone"], `${at}.zone`),
      token: asText(challenge["token"], `${at}.token`),
      keyAuthorization: asText(challenge["key_authorization"], `${at}.key_authorization`),
      expiresAtMs: asTime(challenge["expires_at"], `${at}.expires_at`),
    })),
    grants: each(issuance_grants, "issuance_grants", (grant, at) => ({
      zone: asText(grant["zone"], `${at}.zone`),
      node: asText(grant["node"], `${at}.node`),
      expiresAtMs: asTime(grant["expires_at"], `${at}.expires_at`),
    })),
  };
}

function readZone(zone: Wire, at: string): NodeZone {
  const policy = asObject(zone["policy"], `${at}.policy`);
  const options = asObject(policy["challenge_options"], `${at}.policy.challenge_options`);
  const auto = asObject(options["auto"], `${at}.policy.challenge_options.auto`);
  const decides = policy["mode"] !== "none";
  const keyIds = each(zone["clearance_keys"], `${at}.clearance_keys`, (key, keyAt) => {
    asText(key["secret"], `${keyAt}.secret`);
    return asText(key["id"], `${keyAt}.id`);
  });
  if (keyIds.length === 0) throw new DocumentProblem(`${at}.clearance_keys: there is none`);
  return {
    name: asText(zone["name"], `${at}.name`),
    decides,
    challenge: asChallenge(policy["challenge"], `${at}.policy.challenge`),
    rps: asCount(asObject(policy["rate"], `${at}.policy.rate`)["rps"] ?? 0, `${at}.policy.rate.rps`),
    dryRun: policy["dry_run"] === true,
    rungDryRun: options["dry_run"] === true,
    auto: {
      zoneRps: asCount(auto["zone_rps"], `${at}.policy.challenge_options.auto.zone_rps`),
      holdSeconds: asCount(auto["hold_seconds"], `${at}.policy.challenge_options.auto.hold_seconds`),
    },
    h3: asObject(zone["tls"], `${at}.tls`)["h3"] === true,
    acmeDirectory: zone["acme_directory"] === undefined ? null : asText(zone["acme_directory"], `${at}.acme_directory`),
    override: readOverride(zone["challenge_override"], `${at}.challenge_override`),
    keyIds,
  };
}

function readOverride(value: unknown, at: string): NodeZone["override"] {
  if (value === undefined) return null;
  const { mode, until, reason } = asObject(value, at);
  return {
    mode: asChallenge(mode, `${at}.mode`),
    untilMs: asTime(until, `${at}.until`),
    reason: asText(reason, `${at}.reason`),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DocumentProblem("it is no JSON");
  }
}

function each<T>(value: unknown, at: string, read: (item: Wire, at: string) => T): T[] {
  if (!Array.isArray(value)) throw new DocumentProblem(`${at}: must be a list`);
  return value.map((item: unknown, i) => read(asObject(item, `${at}[${i}]`), `${at}[${i}]`));
}

function asObject(value: unknown, at: string): Wire {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Wire;
  throw new DocumentProblem(`${at}: must be an object`);
}

function asText(value: unknown, at: string): string {
  if (typeof value === "string") return value;
  throw new DocumentProblem(`${at}: must be a text`);
}

function asCount(value: unknown, at: string): number {
  if (typeof value === "number" && value >= 0) return value;
  throw new DocumentProblem(`${at}: must be a number, 0 or more`);
}

function asTime(value: unknown, at: string): number {
  const ms = typeof value === "string" ? parseTimestamp(value) : null;
  if (ms === null) throw new DocumentProblem(`${at}: must be a time (RFC 3339)`);
  return ms;
}

function asChallenge(value: unknown, at: string): ChallengeMode {
  if (typeof value === "string" && CHALLENGES.includes(value)) return value as ChallengeMode;
  throw new DocumentProblem(`${at}: must be auto, manual or off`);
}

/** The setting that applies to a zone now: the operator's lever until it expires, else its file's. */
export function appliedChallenge({ challenge, override }: NodeZone, nowMs: number): ChallengeMode {
  return override !== null && override.untilMs > nowMs ? override.mode : challenge;
}
