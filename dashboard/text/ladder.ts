/** The escalation ladder of a ban: the current rung, and the time of the next. Pure. */
import type { BanWire } from "../../src/http/wire/ban.ts";

export interface RungView {
  readonly action: string;
  readonly afterSeconds: number;
  readonly state: "past" | "now" | "ahead";
  /** RFC 3339: when the rung takes effect if the ban lasts until then; null: it has taken effect. */
  readonly at: string | null;
  /** It waits for an attack that is not held. */
  readonly isIfUnheld: boolean;
}

/** Empty: no ladder is configured. */
export function rungsOf({ escalation = [], escalation_step: step = 0, started_at, state }: BanWire): RungView[] {
  return escalation.map(({ action, after_seconds: afterSeconds, unless_held: isIfUnheld = false }, i) => {
    const isAhead = i > step;
    const at =
      isAhead && state === "active" ? new Date(Date.parse(started_at) + afterSeconds * 1000).toISOString() : null;
    return {
      action,
      afterSeconds,
      isIfUnheld,
      state: isAhead ? "ahead" : i === step && state === "active" ? "now" : "past",
      at,
    };
  });
}

/** Whether the rung of the ban does nothing. */
export function isWatchedOnly({ escalation = [], escalation_step: step = 0 }: BanWire): boolean {
  return escalation[step]?.action === "none";
}

/** Rules are looked for when the kind of the attack is known. */
export function isWaitingForRules({ method, flowspec, separability }: BanWire): boolean {
  return method === "flowspec" && (flowspec ?? []).length === 0 && separability === undefined;
}
