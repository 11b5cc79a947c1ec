/** The problems of a zone, and what a lever does to its visitors, in plain sentences. Pure. */
import type { Static } from "@sinclair/typebox";
import type { EdgeEventKind } from "../../src/edge/reports/edge-history.ts";
import type { LeverWire } from "../../src/http/wire/edge/lever.ts";
import type { ZoneStatusWire } from "../../src/http/wire/edge/status.ts";
import { t } from "../language.ts";
import { counted } from "./format/words.ts";
import { CHALLENGES } from "./interface-words.ts";
import type { StateWord } from "./nodes.ts";

const DAY_MS = 86_400_000;
/** A certificate with less time left than this should have been renewed already. */
export const CERT_DAYS_SHORT = 14;

/** The most important problem first; a zone without problems has one word. */
export function zoneWords(zone: ZoneStatusWire, nowMs: number): StateWord[] {
  const words = [...placementWords(zone), ...challengeWords(zone), ...certWords(zone, nowMs)];
  if (words.some(({ tone }) => tone !== "info") || zone.nodes === 0) return words;
  return [...words, { tone: "ok", text: t`served` }];
}

function placementWords({ mode, file_challenge: inFile, placement, unserved, nodes }: ZoneStatusWire): StateWord[] {
  if (inFile === undefined) return [{ tone: "warn", text: t`not in the zones file` }];
  if (unserved === true) return [{ tone: "danger", text: t`unserved` }];
  if (placement?.nodes === 0) return [{ tone: "danger", text: t`no node serves it` }];
  // Empty for a zone without decisions.
  if (mode === "none") return [{ tone: "none", text: t`no policy` }];
  if (nodes === 0) return [{ tone: "warn", text: t`no report` }];
  if (placement !== undefined && placement.alive < placement.nodes) {
    return [{ tone: "warn", text: t`${counted(placement.nodes - placement.alive, "node")} lost` }];
  }
  return [];
}

function challengeWords({
  challenge_active: active = [],
  override,
  watch_only: watching,
}: ZoneStatusWire): StateWord[] {
  const words: StateWord[] = [];
  if (active.some(({ dry_run: isDryRun }) => !isDryRun)) words.push({ tone: "warn", text: t`challenging` });
  else if (active.length > 0) words.push({ tone: "info", text: t`would challenge` });
  if (override !== undefined) words.push({ tone: "info", text: t`challenge override: ${CHALLENGES[override.mode]}` });
  if (watching !== undefined) words.push({ tone: "info", text: t`watch only` });
  return words;
}

function certWords(zone: ZoneStatusWire, nowMs: number): StateWord[] {
  const days = certDays(zone, nowMs);
  if (days === null || days >= CERT_DAYS_SHORT) return [];
  if (days < 0) return [{ tone: "danger", text: t`certificate expired` }];
  return [{ tone: "warn", text: t`certificate: ${days} d` }];
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
    return t`Visitors notice nothing: all nodes of the zone are in dry run and only count whom they would challenge.`;
  }
  const check =
    t`a short check in their browser before the site opens; it takes a moment and needs JavaScript. ` +
    t`Programs other than browsers fail it, except on the paths that the zones file exempts`;
  if (mode === "manual") return t`Every visitor gets ${check}.`;
  return t`While the zone has more requests than its file allows (auto.zone_rps), every visitor gets ${check}. Otherwise no visitor does.`;
}

function isOnlyWatched({ nodes, watch_only: zone = [], rung_watch_only: rung = [] }: ZoneStatusWire): boolean {
  return nodes > 0 && new Set([...zone, ...rung]).size >= nodes;
}

/** The result of the command, and what may limit its effect, one sentence each. */
export function leverResult(lever: Static<typeof LeverWire>): string[] {
  const { mode, nodes } = lever;
  if (mode === undefined) return [t`The zone follows its zones file again.`];
  const alive = nodes.filter((node) => node.alive);
  const watching = alive.filter((node) => node.dry_run === true).map(({ name }) => name);
  return [
    mode === "manual"
      ? t`Visitors are challenged from now on, by each node as soon as it has the order.`
      : t`Visitors are challenged when the zone is busy.`,
    alive.length === 1
      ? t`1 of its ${counted(nodes.length, "node")} is alive and informed at once.`
      : t`${alive.length} of its ${counted(nodes.length, "node")} are alive and informed at once.`,
    ...(lever.zone_watch_only ? [t`Its file says policy.dry_run: nodes only count and challenge no one.`] : []),
    ...(!lever.zone_watch_only && lever.rung_watch_only
      ? [t`Its file says challenge_options.dry_run: nodes only count and challenge no one.`]
      : []),
    ...(watching.length > 0 ? [t`In dry run, and so without effect: ${watching.join(", ")}.`] : []),
  ];
}

export const LEVER_DURATIONS = [
  ["900", t`15 minutes`],
  ["3600", t`1 hour`],
  ["14400", t`4 hours`],
  ["43200", t`12 hours`],
  ["86400", t`24 hours`],
] as const;
export type LeverSeconds = (typeof LEVER_DURATIONS)[number][0];

/** In the interface's words, so that users find them in its documentation. */
export const EVENT_NAMES: Readonly<Record<EdgeEventKind, string>> = {
  node_alive: t`node alive`,
  node_lost: t`node lost`,
  version: t`version`,
  dry_run: t`dry run`,
  document_rendered: t`document rendered`,
  generation_installed: t`generation installed`,
  generation_refused: t`generation refused`,
  terminator_alive: t`terminator alive`,
  h3_state: t`HTTP/3 state`,
  cert_issued: t`certificate issued`,
  cert_renewed: t`certificate renewed`,
  cert_gone: t`certificate gone`,
  challenge_started: t`challenge started`,
  challenge_ended: t`challenge ended`,
  clock_skew: t`clock skew`,
  report_truncated: t`report truncated`,
};
