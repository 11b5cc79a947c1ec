/** The problems of a zone, and what a lever does to its visitors, in plain sentences. Pure. */
import type { Static } from "@sinclair/typebox";
import type { EdgeEventKind } from "../../src/edge/reports/edge-history.ts";
import type { LeverWire } from "../../src/http/wire/edge/lever.ts";
import type { ZoneStatusWire } from "../../src/http/wire/edge/status.ts";
import { counted } from "./format/words.ts";
import type { StateWord } from "./nodes.ts";

const DAY_MS = 86_400_000;
/** A certificate with less time left than this should have been renewed already. */
export const CERT_DAYS_SHORT = 14;

/** The most important problem first; a zone without problems has one word. */
export function zoneWords(zone: ZoneStatusWire, nowMs: number): StateWord[] {
  const words = [...placementWords(zone), ...challengeWords(zone), ...certWords(zone, nowMs)];
  if (words.some(({ tone }) => tone !== "info") || zone.nodes === 0) return words;
  return [...words, { tone: "ok", text: "served" }];
}

function placementWords({ mode, file_challenge: inFile, placement, unserved, nodes }: ZoneStatusWire): StateWord[] {
  if (inFile === undefined) return [{ tone: "warn", text: "not in the zones file" }];
  if (unserved === true) return [{ tone: "danger", text: "unserved" }];
  if (placement?.nodes === 0) return [{ tone: "danger", text: "no node serves it" }];
  // Empty for a zone without decisions.
  if (mode === "none") return [{ tone: "none", text: "no policy" }];
  if (nodes === 0) return [{ tone: "warn", text: "no report" }];
  if (placement !== undefined && placement.alive < placement.nodes) {
    return [{ tone: "warn", text: `${counted(placement.nodes - placement.alive, "node")} lost` }];
  }
  return [];
}

function challengeWords({
  challenge_active: active = [],
  override,
  watch_only: watching,
}: ZoneStatusWire): StateWord[] {
  const words: StateWord[] = [];
  if (active.some(({ dry_run: isDryRun }) => !isDryRun)) words.push({ tone: "warn", text: "challenging" });
  else if (active.length > 0) words.push({ tone: "info", text: "would challenge" });
  if (override !== undefined) words.push({ tone: "info", text: `challenge override: ${override.mode}` });
  if (watching !== undefined) words.push({ tone: "info", text: "watch only" });
  return words;
}

function certWords(zone: ZoneStatusWire, nowMs: number): StateWord[] {
  const days = certDays(zone, nowMs);
  if (days === null || days >= CERT_DAYS_SHORT) return [];
  if (days < 0) return [{ tone: "danger", text: "certificate expired" }];
  return [{ tone: "warn", text: `certificate: ${days} d` }];
}

/** Whole days until its first certificate expires, below 0 if one has expired; null: none is known. */
export function certDays({ certs = [] }: ZoneStatusWire, nowMs: number): number | null {
  if (certs.length === 0) return null;
  return daysLeft(Math.min(...certs.map(({ not_after: end }) => Date.parse(end))), nowMs);
}

export function daysLeft(endMs: number, nowMs: number): number {
  return Math.floor((endMs - nowMs) / DAY_MS);
}

export type LeverMode = "manual" | "auto";

/** The effect on visitors of the site. */
export function leverEffect(mode: LeverMode, zone: ZoneStatusWire): string {
  if (isOnlyWatched(zone)) {
    return "Visitors notice nothing: all nodes of the zone are in dry run and only count whom they would challenge.";
  }
  const check =
    "a short check in their browser before the site opens; it takes a moment and needs JavaScript. " +
    "Programs other than browsers fail it, except on the paths that the zones file exempts";
  if (mode === "manual") return `Every visitor gets ${check}.`;
  return `While the zone has more requests than its file's auto.zone_rps, every visitor gets ${check}. Otherwise no visitor does.`;
}

function isOnlyWatched({ nodes, watch_only: zone = [], rung_watch_only: rung = [] }: ZoneStatusWire): boolean {
  return nodes > 0 && new Set([...zone, ...rung]).size >= nodes;
}

/** The result of the command, and what may limit its effect, one sentence each. */
export function leverResult(lever: Static<typeof LeverWire>): string[] {
  const { mode, nodes } = lever;
  if (mode === undefined) return ["The zone follows its zones file again."];
  const alive = nodes.filter((node) => node.alive);
  const watching = alive.filter((node) => node.dry_run === true).map(({ name }) => name);
  return [
    mode === "manual"
      ? "Visitors are challenged from now on, by each node as soon as it has the order."
      : "Visitors are challenged when the zone is busy.",
    `${alive.length} of its ${counted(nodes.length, "node")} ${alive.length === 1 ? "is" : "are"} alive and informed at once.`,
    ...(lever.zone_watch_only ? ["Its file says policy.dry_run: nodes only count and challenge no one."] : []),
    ...(!lever.zone_watch_only && lever.rung_watch_only
      ? ["Its file says challenge_options.dry_run: nodes only count and challenge no one."]
      : []),
    ...(watching.length > 0 ? [`In dry run, and so without effect: ${watching.join(", ")}.`] : []),
  ];
}

export const LEVER_DURATIONS = [
  ["900", "15 minutes"],
  ["3600", "1 hour"],
  ["14400", "4 hours"],
  ["43200", "12 hours"],
  ["86400", "24 hours"],
] as const;
export type LeverSeconds = (typeof LEVER_DURATIONS)[number][0];

/** In the interface's words, so that users find them in its documentation. */
export const EVENT_NAMES: Readonly<Record<EdgeEventKind, string>> = {
  node_alive: "node alive",
  node_lost: "node lost",
  version: "version",
  dry_run: "dry run",
  document_rendered: "document rendered",
  generation_installed: "generation installed",
  generation_refused: "generation refused",
  terminator_alive: "terminator alive",
  h3_state: "HTTP/3 state",
  cert_issued: "certificate issued",
  cert_renewed: "certificate renewed",
  cert_gone: "certificate gone",
  challenge_started: "challenge started",
  challenge_ended: "challenge ended",
  clock_skew: "clock skew",
  report_truncated: "report truncated",
};
