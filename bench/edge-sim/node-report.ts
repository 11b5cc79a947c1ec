/**
 * A node's report, and how it is cut to 64 KiB: details are removed in the order of docs/interface.md#edge-report, and
 * each cut is counted. Pure.
 */
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import type { CountName, SourceWire, Traffic } from "./traffic.ts";
import type { ChallengeMode } from "./zone-document.ts";

/** Sources of one zone's window. */
const SOURCES_MAX = 20;
/** A lower bound of the length of a zone's entry, so that entries that cannot fit are not even built. */
const ZONE_BYTES_LEAST = 400;
export const REPORTED_ZONES_MAX = Math.floor(BODY_BYTES_MAX / ZONE_BYTES_LEAST);

export interface ZoneWire extends Readonly<Record<CountName, number>> {
  readonly zone: string;
  /** End of the window. */
  readonly at: string;
  readonly window_seconds: number;
  readonly rps: number;
  /** As applied. */
  readonly challenge: ChallengeMode;
  readonly dry_run: boolean;
  readonly rung_dry_run: boolean;
  readonly challenge_active?: { readonly reason: string; readonly until: string; readonly dry_run: boolean };
  readonly top_sources: readonly SourceWire[];
  /** Would-be sources that are missing. */
  readonly sources_truncated?: number;
}

export interface CertificateWire {
  readonly zone: string;
  readonly not_after: string;
  readonly issuer: string;
}

export interface ReportWire {
  readonly version: string;
  readonly dry_run: boolean;
  readonly zones_etag?: string;
  readonly terminator: {
    readonly kind: string;
    readonly version: string;
    readonly generation: number;
    readonly test_ok: boolean;
    readonly alive: boolean;
    readonly h3: {
      readonly state: "ready" | "no_module" | "node_off" | "unknown";
      readonly module: string;
      readonly tls_library: string;
      readonly early_data_capable: boolean;
      /** Names of zones. */
      readonly serving: readonly string[];
      readonly unsupported: readonly string[];
      readonly listening?: boolean;
    };
  };
  readonly certs: readonly CertificateWire[];
  readonly certs_truncated?: number;
  readonly zones_truncated?: number;
  readonly zones: readonly ZoneWire[];
}

/** The first sources of a window, with the number of missing would-be ones. */
export function sourcesToTell({
  sources,
}: Pick<Traffic, "sources">): Pick<ZoneWire, "top_sources" | "sources_truncated"> {
  const missing = sources.slice(SOURCES_MAX).filter(isWouldBe).length;
  return { top_sources: sources.slice(0, SOURCES_MAX), ...(missing > 0 && { sources_truncated: missing }) };
}

/** How much of a report is included. */
interface Cut {
  /** The number of first sources of a zone's list. */
  readonly sources: (zone: ZoneTexts) => number;
  readonly certs: number;
  readonly zones: number;
}

/**
 * Each part is serialized once, even if a report is cut several times: a fleet in one process writes hundreds of
 * reports per second.
 */
interface ZoneTexts {
  /** Without its sources and without the closing brace. */
  readonly bare: string;
  readonly sources: readonly string[];
  /** The would-be sources, which come first; and the number of those that were missing before. */
  readonly wouldBe: number;
  readonly missing: number;
}

/** The report as it is sent. Throws if it does not fit even after all cuts. */
export function fittedText({ zones, certs, ...head }: ReportWire, bytesMax = BODY_BYTES_MAX): string {
  const zoneTexts = zones.map(textsOf);
  const certTexts = certs.map((cert) => JSON.stringify(cert));
  for (const cut of cuts(zoneTexts, certTexts)) {
    const included = {
      ...head,
      ...missingOf("certs_truncated", (head.certs_truncated ?? 0) + certs.length - cut.certs),
      ...missingOf("zones_truncated", (head.zones_truncated ?? 0) + zones.length - cut.zones),
    };
    const start = `${JSON.stringify(included).slice(0, -1)},"certs":[`;
    if (bytesOf(start, zoneTexts, certTexts, cut) > bytesMax) continue;
    const zoneList = zoneTexts.slice(0, cut.zones).map((zone) => zoneText(zone, cut.sources(zone)));
    return `${start}${certTexts.slice(0, cut.certs).join()}],"zones":[${zoneList.join()}]}`;
  }
  throw new Error(`a report does not fit into ${bytesMax} bytes`);
}

/**
 * Each step removes more than the one before: sources that are not would-be ones, then half of the would-be ones, and
 * again, then certificates, then zones.
 */
function* cuts(zones: readonly ZoneTexts[], certs: readonly string[]): Generator<Cut> {
  const whole = { certs: certs.length, zones: zones.length };
  yield { ...whole, sources: ({ sources }) => sources.length };
  for (let halvings = 0; ; halvings++) {
    yield { ...whole, sources: ({ wouldBe }) => wouldBe >> halvings };
    if (zones.every(({ wouldBe }) => wouldBe >> halvings === 0)) break;
  }
  const sources = () => 0;
  for (const left of fewer(certs.length)) yield { sources, certs: left, zones: zones.length };
  for (const left of fewer(zones.length)) yield { sources, certs: 0, zones: left };
}

/** Reduces by an eighth each time, down to none. */
function* fewer(count: number): Generator<number> {
  for (let left = count; left > 0; ) {
    left -= Math.ceil(left / 8);
    yield left;
  }
}

function textsOf({ top_sources, sources_truncated: missing = 0, ...zone }: ZoneWire): ZoneTexts {
  return {
    bare: JSON.stringify(zone).slice(0, -1),
    sources: top_sources.map((source) => JSON.stringify(source)),
    wouldBe: top_sources.filter(isWouldBe).length,
    missing,
  };
}

/** Would-be sources beyond the first `included` ones are missing. */
function zoneText({ bare, sources, wouldBe, missing }: ZoneTexts, included: number): string {
  const cut = missingText(missing + Math.max(0, wouldBe - included));
  return `${bare},"top_sources":[${sources.slice(0, included).join()}]${cut}}`;
}

function missingText(missing: number): string {
  return missing === 0 ? "" : `,"sources_truncated":${missing}`;
}

function missingOf(key: "certs_truncated" | "zones_truncated", missing: number): object {
  return missing === 0 ? {} : { [key]: missing };
}

/** Length of the text, which is ASCII only. */
function bytesOf(start: string, zones: readonly ZoneTexts[], certs: readonly string[], cut: Cut): number {
  const lengths = (texts: readonly string[], count: number) => {
    let sum = Math.max(0, count - 1);
    for (let i = 0; i < count; i++) sum += texts[i]?.length ?? 0;
    return sum;
  };
  let sum = start.length + lengths(certs, cut.certs) + '],"zones":[]}'.length + Math.max(0, cut.zones - 1);
  for (const zone of zones.slice(0, cut.zones)) {
    const included = cut.sources(zone);
    const cutText = missingText(zone.missing + Math.max(0, zone.wouldBe - included));
    sum += zone.bare.length + ',"top_sources":[]}'.length + lengths(zone.sources, included) + cutText.length;
  }
  return sum;
}

function isWouldBe({ state }: SourceWire): boolean {
  return state === "would-deny" || state === "would-challenge";
}
