/**
 * The zone document (docs/interface.md#zone-document): an edge node's zones and all that it needs to serve them. Its
 * bytes depend on its content only, and are shared by all nodes with the same content.
 */
import { etagOf, type PolledDocument } from "../../nodes/polled-document.ts";
import { timestamp } from "../../schema/timestamp.ts";
import { type ClearanceKey, type KeysOf, nextTurnMs } from "./clearance-keys.ts";
import { isPlaced } from "./placement.ts";
import { ALT_SVC_MAX_AGE_SECONDS, type ChallengeOptions, type Zone, type ZonePolicy, type ZoneTls } from "./zone.ts";

/** Bytes of zone documents that are kept; beyond that, the oldest documents are written again for each poll. */
const ZONE_DOCUMENT_BYTES_KEPT = 256 * 1024 * 1024;

const VERSION = 1;
/** Zones written in one slice: a few milliseconds. */
const SLICE = 100;
/** Shorter bodies fit into one or two packets uncompressed. */
const GZIP_BYTES_LEAST = 2048;
/**
 * From 1 to 9: at this level a megabyte takes 4 ms and shrinks to a seventh; higher levels take twice as long to save
 * another tenth.
 */
const GZIP_LEVEL = 2;

/** An operator's lever on a zone while it is set. Times are wall clock, ms. */
export interface ChallengeOverride {
  readonly mode: "auto" | "manual";
  readonly untilMs: number;
  readonly reason: string;
}

/** A key authorization (RFC 8555, 8.1) that every node of the zone answers with. */
export interface AcmeChallenge {
  readonly zone: string;
  readonly token: string;
  readonly keyAuthorization: string;
  readonly expiresAtMs: number;
}

/** A node may order a certificate for a zone. */
export interface IssuanceGrant {
  readonly zone: string;
  readonly node: string;
  readonly expiresAtMs: number;
}

/** Replaced as a whole; may have expired items, which are left out of the document. */
export interface ZoneState {
  /** Sorted by name, without duplicates. An unchanged zone should be the same object, so that its text is reused. */
  readonly zones: readonly Zone[];
  readonly keysOf: KeysOf;
  /** By zone; items of unknown zones are ignored, here and below. */
  readonly overrides: ReadonlyMap<string, ChallengeOverride>;
  readonly challenges: readonly AcmeChallenge[];
  readonly grants: readonly IssuanceGrant[];
}

/** Has signing keys: only for the node, or for an operator without a tenant. */
export type ZoneDocument = PolledDocument;

/** Memory used by the documents of all scopes. */
export interface DocumentsReading {
  readonly documents: number;
  readonly bytesKept: number;
}

interface ZoneText {
  readonly keys: readonly ClearanceKey[];
  readonly override: ChallengeOverride | null;
  readonly text: string;
}

export class ZoneDocuments {
  #state: ZoneState;
  #nowMs: number;
  readonly #texts = new WeakMap<Zone, ZoneText>();
  /** By the hostgroups of a scope that any zone has; other hostgroups make no difference. */
  readonly #documents = new Map<string, KeptDocument>();
  /** Documents with a body in memory, oldest first. */
  readonly #kept = new Set<KeptDocument>();
  readonly #bytesKeptMax: number;
  #bytesKept = 0;
  /** Hostgroups of the zones; null: not collected yet. */
  #labels: ReadonlySet<string> | null = null;
  #keyOfScope = new WeakMap<readonly string[], string>();

  /** @param bytesKept bound of bodies in memory; one body is kept in any case. */
  constructor(state: ZoneState, nowMs: number, bytesKept = ZONE_DOCUMENT_BYTES_KEPT) {
    this.#bytesKeptMax = bytesKept;
    this.#state = state;
    this.#nowMs = nowMs;
  }

  /**
   * Writes the zones of a future state in slices, so that refresh() is short: a thousand new zones take 30 ms.
   * @param turn resolves after other work has run.
   */
  async prepare(state: ZoneState, nowMs: number, turn: () => Promise<void>): Promise<void> {
    for (const [i, zone] of state.zones.entries()) {
      this.#textOf(zone, state, nowMs);
      if (i % SLICE === SLICE - 1) await turn();
    }
  }

  /** The state has changed, or something in it has expired. */
  refresh(state: ZoneState, nowMs: number): void {
    this.#state = state;
    this.#nowMs = nowMs;
    this.#documents.clear();
    this.#kept.clear();
    this.#bytesKept = 0;
    this.#labels = null;
    this.#keyOfScope = new WeakMap();
  }

  reading(): DocumentsReading {
    return { documents: this.#documents.size, bytesKept: this.#bytesKept };
  }

  /** The latest time of the next refresh: the keys change, or something expires. */
  get nextChangeMs(): number {
    const { overrides, challenges, grants } = this.#state;
    let next = nextTurnMs(this.#nowMs);
    for (const { untilMs } of overrides.values()) if (untilMs > this.#nowMs) next = Math.min(next, untilMs);
    for (const list of [challenges, grants]) {
      for (const { expiresAtMs } of list) if (expiresAtMs > this.#nowMs) next = Math.min(next, expiresAtMs);
    }
    return next;
  }

  /** @param scope of the node, preferably the same array each time; `all`: every zone. */
  of(scope: readonly string[] | "all"): ZoneDocument {
    const key = scope === "all" ? "all" : this.#keyOf(scope);
    const known = this.#documents.get(key);
    if (known !== undefined) return known;
    const [state, nowMs] = [this.#state, this.#nowMs];
    const placed = scope === "all" ? state.zones : state.zones.filter((zone) => isPlaced(zone, scope));
    const document = new KeptDocument(
      () => this.#written(placed, state, nowMs),
      (bytes) => this.#grown(document, bytes),
    );
    this.#documents.set(key, document);
    this.#kept.add(document);
    this.#grown(document, document.bytes);
    return document;
  }

  /** A kept document has grown by this number of bytes: the oldest bodies are dropped if necessary. */
  #grown(document: KeptDocument, bytes: number): void {
    if (!this.#kept.has(document)) return;
    this.#bytesKept += bytes;
    for (const oldest of this.#kept) {
      if (this.#bytesKept <= this.#bytesKeptMax) return;
      if (oldest === document) continue;
      this.#kept.delete(oldest);
      this.#bytesKept -= oldest.bytes;
      oldest.drop();
    }
  }

  #keyOf(scope: readonly string[]): string {
    const known = this.#keyOfScope.get(scope);
    if (known !== undefined) return known;
    this.#labels ??= new Set(this.#state.zones.flatMap(({ hostgroup }) => hostgroup ?? []));
    const labels = this.#labels;
    const key = JSON.stringify([...new Set(scope)].filter((label) => labels.has(label)).sort());
    this.#keyOfScope.set(scope, key);
    return key;
  }

  #written(placed: readonly Zone[], state: ZoneState, nowMs: number): string {
    const zones = [...placed].sort((a, b) => order(a.name, b.name));
    const names = new Set(zones.map(({ name }) => name));
    const isCurrent = ({ zone, expiresAtMs }: { readonly zone: string; readonly expiresAtMs: number }) =>
      names.has(zone) && expiresAtMs > nowMs;
    const challenges = state.challenges
      .filter(isCurrent)
      .sort((a, b) => order(a.zone, b.zone) || order(a.token, b.token))
      .map(challengeWire);
    const grants = state.grants
      .filter(isCurrent)
      .sort((a, b) => order(a.zone, b.zone) || order(a.node, b.node))
      .map(grantWire);
    const texts = zones.map((zone) => this.#textOf(zone, state, nowMs));
    const lists = `"acme_challenges":${JSON.stringify(challenges)},"issuance_grants":${JSON.stringify(grants)}`;
    return `{"version":${VERSION},"zones":[${texts.join(",")}],${lists}}`;
  }

  #textOf(zone: Zone, { keysOf, overrides }: ZoneState, nowMs: number): string {
    const keys = keysOf(zone);
    const set = overrides.get(zone.name);
    const override = set !== undefined && set.untilMs > nowMs ? set : null;
    const known = this.#texts.get(zone);
    if (known?.keys === keys && known.override === override) return known.text;
    const text = JSON.stringify(zoneWire(zone, keys, override));
    this.#texts.set(zone, { keys, override, text });
    return text;
  }
}

/** Keeps the ETag forever, since every poll needs it, and the body until its memory is needed. */
class KeptDocument implements ZoneDocument {
  readonly etag: string;
  readonly #isLong: boolean;
  readonly #write: () => string;
  readonly #onGrown: (bytes: number) => void;
  #isKept = true;
  #body: Blob | null;
  #gzipped: Blob | null = null;

  constructor(write: () => string, onGrown: (bytes: number) => void) {
    const json = write();
    this.etag = etagOf(json);
    this.#body = new Blob([json]);
    this.#isLong = this.#body.size >= GZIP_BYTES_LEAST;
    this.#write = write;
    this.#onGrown = onGrown;
  }

  /** Size in memory. */
  get bytes(): number {
    return (this.#body?.size ?? 0) + (this.#gzipped?.size ?? 0);
  }

  get body(): Blob {
    return this.#body ?? new Blob([this.#write()]);
  }

  get gzipped(): Blob | null {
    if (this.#gzipped !== null || !this.#isLong) return this.#gzipped;
    const made = new Blob([Bun.gzipSync(this.#write(), { level: GZIP_LEVEL })]);
    if (this.#isKept) {
      this.#gzipped = made;
      this.#onGrown(made.size);
    }
    return made;
  }

  drop(): void {
    this.#isKept = false;
    this.#body = null;
    this.#gzipped = null;
  }
}

/** Compares by code unit, independent of the locale. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order of the keys defines the bytes. Tenant and hostgroup are left out, since nodes do not need them. */
function zoneWire(zone: Zone, keys: readonly ClearanceKey[], override: ChallengeOverride | null) {
  return {
    name: zone.name,
    origins: zone.origins,
    tls: tlsWire(zone.tls),
    policy: policyWire(zone.policy),
    ...(zone.acme.directory !== null && { acme_directory: zone.acme.directory }),
    ...(zone.acme.fallback !== null && { acme_fallback: zone.acme.fallback }),
    ...(zone.extraDirectivesFile !== null && { extra_directives_file: zone.extraDirectivesFile }),
    ...(override !== null && {
      challenge_override: { mode: override.mode, until: timestamp(override.untilMs), reason: override.reason },
    }),
    clearance_keys: [...keys].sort((a, b) => a.notBeforeMs - b.notBeforeMs).map(keyWire),
  };
}

function tlsWire({ minVersion, h3, advertise, altSvcMaxAgeSeconds }: ZoneTls) {
  const isDefault = advertise && altSvcMaxAgeSeconds === ALT_SVC_MAX_AGE_SECONDS;
  return {
    min_version: minVersion,
    ...(h3 && { h3 }),
    ...(!isDefault && { h3_options: { advertise, alt_svc_max_age_seconds: altSvcMaxAgeSeconds } }),
  };
}

function policyWire({ mode, failureMode, challenge, dryRun, rate, challengeOptions }: ZonePolicy) {
  return {
    mode,
    failure_mode: failureMode,
    challenge,
    rate: {
      ...(rate.rps > 0 && { rps: rate.rps }),
      ...(rate.concurrency > 0 && { concurrency: rate.concurrency }),
    },
    dry_run: dryRun,
    challenge_options: challengeOptionsWire(challengeOptions),
  };
}

function challengeOptionsWire({ dryRun, exemptPaths, difficulty, cookieTtlSeconds, auto }: ChallengeOptions) {
  return {
    dry_run: dryRun,
    exempt_paths: exemptPaths,
    difficulty,
    cookie_ttl_seconds: cookieTtlSeconds,
    auto: { zone_rps: auto.zoneRps, hold_seconds: auto.holdSeconds },
  };
}

function keyWire({ id, secret, notBeforeMs, notAfterMs }: ClearanceKey) {
  return { id, secret, not_before: timestamp(notBeforeMs), not_after: timestamp(notAfterMs) };
}

function challengeWire({ zone, token, keyAuthorization, expiresAtMs }: AcmeChallenge) {
  return { zone, token, key_authorization: keyAuthorization, expires_at: timestamp(expiresAtMs) };
}

function grantWire({ zone, node, expiresAtMs }: IssuanceGrant) {
  return { zone, node, expires_at: timestamp(expiresAtMs) };
}
