/** Makes new bans, for an attack or an operator, and checks the start time of stored ones. Pure. */
import type { Holder } from "../access/shares.ts";
import { type Attack, attackRate } from "../detection/attack/attack.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Refusal } from "./admission.ts";
import { type Ban, hasNoScrubTarget, next, noTargetOf, orderer } from "./ban.ts";
import type { BanTerms, Circumstances } from "./circumstances.ts";
import { methodOf } from "./escalation.ts";
import type { ForeignBans } from "./foreign-bans.ts";
import { NO_MEASURE } from "./measure.ts";
import type { OrderedTerms } from "./order/ban-order.ts";
import { planOf } from "./plan.ts";
import { repetitionOf } from "./repetition.ts";

interface NewBan {
  readonly id: string;
  readonly prefix: Prefix;
  /** null: an operator requested it. */
  readonly attack: Attack | null;
  readonly dryRun: boolean;
  /** The terms of the operator. */
  readonly ordered?: OrderedTerms;
  /** The caller whose share it takes; undefined: an attack causes it. */
  readonly by: Holder | undefined;
  /** The last ended ban of the prefix. */
  readonly last: Ban | null;
  readonly terms: BanTerms;
  readonly circumstances: Circumstances;
}

export function newBan(
  { id, prefix, attack, dryRun, ordered, by, last, terms, circumstances }: NewBan,
  wallMs: number,
): Ban {
  const manual = attack === null;
  const nothingYet = { step: 0, method: methodOf(terms.ladder, 0), measure: NO_MEASURE, fallback: null };
  const attackId = attack?.id ?? null;
  const given = ordered && { ordered };
  const heldBy = attack === null ? [] : [attack.id];
  const plan = planOf(
    { prefix, manual, dryRun, countedFrom: wallMs, attackId, heldBy, ...given, ...(by && orderer(by)), ...nothingYet },
    terms,
    circumstances,
    wallMs,
  );
  const { repeat, holdUntil } = manual ? { repeat: 0, holdUntil: null } : repetitionOf(last, terms.ban, wallMs);
  const made: Ban = {
    id,
    target: prefix.address,
    prefix,
    state: "active",
    dryRun,
    manual,
    ...given,
    attackId,
    heldBy,
    metric: attack?.metric ?? null,
    rate: attack === null ? 0 : attackRate(attack),
    threshold: attack?.threshold ?? 0,
    ...plan,
    retiring: [],
    escalation: terms.hasEscalation ? terms.ladder : null,
    repeat,
    holdUntil,
    startedAt: wallMs,
    countedFrom: wallMs,
    expiresAt: Math.max(wallMs + terms.ban.ttlSeconds * 1000, holdUntil ?? 0),
    withdrawnAt: null,
    reason: null,
  };
  return withForeignTimes(made, circumstances.foreign, wallMs);
}

/** null: the ban can take a measure. */
export function refusalOf(ban: Ban): Refusal | null {
  if (hasNoScrubTarget(ban)) return noTargetOf(ban);
  const { ordered, measure } = ban;
  // Nothing takes the place of a method that was ordered.
  const refused = ordered?.method === "divert" && measure.kind === "divert" ? measure.notAnnounced : undefined;
  return refused === undefined ? null : `order: ${refused}`;
}

export function rejected(ban: Ban, reason: Refusal): Ban {
  return { ...ban, state: "rejected", reason, repeat: 0, holdUntil: null };
}

/**
 * A stored ban at `wallMs`. If it starts in the future, the clock was set back while the service was stopped: its times
 * are shifted so that it starts now and does not last too long.
 */
export function clampStart(ban: Ban, wallMs: number): Ban {
  const byMs = Math.min(0, wallMs - ban.countedFrom);
  return byMs === 0 ? ban : next(ban, { kind: "clock_stepped", byMs }, wallMs);
}

/** The attack's last ban was refused for the same reason, under the same dry run: there is nothing new to report. */
export function isSameRefusal(last: Ban | null, reason: Refusal, { dryRun }: { readonly dryRun: boolean }): boolean {
  return last !== null && last.reason === reason && last.dryRun === dryRun;
}

/** A ban that an operator ordered is the same one at all brains. */
export function withForeignTimes(ban: Ban, foreign: ForeignBans | undefined, wallMs: number): Ban {
  return foreign === undefined || ban.manual || ban.state !== "active" ? ban : foreign.timed(ban, wallMs);
}
