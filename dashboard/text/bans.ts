/** Bans as lists show them. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { metricName, rateOf } from "./format/numbers.ts";
import type { Span } from "./format/ranges.ts";
import { counted, methodName } from "./format/words.ts";
import { isWatchedOnly, rungsOf } from "./ladder.ts";
import type { StateWord } from "./nodes.ts";
import { said } from "./service-words.ts";
import { idleText, reachedOf } from "./standing.ts";

/** A single address is shown without prefix length. */
export function banSubject({ prefix }: BanWire): string {
  return prefix.replace(/\/(32|128)$/, "");
}

/** `FlowSpec, 1 rule`, `Divert to scrub1`, or `Watch only` while its rung does nothing. */
export function banMethodText(ban: BanWire): string {
  const { method, node, flowspec } = ban;
  if (isWatchedOnly(ban)) return methodName("none");
  if (node !== undefined) return t`Divert to ${node}`;
  return flowspec === undefined || method !== "flowspec"
    ? methodName(method)
    : `${methodName(method)}, ${counted(flowspec.length, "rule")}`;
}

/** The reason that the service gives, else that of the order, or the cause of the ban. */
export function banWhy(ban: BanWire): string {
  const why = ban.reason ?? ban.announce_error ?? ban.fallback;
  if (why !== undefined) return said(why);
  if (ban.manual) return ban.order_reason ?? t`ordered by hand`;
  return ban.metric === undefined ? "" : t`${metricName(ban.metric)} at ${rateOf(ban.metric, ban.rate ?? 0)}`;
}

export const BAN_STATES: Readonly<Record<BanWire["state"], string>> = {
  active: t`in force`,
  rejected: t`refused`,
  withdrawn: t`ended`,
};

const ANNOUNCEMENTS: Readonly<Record<NonNullable<BanWire["announcement"]>, StateWord>> = {
  pending: { tone: "info", text: t`announcing` },
  announced: { tone: "ok", text: t`announced` },
  no_session: { tone: "danger", text: t`no session` },
  speaker_down: { tone: "danger", text: t`not known: no speaker` },
  failed: { tone: "danger", text: t`refused by the speaker` },
};

/** Whether the routers have received the route. */
export function routeWord(ban: BanWire): StateWord {
  const { state, dry_run: isDry, method, announcement } = ban;
  if (state !== "active") return { tone: "none", text: BAN_STATES[state] };
  if (isDry) return { tone: "warn", text: t`dry\u00a0run` };
  if (method === "scrub") {
    const isInKernel = ban.dropped_packets !== undefined;
    return isInKernel ? { tone: "ok", text: t`on this machine` } : { tone: "warn", text: t`not in the kernel` };
  }
  if (isWatchedOnly(ban)) return { tone: "none", text: t`only watched` };
  if (announcement === undefined) return { tone: "none", text: t`not announced` };
  const reached = reachedOf(ban);
  if (ban.node_idle === true) return { tone: "danger", text: idleText(ban) };
  if (reached !== null && reached.neighbors < reached.of) {
    return { tone: "warn", text: t`at ${reached.neighbors} of ${reached.of} routers` };
  }
  return ANNOUNCEMENTS[announcement];
}

interface NextStep {
  readonly action: string;
  /** RFC 3339. */
  readonly at: string;
  /** It comes only if the attack is not held until then. */
  readonly isIfUnheld: boolean;
}

/**
 * The next rung if the ban lasts until then; null: there is none. A ban for an active attack may be extended.
 * @param isHeld the attack is held: rungs that wait for one that is not are skipped.
 */
export function nextStep(ban: BanWire, { isHeld = false } = {}): NextStep | null {
  const next = rungsOf(ban).find(({ at, isIfUnheld }) => at !== null && !(isHeld && isIfUnheld));
  if (next === undefined || next.at === null) return null;
  const { action, at, isIfUnheld } = next;
  const isTooLate = ban.manual && Date.parse(at) >= Date.parse(ban.expires_at);
  return isTooLate ? null : { action, at, isIfUnheld };
}

/** When a ban ends. `calm`: how far its attacks are from their end; null: one of them is above its threshold. */
type BanEnd =
  | { readonly kind: "at"; readonly at: string }
  /** `ofSeconds`: how long its attacks must be quiet. */
  | { readonly kind: "renewed"; readonly calm: string | null; readonly ofSeconds: number }
  /** At this time, or some time after its attacks. */
  | { readonly kind: "outlasts"; readonly at: string }
  | { readonly kind: "ended" };

interface AttackIndex {
  readonly byId: ReadonlyMap<string, AttackWire>;
  readonly byTarget: ReadonlyMap<AttackWire["target"], readonly AttackWire[]>;
}

const INDEXES = new WeakMap<readonly AttackWire[], AttackIndex>();

/** Made once for a list, not for each ban. */
function indexOf(active: readonly AttackWire[]): AttackIndex {
  const known = INDEXES.get(active);
  if (known !== undefined) return known;
  const byId = new Map(active.map((attack) => [attack.id, attack]));
  const index = { byId, byTarget: Map.groupBy(active, ({ target }) => target) };
  INDEXES.set(active, index);
  return index;
}

/** The attacks in progress that keep the ban. */
export function attacksOf({ attacks = [] }: BanWire, active: readonly AttackWire[]): AttackWire[] {
  const { byId } = indexOf(active);
  return attacks.map((id) => byId.get(id)).filter((attack) => attack !== undefined);
}

/** @param active the attacks in progress. */
export function endOf(ban: BanWire, active: readonly AttackWire[]): BanEnd {
  if (ban.state !== "active") return { kind: "ended" };
  const { expires_at: expiresAt, hold_until: holdUntil } = ban;
  const isHeldShorter = !ban.manual && holdUntil !== undefined && Date.parse(holdUntil) < Date.parse(expiresAt);
  // An attack that has just ended may still be named, and of a new ban by hand none is yet.
  const named = attacksOf(ban, active);
  const held = ban.manual && named.length === 0 ? (indexOf(active).byTarget.get(ban.target) ?? []) : named;
  if (held.length > 0) {
    const calm = held.map(calmText);
    const ofSeconds = Math.max(...held.map(({ ends_after_seconds: seconds = 0 }) => seconds));
    if (calm.includes(null))
      return ban.manual ? { kind: "outlasts", at: expiresAt } : { kind: "renewed", calm: null, ofSeconds };
    // It stays when its attacks are over.
    if (ban.manual || isHeldShorter) return { kind: "at", at: isHeldShorter ? holdUntil : expiresAt };
    return { kind: "renewed", calm: calm[0] ?? null, ofSeconds };
  }
  return { kind: "at", at: isHeldShorter ? holdUntil : expiresAt };
}

/** `quiet for 4 of 10 s`; null: it is not quiet. */
export function calmText(attack: AttackWire | undefined): string | null {
  if (attack?.calm_seconds === undefined) return null;
  return t`quiet for ${Math.floor(attack.calm_seconds)} of ${attack.calm_of_seconds} s`;
}

/** The text by which a search finds a ban: the values that the list shows, and the reasons of its orders. */
export function banText(ban: BanWire): string {
  const marks = `${ban.manual ? t`manual operator` : t`automatic detection`} ${ban.dry_run ? t`dry run` : ""}`;
  const { prefix, method, node, order_reason: ordered, end_reason: ended } = ban;
  return [prefix, methodName(method), node, banWhy(ban), ordered, ended, marks].join(" ");
}

/** The words of a search, in lower case. */
export function wordsOf(search: string): string[] {
  return search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

/** Whether every word of the search is in the text. */
export function hasWords(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return wordsOf(search).every((word) => lower.includes(word));
}

/** Whether it had begun and not yet ended at some time of the span. */
export function wasInForce({ state, started_at: from, withdrawn_at: to }: BanWire, span: Span): boolean {
  if (state === "rejected" || Date.parse(from) / 1000 >= span.to) return false;
  return to === undefined || Date.parse(to) / 1000 > span.from;
}
