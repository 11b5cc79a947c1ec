/** Maintenance windows in words, and the order that opens one. Pure. */
import type { MaintenanceWire } from "../../src/http/wire/maintenance.ts";
import { t } from "../language.ts";
import { momentText } from "./format/times.ts";

export const WINDOW_DOES = [
  ["watch_only", t`Attacks are only watched`],
  ["quiet", t`Nothing is notified`],
  ["both", t`Only watched, nothing notified`],
  ["thresholds", t`Thresholds three times as high`],
] as const;

export const WINDOW_TIMES = [
  ["1800", t`30 minutes`],
  ["3600", t`1 hour`],
  ["14400", t`4 hours`],
  ["86400", t`1 day`],
] as const;

interface WindowForm {
  readonly name: string;
  readonly does: (typeof WINDOW_DOES)[number][0];
  readonly seconds: (typeof WINDOW_TIMES)[number][0];
  /** RFC 3339; null: at once. */
  readonly opensAt: string | null;
  readonly hostgroups: string;
  readonly prefixes: string;
  readonly reason: string;
}

export const EMPTY_WINDOW: WindowForm = {
  name: "",
  does: "watch_only",
  seconds: "3600",
  opensAt: null,
  hostgroups: "",
  prefixes: "",
  reason: "",
};

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

export function windowOrder({
  name,
  does,
  seconds,
  opensAt,
  hostgroups,
  prefixes,
  reason,
}: WindowForm): Record<string, unknown> {
  return {
    name: name.trim(),
    ttl_seconds: Number(seconds),
    ...(opensAt !== null && { opens_at: opensAt }),
    ...(words(hostgroups).length > 0 && { hostgroups: words(hostgroups) }),
    ...(words(prefixes).length > 0 && { prefixes: words(prefixes) }),
    ...((does === "watch_only" || does === "both") && { watch_only: true }),
    ...((does === "quiet" || does === "both") && { quiet: true }),
    ...(does === "thresholds" && { threshold_factor: 3 }),
    ...(reason.trim() !== "" && { reason: reason.trim() }),
  };
}

/** @param nowMs the service's wall clock. */
export function windowTimes({ name, until, opens_at: opens, closes_at: next }: MaintenanceWire, nowMs: number): string {
  const closes = until ?? next;
  const to = closes === undefined ? "" : momentText(Date.parse(closes), nowMs);
  if (until !== undefined || opens === undefined) return t`The window ${name} is open until ${to}.`;
  return t`The window ${name} opens at ${momentText(Date.parse(opens), nowMs)} and closes at ${to}.`;
}

/** `watched only, thresholds × 3: web, 203.0.113.0/26`. */
export function windowWords(window: MaintenanceWire): string {
  const { watch_only: isWatched, quiet, threshold_factor: factor, hostgroups, prefixes } = window;
  const watched = isWatched ? t`watched only` : "";
  const notified = quiet ? t`${watched === "" ? "" : `${watched}, `}quiet` : watched;
  const does = [notified, factor === 1 ? "" : t`thresholds × ${factor}`];
  const targets = [...hostgroups, ...prefixes];
  return `${does.filter((each) => each !== "").join(", ")}: ${targets.length === 0 ? t`all` : targets.join(", ")}`;
}
