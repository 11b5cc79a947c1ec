/** The report of an edge node (docs/interface.md#edge-report): parsed for the service, and kept unchanged. */

import { FormatRegistry, type Static, Type } from "@sinclair/typebox";
import {
  EDGE_COUNTERS,
  type EdgeCounts,
  REPORTED_STATES,
  type ReportedState,
} from "../../../edge/reports/edge-history.ts";
import type {
  ActiveChallenge,
  CertClaim,
  ClaimedSource,
  EdgeReport,
  H3Claim,
  ZoneClaim,
} from "../../../edge/reports/report.ts";
import { type IpAddress, parseAddress } from "../../../net/address.ts";
import { Count } from "../../../schema/schema-forms.ts";
import { parseTimestamp } from "../../../schema/timestamp.ts";
import { round } from "../../../traffic/rates.ts";
import { type FieldCheck, fieldCheck } from "../../server/fields.ts";
import { rewritten } from "../node-text.ts";

/** Sources that are read from one window of one zone in an edge node's report. */
export const EDGE_SOURCES_PER_WINDOW = 20;
/**
 * The largest counter of such a window, so that sums over all nodes and 31 days stay safe integers; and its longest
 * duration, seconds.
 */
export const EDGE_COUNT_MAX = 10_000_000_000;
const EDGE_WINDOW_SECONDS_MAX = 3600;

FormatRegistry.Set("date-time", (text) => parseTimestamp(text) !== null);

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
const time = Type.Optional(Type.String({ format: "date-time" }));
const count = Type.Optional(Type.Integer({ minimum: 0, maximum: EDGE_COUNT_MAX }));
const rate = Type.Optional(Type.Number({ minimum: 0, maximum: EDGE_COUNT_MAX }));
/** Names, or only the number. */
const zoneNames = Type.Optional(Type.Union([Type.Array(Type.String()), Count]));

/** The service does not read it: any type is accepted. */
const unread = Type.Optional(Type.Unknown());

const SourceWire = Type.Object({
  source: Type.String(),
  rps: unread,
  requests: count,
  /** denied, challenged, would-deny, would-challenge, cleared, marked or allow. */
  state: text,
});

const ZoneClaimWire = Type.Object({
  zone: Type.String(),
  /** End of the window. */
  at: time,
  window_seconds: Type.Optional(Type.Number({ minimum: 0, maximum: EDGE_WINDOW_SECONDS_MAX })),
  rps: rate,
  ...(Object.fromEntries(EDGE_COUNTERS.map((name) => [name, count])) as Record<keyof EdgeCounts, typeof count>),
  challenge: text,
  dry_run: flag,
  rung_dry_run: flag,
  challenge_active: Type.Optional(Type.Object({ reason: text, until: time, dry_run: flag })),
  top_sources: Type.Optional(Type.Array(SourceWire)),
  sources_truncated: count,
});

const H3Wire = Type.Object({
  state: text,
  module: unread,
  tls_library: unread,
  early_data_capable: unread,
  advisory: unread,
  serving: zoneNames,
  unsupported: zoneNames,
  listening: unread,
});

const TerminatorWire = Type.Object({
  kind: unread,
  version: unread,
  generation: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
  test_ok: flag,
  test_error: text,
  alive: flag,
  h3: Type.Optional(H3Wire),
});

const CertWire = Type.Object({ zone: Type.String(), not_after: Type.String({ format: "date-time" }), issuer: text });

/** Unknown keys are kept. */
export const EdgeReportWire = Type.Object({
  version: text,
  dry_run: flag,
  zones_etag: text,
  terminator: Type.Optional(TerminatorWire),
  certs: Type.Optional(Type.Array(CertWire)),
  certs_truncated: count,
  zones: Type.Optional(Type.Array(ZoneClaimWire)),
  zones_truncated: count,
  sources_truncated: count,
});
export type EdgeReportWire = Static<typeof EdgeReportWire>;

const wireCheck = fieldCheck(EdgeReportWire);

export const edgeReportCheck: FieldCheck<EdgeReport> = {
  schema: wireCheck.schema,
  check(value, original) {
    const checked = wireCheck.check(value);
    if (checked.kind !== "fields") return checked;
    const result = rewritten(original);
    return result.kind === "text" ? { kind: "fields", fields: edgeReportOf(checked.fields, result.text) } : result;
  },
};

function edgeReportOf(wire: EdgeReportWire, original: string): EdgeReport {
  const { terminator = {} } = wire;
  const certs = new Map<string, CertClaim[]>();
  for (const { zone, not_after: notAfter, issuer } of wire.certs ?? []) {
    const name = zone.toLowerCase();
    const claims = certs.get(name) ?? [];
    claims.push({ notAfterMs: parseTimestamp(notAfter) ?? 0, issuer: issuer ?? null });
    certs.set(name, claims);
  }
  // If a zone occurs twice, the last one is used, as for a JSON key.
  const zones = new Map((wire.zones ?? []).map((claim) => [claim.zone.toLowerCase(), zoneClaim(claim)]));
  return {
    text: original,
    version: wire.version ?? null,
    isDryRun: wire.dry_run ?? null,
    zonesEtag: wire.zones_etag ?? null,
    generation: terminator.generation === undefined ? null : String(terminator.generation),
    isTestOk: terminator.test_ok ?? null,
    testError: terminator.test_error ?? null,
    isTerminatorAlive: terminator.alive ?? null,
    h3: h3Claim(terminator.h3),
    certs,
    zones,
    cut: cutCounts(wire),
  };
}

/** If a report gives both, the missing sources of the zones are part of those of the report as a whole. */
function cutCounts(wire: EdgeReportWire): EdgeReport["cut"] {
  const inZones = (wire.zones ?? []).reduce((sum, { sources_truncated: cut = 0 }) => sum + cut, 0);
  const inAll = wire.sources_truncated ?? 0;
  return {
    zones: wire.zones_truncated ?? 0,
    certs: wire.certs_truncated ?? 0,
    sources: Math.max(inZones, inAll),
    isAnyZoneAffected: inAll > inZones,
  };
}

function h3Claim(h3: Static<typeof H3Wire> = {}): H3Claim {
  return { state: h3.state ?? null, serving: namesOf(h3.serving), unsupported: namesOf(h3.unsupported) };
}

function namesOf(zones: readonly string[] | number | undefined): ReadonlySet<string> {
  return new Set(typeof zones === "object" ? zones.map((name) => name.toLowerCase()) : []);
}

function zoneClaim(wire: Static<typeof ZoneClaimWire>): ZoneClaim {
  const counts = edgeCounts(wire);
  // Rounded as in the output: a shorter duration is no window, and would give an unlimited rate.
  const seconds = round(wire.window_seconds ?? DEFAULT_WINDOW_SECONDS);
  const sources = claimedSources(wire.top_sources ?? []);
  return {
    atMs: wire.at === undefined ? null : parseTimestamp(wire.at),
    seconds,
    rps: wire.rps ?? (seconds === 0 ? 0 : counts.requests / seconds),
    counts,
    challenge: wire.challenge ?? null,
    isWatchOnly: wire.dry_run ?? false,
    isRungWatchOnly: wire.rung_dry_run ?? false,
    challengeActive: activeChallenge(wire.challenge_active),
    sources: sources.read,
    sourcesCut: (wire.sources_truncated ?? 0) + sources.cut,
  };
}

/** Written out for speed: each report has some hundred. */
function edgeCounts(wire: Partial<EdgeCounts>): EdgeCounts {
  return {
    requests: wire.requests ?? 0,
    decided: wire.decided ?? 0,
    denied: wire.denied ?? 0,
    challenged: wire.challenged ?? 0,
    cleared: wire.cleared ?? 0,
    would_deny: wire.would_deny ?? 0,
    would_challenge: wire.would_challenge ?? 0,
    status_2xx: wire.status_2xx ?? 0,
    status_3xx: wire.status_3xx ?? 0,
    status_4xx: wire.status_4xx ?? 0,
    status_5xx: wire.status_5xx ?? 0,
    h3_requests: wire.h3_requests ?? 0,
  };
}

/** For a window without a duration (docs/interface.md#edge-report-window). */
const DEFAULT_WINDOW_SECONDS = 10;

function activeChallenge(wire: Static<typeof ZoneClaimWire>["challenge_active"]): ActiveChallenge | null {
  if (wire === undefined) return null;
  return {
    reason: wire.reason ?? null,
    untilMs: wire.until === undefined ? null : parseTimestamp(wire.until),
    isDryRun: wire.dry_run ?? false,
  };
}

const NO_SOURCES = { read: [], cut: 0 } as const;

/**
 * Merges different spellings of one address. Invalid or excess sources count as missing if they are would-be sources.
 */
function claimedSources(wire: readonly Static<typeof SourceWire>[]): {
  readonly read: readonly ClaimedSource[];
  readonly cut: number;
} {
  // A shortcut for most zones, of which there are a hundred thousand.
  if (!wire.some(({ state = "" }) => isReportedState(state))) return NO_SOURCES;
  const read = new Map<IpAddress, ClaimedSource>();
  let cut = 0;
  for (const { source: text, state = "", requests = 0 } of wire) {
    if (!isReportedState(state)) continue;
    const source = parseAddress(text);
    const known = source === null ? undefined : read.get(source);
    if (source === null || (known === undefined && read.size === EDGE_SOURCES_PER_WINDOW)) {
      if (state.startsWith("would-")) cut++;
    } else read.set(source, known === undefined ? { source, state, requests } : together(known, state, requests));
  }
  return { read: [...read.values()], cut };
}

function together(known: ClaimedSource, state: ReportedState, requests: number): ClaimedSource {
  const isStronger = REPORTED_STATES.indexOf(state) < REPORTED_STATES.indexOf(known.state);
  return {
    source: known.source,
    state: isStronger ? state : known.state,
    // Each number is within its bound, and the sum must be too.
    requests: Math.min(known.requests + requests, EDGE_COUNT_MAX),
  };
}

function isReportedState(state: string): state is ReportedState {
  return (REPORTED_STATES as readonly string[]).includes(state);
}
