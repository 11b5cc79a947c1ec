/**
 * A node's report: what it says, and how it comes to fit into 64 KiB: detail is shed in the order of
 * docs/interface.md#edge-report, and each cut is counted. Pure.
 */
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import type { CountName, SourceWire, Traffic } from "./traffic.ts";
import type { ChallengeMode } from "./zone-document.ts";

/** Sources of one zone's window. */
const SOURCES_MAX = 20;
/** No zone's entry is shorter than this: more than fit by it are not even made. */
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

/** The first of a window's sources, with what is missing of the would-be ones. */
export function sourcesToTell({
  sources,
}: Pick<Traffic, "sources">): Pick<ZoneWire, "top_sources" | "sources_truncated"> {
  const missing = sources.slice(SOURCES_MAX).filter(isWouldBe).length;
  return { top_sources: sources.slice(0, SOURCES_MAX), ...(missing > 0 && { sources_truncated: missing }) };
}

/** How much of a report is told. */
interface Cut {
  /** Of a zone's list that many of the first. */
  readonly sources: (zone: ZoneTexts) => number;
  readonly certs: number;
  readonly zones: number;
}

/** Each part is written once, however often a report is cut: a fleet in one process writes hundreds a second. */
interface ZoneTexts {
  /** Without its sources, and without the brace at its end. */
  readonly bare: string;
  readonly sources: readonly string[];
  /** Would-be ones, which are the first of them; and those that were missing before. */
  readonly wouldBe: number;
  readonly missing: number;
}

/** The report as it is sent. Throws when it does not fit even without all that can be left out. */
export function fittedText({ zones, certs, ...head }: ReportWire, bytesMax = BODY_BYTES_MAX): string {
  const zoneTexts = zones.map(textsOf);
  const certTexts = certs.map((cert) => JSON.stringify(cert));
  for (const cut of cuts(zoneTexts, certTexts)) {
    const told = {
      ...head,
      ...missingOf("certs_truncated", (head.certs_truncated ?? 0) + certs.length - cut.certs),
      ...missingOf("zones_truncated", (head.zones_truncated ?? 0) + zones.length - cut.zones),
    };
    const start = `${JSON.stringify(told).slice(0, -1)},"certs":[`;
    if (bytesOf(start, zoneTexts, certTexts, cut) > bytesMax) continue;
    const zoneList = zoneTexts.slice(0, cut.zones).map((zone) => zoneText(zone, cut.sources(zone)));
    return `${start}${certTexts.slice(0, cut.certs).join()}],"zones":[${zoneList.join()}]}`;
  }
  throw new Error(`a report does not fit into ${bytesMax} bytes`);
}

/**
 * Each leaves out more than the one before: sources that are in no would-be set, then half of those that are, and again,
 * then certificates, then zones.
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

/** By an eighth each time, down to none. */
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

/** Of the would-be sources those are missing that are not among the first so many. */
function zoneText({ bare, sources, wouldBe, missing }: ZoneTexts, told: number): string {
  const cut = missingText(missing + Math.max(0, wouldBe - told));
  return `${bare},"top_sources":[${sources.slice(0, told).join()}]${cut}}`;
}

function missingText(missing: number): string {
  return missing === 0 ? "" : `,"sources_truncated":${missing}`;
}

function missingOf(key: "certs_truncated" | "zones_truncated", missing: number): object {
  return missing === 0 ? {} : { [key]: missing };
}

/** Of the text that would be written: all of it is ASCII. */
function bytesOf(start: string, zones: readonly ZoneTexts[], certs: readonly string[], cut: Cut): number {
  const lengths = (texts: readonly string[], count: number) => {
    let sum = Math.max(0, count - 1);
    for (let i = 0; i < count; i++) sum += texts[i]?.length ?? 0;
    return sum;
  };
  let sum = start.length + lengths(certs, cut.certs) + '],"zones":[]}'.length + Math.max(0, cut.zones - 1);
  for (const zone of zones.slice(0, cut.zones)) {
    const told = cut.sources(zone);
    const cutText = missingText(zone.missing + Math.max(0, zone.wouldBe - told));
    sum += zone.bare.length + ',"top_sources":[]}'.length + lengths(zone.sources, told) + cutText.length;
  }
  return sum;
}

function isWouldBe({ state }: SourceWire): boolean {
  return state === "would-deny" || state === "would-challenge";
}
