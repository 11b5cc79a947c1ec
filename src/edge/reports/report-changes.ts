/**
 * Finds the changes since a node's last report, as events (docs/interface.md#edge-events). Each event is a transition;
 * the first report of a node has none. Pure. Entries that a report leaves out are regarded as unchanged.
 */
import type { EdgeEvent, EdgeEventKind } from "./edge-history.ts";
import type { CertClaim, EdgeReport } from "./report.ts";

/** Characters of a node's own text in an edge event. */
export const EDGE_EVENT_DETAIL_MAX = 200;

/** The state of a node by its reports. */
export interface KnownNode {
  readonly version: string | null;
  readonly isDryRun: boolean | null;
  readonly zonesEtag: string | null;
  readonly generation: string | null;
  readonly isTestOk: boolean | null;
  readonly isTerminatorAlive: boolean | null;
  readonly h3State: string | null;
  /** By zone, including zones that the node does not serve: the certificate with the latest expiry. */
  readonly certs: ReadonlyMap<string, CertClaim>;
  /** Zones that are being challenged, including zones that the node does not serve. */
  readonly challenged: ReadonlySet<string>;
  readonly isCut: boolean;
  readonly isClockSkewed: boolean;
}

export type Change = Pick<EdgeEvent, "zone" | "kind" | "detail">;

interface ReportedNow {
  readonly report: EdgeReport;
  /** Whether the node serves the zone: reports about other zones cause no events. */
  readonly serves: (zone: string) => boolean;
  /** Whether the clock behind the windows is wrong; null: not known. */
  readonly isClockSkewed: boolean | null;
}

/** @param before null: the node's first report since the start. */
export function nextKnown(
  before: KnownNode | null,
  now: ReportedNow,
): { readonly known: KnownNode; readonly changes: readonly Change[] } {
  const { report } = now;
  const known: KnownNode = {
    version: report.version ?? before?.version ?? null,
    isDryRun: report.isDryRun ?? before?.isDryRun ?? null,
    zonesEtag: report.zonesEtag ?? before?.zonesEtag ?? null,
    generation: report.generation ?? before?.generation ?? null,
    isTestOk: report.isTestOk ?? before?.isTestOk ?? null,
    isTerminatorAlive: report.isTerminatorAlive ?? before?.isTerminatorAlive ?? null,
    h3State: report.h3.state ?? before?.h3State ?? null,
    certs: knownCerts(before, now),
    challenged: knownChallenges(before, now),
    isCut: report.cut.zones + report.cut.certs + report.cut.sources > 0,
    isClockSkewed: now.isClockSkewed ?? before?.isClockSkewed ?? false,
  };
  if (before === null) return { known, changes: [] };
  const changes = [
    ...nodeChanges(before, known, report),
    ...certChanges(before.certs, known.certs),
    ...challengeChanges(before.challenged, known.challenged, report),
  ];
  return { known, changes: changes.filter(({ zone }) => zone === null || now.serves(zone)) };
}

function knownCerts(before: KnownNode | null, { report, serves }: ReportedNow): Map<string, CertClaim> {
  const certs = new Map<string, CertClaim>();
  for (const [zone, claims] of report.certs) certs.set(zone, longest(claims));
  if (report.cut.certs === 0) return certs;
  for (const [zone, cert] of before?.certs ?? []) if (!certs.has(zone) && serves(zone)) certs.set(zone, cert);
  return certs;
}

function longest(claims: readonly CertClaim[]): CertClaim {
  return claims.reduce((a, b) => (b.notAfterMs > a.notAfterMs ? b : a));
}

function knownChallenges(before: KnownNode | null, { report, serves }: ReportedNow): Set<string> {
  const challenged = new Set<string>();
  for (const [zone, { challengeActive }] of report.zones) {
    if (challengeActive !== null) challenged.add(zone);
  }
  if (report.cut.zones === 0) return challenged;
  for (const zone of before?.challenged ?? []) if (!report.zones.has(zone) && serves(zone)) challenged.add(zone);
  return challenged;
}

function* nodeChanges(before: KnownNode, known: KnownNode, report: EdgeReport): Generator<Change> {
  if (isOther(before.version, known.version)) yield moved("version", before.version, known.version);
  if (isOther(before.isDryRun, known.isDryRun)) yield ofNode("dry_run", known.isDryRun === true ? "on" : "off");
  if (before.zonesEtag !== known.zonesEtag) yield ofNode("document_rendered", known.zonesEtag ?? "");
  if (before.generation !== known.generation) yield ofNode("generation_installed", known.generation ?? "");
  // One event for each document that the node refuses.
  if (report.isTestOk === false && (before.isTestOk !== false || before.zonesEtag !== known.zonesEtag)) {
    yield ofNode("generation_refused", report.testError ?? "");
  }
  if (isOther(before.isTerminatorAlive, known.isTerminatorAlive)) {
    yield ofNode("terminator_alive", known.isTerminatorAlive === true ? "alive" : "not alive");
  }
  if (isOther(before.h3State, known.h3State)) yield moved("h3_state", before.h3State, known.h3State);
  if (!before.isClockSkewed && known.isClockSkewed) {
    yield ofNode("clock_skew", "windows of its reports end too far from now: they are kept by the service's time");
  }
  if (!before.isCut && known.isCut) {
    const { zones, certs, sources } = report.cut;
    yield ofNode("report_truncated", `left out: ${zones} zones, ${certs} certificates, ${sources} sources`);
  }
}

/** A value that was not known before is not a change. */
function isOther<T>(before: T | null, known: T | null): boolean {
  return before !== null && before !== known;
}

function* certChanges(
  before: ReadonlyMap<string, CertClaim>,
  known: ReadonlyMap<string, CertClaim>,
): Generator<Change> {
  for (const [zone, cert] of known) {
    const old = before.get(zone);
    if (old === undefined) yield ofZone("cert_issued", zone, certText(cert));
    else if (old.notAfterMs !== cert.notAfterMs || old.issuer !== cert.issuer) {
      yield ofZone("cert_renewed", zone, certText(cert));
    }
  }
  for (const [zone, cert] of before) if (!known.has(zone)) yield ofZone("cert_gone", zone, certText(cert));
}

function* challengeChanges(
  before: ReadonlySet<string>,
  known: ReadonlySet<string>,
  report: EdgeReport,
): Generator<Change> {
  for (const zone of known) {
    if (before.has(zone)) continue;
    yield ofZone("challenge_started", zone, report.zones.get(zone)?.challengeActive?.reason ?? "");
  }
  for (const zone of before) if (!known.has(zone)) yield ofZone("challenge_ended", zone, "");
}

function certText({ notAfterMs, issuer }: CertClaim): string {
  const until = `valid until ${new Date(notAfterMs).toISOString()}`;
  return issuer === null ? until : `${until}, issued by ${issuer}`;
}

function moved(kind: EdgeEventKind, before: string | null, after: string | null): Change {
  return ofNode(kind, `from ${before} to ${after}`);
}

function ofNode(kind: EdgeEventKind, detail: string): Change {
  return { zone: null, kind, detail: shortened(detail) };
}

function ofZone(kind: EdgeEventKind, zone: string, detail: string): Change {
  return { zone, kind, detail: shortened(detail) };
}

/** Limits the length of a node's own text. */
function shortened(text: string): string {
  const { length } = text;
  return length <= EDGE_EVENT_DETAIL_MAX ? text : `${text.slice(0, EDGE_EVENT_DETAIL_MAX).toWellFormed()}…`;
}
