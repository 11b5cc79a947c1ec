/**
 * A node's report (interface 2.12): what it says, and how it comes to fit into 64 KiB: detail is shed in the contract's
 * order, and each cut is counted. Pure.
 */
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import type { CountName, SourceWire, Traffic } from "./traffic.ts";
import type { ChallengeMode } from "./zone-document.ts";

/** Sources of one zone's window. */
const SOURCES_MAX = 20;
/** No zone's entry is shorter than this: more than fit by it are not even made. */
const ZONE_BYTES_LEAST = 350;
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
  return cutSources({ top_sources: sources }, SOURCES_MAX);
}

/** The report as it is sent. Throws when it does not fit even without all that can be left out. */
export function fitted(
  whole: ReportWire,
  bytesMax = BODY_BYTES_MAX,
): { readonly report: ReportWire; readonly text: string } {
  for (const report of forms(whole)) {
    const text = JSON.stringify(report);
    if (Buffer.byteLength(text) <= bytesMax) return { report, text };
  }
  throw new Error(`a report does not fit into ${bytesMax} bytes`);
}

/** Each shorter than the one before: without sources that are in no would-be set, with half of those that are, and again, then with fewer certificates, then with fewer zones. */
function* forms(whole: ReportWire): Generator<ReportWire> {
  let form = whole;
  yield form;
  form = withZones(form, (zone) => ({ ...zone, top_sources: zone.top_sources.filter(isWouldBe) }));
  yield form;
  while (form.zones.some(({ top_sources }) => top_sources.length > 0)) {
    form = withZones(form, (zone) => ({ ...zone, ...cutSources(zone, zone.top_sources.length >> 1) }));
    yield form;
  }
  for (const left of fewer(form.certs.length)) {
    const cut = (whole.certs_truncated ?? 0) + whole.certs.length - left;
    form = { ...form, certs: form.certs.slice(0, left), certs_truncated: cut };
    yield form;
  }
  for (const left of fewer(form.zones.length)) {
    const cut = (whole.zones_truncated ?? 0) + whole.zones.length - left;
    form = { ...form, zones: form.zones.slice(0, left), zones_truncated: cut };
    yield form;
  }
}

function withZones(report: ReportWire, change: (zone: ZoneWire) => ZoneWire): ReportWire {
  return { ...report, zones: report.zones.map(change) };
}

/** By an eighth each time, down to none. */
function* fewer(count: number): Generator<number> {
  for (let left = count; left > 0; ) {
    left -= Math.ceil(left / 8);
    yield left;
  }
}

function cutSources(
  { top_sources, sources_truncated = 0 }: Pick<ZoneWire, "top_sources" | "sources_truncated">,
  count: number,
): Pick<ZoneWire, "top_sources" | "sources_truncated"> {
  const missing = sources_truncated + top_sources.slice(count).filter(isWouldBe).length;
  return { top_sources: top_sources.slice(0, count), ...(missing > 0 && { sources_truncated: missing }) };
}

function isWouldBe({ state }: SourceWire): boolean {
  return state === "would-deny" || state === "would-challenge";
}
