/**
 * Changes without a call of the API, as rows of the audit trail: `source` auto or signal
 * (docs/interface.md#audit-trail).
 */
import { type BanChange, banChangeKind, MANUAL_UNBAN, rungLeft } from "../mitigation/ban.ts";
import { isOneAddress } from "../mitigation/ban-subject.ts";
import type { Prefix } from "../net/prefix.ts";
import type { AuditEvent } from "./audit-event.ts";

/** The reason of a row: where it is on a prefix it begins with that, since the target is its first address. */
export function reasonOn(prefix: Prefix, texts: readonly string[]): string {
  return [isOneAddress(prefix) ? "" : prefix.text, ...texts].filter((text) => text !== "").join(": ");
}

const NO_CALLER = { operator: "", role: "", tenant: "" } as const;

/**
 * null: an operator's command, which has its own row, or no change of state. A ban's return to a milder rung has a row,
 * since less is dropped from then on without a command.
 */
export function automaticBanEvent(change: BanChange, wallMs: number): AuditEvent | null {
  const { ban, previous } = change;
  const isOrdered = (ban.manual && previous === null) || ban.reason === MANUAL_UNBAN;
  const left = rungLeft(change);
  if (isOrdered || (left === null && banChangeKind(change) !== ban.state)) return null;
  return {
    ...NO_CALLER,
    wallMs,
    action: ban.state === "withdrawn" ? "unban" : "ban",
    result: ban.state,
    target: ban.target,
    targetType: isOneAddress(ban.prefix) ? "host" : "prefix",
    reason: reasonOn(ban.prefix, [
      left === null ? (ban.reason ?? "") : `back from step ${left} to ${ban.step}: ${ban.method}`,
    ]),
    source: "auto",
    banState: ban.state,
    dryRun: ban.dryRun,
  };
}

interface SignalReload {
  readonly problems: readonly string[];
  /** The sections that are different now. */
  readonly changed: readonly string[];
  /** In detail. */
  readonly changes: readonly string[];
  readonly dryRun: boolean;
}

/** The changes of a reload that took effect: `changed: ban, thresholds; thresholds: pps: 1000 → 2000`. */
export function reloadText(changed: readonly string[], changes: readonly string[]): string {
  return changed.length === 0 ? "" : [`changed: ${changed.join(", ")}`, ...changes].join("; ");
}

/** A reload by SIGHUP. Without problems it took effect. */
export function signalReloadEvent({ problems, changed, changes, dryRun }: SignalReload, wallMs: number): AuditEvent {
  return {
    ...NO_CALLER,
    wallMs,
    action: "config_reload",
    result: problems.length === 0 ? "ok" : "error",
    target: "",
    targetType: "global",
    reason: problems.length === 0 ? reloadText(changed, changes) : problems.join("\n"),
    source: "signal",
    banState: "",
    dryRun,
  };
}
