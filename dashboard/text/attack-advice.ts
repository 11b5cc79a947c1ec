/** Whether an attack is held and by whom, and what an operator should do now. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { nextStep } from "./bans.ts";
import { methodName } from "./format/words.ts";
import { isSpared } from "./mitigation.ts";
import { isHeld } from "./situation.ts";

/** `Yes, by the BGP neighbors 192.0.2.1 and 192.0.2.2, and this machine`. */
export function heldText(attack: AttackWire, ban: BanWire | undefined): string {
  if (!attack.active) return "The attack is over";
  if (ban?.state === "active" && ban.dry_run) return "No: dry run";
  if (ban === undefined || !isHeld(ban)) return "No";
  const holders = holdersOf(ban);
  return holders.length === 0 ? "Yes" : `Yes, by ${holders.join(", and ")}`;
}

function holdersOf(ban: BanWire): string[] {
  const holders: string[] = [];
  const { sent_to: sent = [], node } = ban;
  const route = sent.length === 0 ? "BGP neighbors" : `BGP neighbor${sent.length > 1 ? "s" : ""} ${sent.join(", ")}`;
  if (ban.announced === true && ban.method === "divert")
    holders.push(`scrub node ${node ?? ""}, by a route at ${route}`);
  else if (ban.announced === true) holders.push(route);
  if ((ban.dropped_packets ?? 0) > 0) holders.push("this machine");
  return holders;
}

/** One sentence. */
export function adviceOf(attack: AttackWire, ban: BanWire | undefined): string {
  if (!attack.active) return adviceAfter(ban);
  if (attack.scope === "group" && attack.prefix === undefined) {
    return "Look which of its hosts are attacked: a hostgroup that is judged as a whole is never banned.";
  }
  switch (attack.ban_state) {
    case undefined:
      return "Ban the victim by hand if the attack does harm: nothing mitigates it.";
    case "withdrawn":
      return "Ban the victim by hand if the attack still does harm: its ban has ended, and this attack places no other.";
    case "rejected":
      return adviceRefused(attack, ban);
    case "active":
      if (attack.dry_run) return DRY_RUN;
      return ban === undefined
        ? "See the list of bans: what became of its ban is not known here."
        : adviceBanned(attack, ban);
    default:
      return attack.ban_state satisfies never;
  }
}

const DRY_RUN =
  "Decide whether Floodwall may act: in dry run nothing is announced or dropped, so have your routers or your provider filter it.";

function adviceAfter(ban: BanWire | undefined): string {
  return ban?.state === "active"
    ? "Lift the ban if the victim should be reachable before it ends by itself: the attack is over."
    : "Nothing: the attack is over, and nothing is announced or dropped for it.";
}

const REFUSED: Readonly<Record<string, string>> = {
  whitelisted:
    "Block single sources, or ask your provider to filter: the victim is in protected_whitelist, so it is never banned.",
  "max_active_bans reached": "Lift a ban that matters less, or raise ban.max_active_bans: no further ban is allowed.",
  "max_banned_fraction reached":
    "Lift a ban that matters less, or raise ban.max_banned_fraction: no further address may be banned.",
};

function adviceRefused({ target }: AttackWire, ban: BanWire | undefined): string {
  const reason = ban?.reason;
  const known = reason === undefined ? undefined : REFUSED[reason];
  if (known !== undefined) return known;
  const why = reason === undefined ? "the ban was refused" : `the ban was refused: ${reason}`;
  const how = target === undefined || isSpared(ban) ? "Ask your provider to filter" : "Ban the victim by hand";
  return `${how} if the attack does harm: ${why}.`;
}

function adviceBanned(attack: AttackWire, ban: BanWire): string {
  const missing = ban.missing_at ?? [];
  if (isHeld(ban)) {
    if (missing.length > 0) return `See to ${missing.map(({ neighbor }) => neighbor).join(", ")}: it lacks the route.`;
    return `Nothing: the attack is held, ${sparesText(attack) ?? "and its ban ends by itself"}.`;
  }
  switch (ban.announcement) {
    case "pending":
      return "Wait a few seconds: the ban is being announced.";
    case "speaker_down":
      return "See to the BGP speaker, and to Floodwall's log: it does not answer, so whether the routers filter is not known.";
    case "failed":
      return `See to the BGP speaker: it refused the route${ban.announce_error === undefined ? "" : ` (${ban.announce_error})`}.`;
    case "no_session":
      return "Bring up a BGP session, or have your provider filter: no neighbor has the route.";
    case "announced":
    case undefined:
      return adviceUnannounced(ban);
    default:
      return ban.announcement satisfies never;
  }
}

/** null: its rules are known to spare users, or there are none. */
export function sparesText({ separability, flowspec = [] }: AttackWire): string | null {
  if (separability === undefined || separability.verdict === "yes" || flowspec.length === 0) return null;
  const { verdict, users_at_risk: share } = separability;
  if (verdict === "unknown" && (share ?? 0) <= SPARED_SHARE_MAX) return "but it is not known what its users send";
  const part = share === undefined ? "" : ` (about ${Math.max(1, Math.round(100 * share))} % of them)`;
  return `but its rules match users of the victim too${part}`;
}

/** Less of the users is not worth a word. */
const SPARED_SHARE_MAX = 0.01;

function adviceUnannounced(ban: BanWire): string {
  if (ban.method === "flowspec" && ban.flowspec?.length === 0) {
    return ban.separability === undefined
      ? "Wait a second: the rules wait for the kind of the attack."
      : "Divert or ban the victim by hand if the attack does harm: no rule separates the attack from its users, and ban.fallback does nothing.";
  }
  const next = nextStep(ban);
  if (ban.escalation?.[ban.escalation_step ?? 0]?.action === "none") {
    return next === null
      ? "Ban the victim by hand if the attack does harm: its escalation only watches."
      : `Wait for the next step of the escalation (${methodName(next.action)}), or ban the victim by hand.`;
  }
  return "Have your routers or your provider filter it: nothing announces the ban, and this machine drops nothing of it.";
}
