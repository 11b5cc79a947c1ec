/** The advice for an operator about an attack, and its order: one that the service would accept. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { BanPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { t } from "../language.ts";
import { nextStep } from "./bans.ts";
import { methodName } from "./format/words.ts";
import { isWaitingForRules, isWatchedOnly } from "./ladder.ts";
import { said } from "./service-words.ts";
import { reachedOf, standingOf } from "./standing.ts";

/** Why the service would refuse an order for the victim now; null: it would accept it. */
export interface Accepted {
  readonly ban: string | null;
  /** A source block, whatever its source. */
  readonly block: string | null;
}

export type Action =
  | { readonly kind: "ban"; readonly target: string }
  | { readonly kind: "block"; readonly victim: string }
  | { readonly kind: "unban"; readonly ban: BanWire }
  | {
      readonly kind: "link";
      readonly text: string;
      readonly steps: readonly string[];
      readonly query?: Readonly<Record<string, string>>;
    };

export interface Advice {
  readonly text: string;
  /** null: there is none, or none in this page. */
  readonly action: Action | null;
}

interface Asked {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
  /** null: the victim is no single address, or the service has not said yet. */
  readonly accepted: Accepted | null;
}

/** As the preview of a ban says. */
export function acceptedOf({ ban, source_block_refused: block }: BanPreviewWire): Accepted {
  return { ban: ban.state === "rejected" ? (ban.reason ?? t`it does not say why`) : null, block: block ?? null };
}

/** One sentence, with its action. */
export function adviceOf(asked: Asked): Advice {
  const { attack, ban } = asked;
  if (!attack.active) return adviceAfter(ban);
  if (attack.scope === "group" && attack.prefix === undefined) {
    return {
      text: t`See which of its hosts are attacked: a hostgroup that is judged as a whole is never banned.`,
      action: { kind: "link", text: t`Its hosts`, steps: ["hosts"], query: { group: attack.group } },
    };
  }
  switch (attack.ban_state) {
    case undefined:
      return byHand(asked, t`it has no ban`);
    case "withdrawn":
      return byHand(asked, t`its ban has ended, and this attack places no other`);
    case "rejected":
      return adviceRefused(asked);
    case "active":
      if (attack.dry_run) return DRY_RUN;
      return ban === undefined
        ? { text: t`See the list of bans: what became of its ban is not known here.`, action: BANS }
        : adviceBanned(asked, ban);
    default:
      return attack.ban_state satisfies never;
  }
}

const BANS: Action = { kind: "link", text: t`Bans`, steps: ["mitigation"], query: { kind: "ban" } };
const SETTINGS: Action = { kind: "link", text: t`Configuration`, steps: ["settings"] };

const DRY_RUN: Advice = {
  text: t`Decide whether Floodwall may act: in dry run nothing is announced or dropped, so have your routers or your provider filter it.`,
  action: SETTINGS,
};

function adviceAfter(ban: BanWire | undefined): Advice {
  return ban?.state === "active"
    ? {
        text: t`Lift the ban if the victim should be reachable before it ends by itself: the attack is over.`,
        action: { kind: "unban", ban },
      }
    : { text: t`Nothing: the attack is over, and nothing is announced or dropped for it.`, action: null };
}

/** The order that the service would accept; where it would accept none, what is left. @param why without a full stop */
function byHand({ attack: { target }, ban, accepted }: Asked, why: string): Advice {
  if (target === undefined) {
    return { text: t`Ask your provider to filter if the attack does harm: ${why}.`, action: null };
  }
  const refusal = accepted === null ? spareReason(ban) : accepted.ban;
  if (refusal === null) {
    return { text: t`Ban the victim by hand if the attack does harm: ${why}.`, action: { kind: "ban", target } };
  }
  const cap = CAPS[refusal];
  if (cap !== undefined) return { text: cap, action: BANS };
  const because = REASONS[refusal] ?? said(refusal);
  if (accepted?.block === null) {
    return {
      text: t`Block single sources, or ask your provider to filter: a ban would be refused, since ${because}.`,
      action: { kind: "block", victim: target },
    };
  }
  return {
    text: t`Ask your provider to filter: Floodwall would refuse a ban and source blocks, since ${because}.`,
    action: refusal === WHITELISTED ? SETTINGS : null,
  };
}

const WHITELISTED = "whitelisted";

const REASONS: Readonly<Record<string, string>> = {
  [WHITELISTED]: t`the victim is in protected_whitelist`,
  "outside configured networks": t`the victim is outside of networks`,
};

const CAPS: Readonly<Record<string, string>> = {
  "max_active_bans reached": t`Lift a ban that matters less, or raise ban.max_active_bans: no further ban is allowed.`,
  "max_banned_fraction reached": t`Lift a ban that matters less, or raise ban.max_banned_fraction: no further address may be banned.`,
};

/** Why an order by hand would be refused like the ban of the attack; null: it would not, or it is not known. */
export function spareReason(ban: BanWire | undefined): string | null {
  if (ban?.state !== "rejected" || ban.reason === undefined) return null;
  const { reason } = ban;
  const isForAll = reason in REASONS || reason in CAPS || reason.startsWith("own infrastructure: ");
  return isForAll ? reason : null;
}

function adviceRefused(asked: Asked): Advice {
  const reason = asked.ban?.reason;
  return byHand(asked, reason === undefined ? t`its ban was refused` : t`its ban was refused: ${said(reason)}`);
}

function adviceBanned(asked: Asked, ban: BanWire): Advice {
  const { attack } = asked;
  if (ban.node_idle === true) {
    const node = ban.node ?? t`the scrub node`;
    return {
      text: t`See why no traffic reaches ${node}: its report says 0, so nothing is scrubbed. Check the route on the routers.`,
      action: ban.node === undefined ? null : { kind: "link", text: node, steps: ["scrub", node] },
    };
  }
  switch (ban.announcement) {
    case "announced":
      return lackAdvice(ban) ?? adviceHeld(attack, ban);
    case "pending":
      return { text: t`Wait a few seconds: the ban is being announced.`, action: null };
    case "speaker_down":
      return {
        text: t`The BGP speaker does not answer, so it is not known whether the routers filter. Check it and Floodwall's log.`,
        action: SESSIONS,
      };
    case "failed":
      return {
        text: t`The BGP speaker refused the route${ban.announce_error === undefined ? "" : ` (${said(ban.announce_error)})`}. Check it.`,
        action: SESSIONS,
      };
    case "no_session":
      return {
        text: t`Bring up a BGP session, or have your provider filter: no router has the route.`,
        action: SESSIONS,
      };
    case undefined:
      return standingOf(attack, ban).tone === "ok" ? adviceHeld(attack, ban) : adviceUnannounced(asked, ban);
    default:
      return ban.announcement satisfies never;
  }
}

const SESSIONS: Action = { kind: "link", text: t`BGP sessions`, steps: [], query: { see: "bgp" } };

/** null: all routers have the route. */
function lackAdvice(ban: BanWire): Advice | null {
  const { missing_at: missing = [] } = ban;
  const [first] = missing;
  if (first !== undefined) {
    const names = missing.map(({ neighbor }) => neighbor).join(t` and `);
    const text =
      missing.length === 1
        ? t`Check the session with ${names}: it lacks the route (${said(first.cause)}), so its traffic is not filtered.`
        : t`Check the session with ${names}: they lack the route (${said(first.cause)}), so their traffic is not filtered.`;
    return { text, action: SESSIONS };
  }
  const reached = reachedOf(ban);
  if (reached === null || reached.neighbors >= reached.of) return null;
  const { neighbors, of } = reached;
  return {
    text: t`Ask the operator of the network: ${of - neighbors} of ${of} routers lack the route, so their traffic is not filtered.`,
    action: null,
  };
}

function adviceHeld(attack: AttackWire, ban: BanWire): Advice {
  const spares = sparesText(attack);
  if (spares !== null) return { text: t`No action, ${spares}.`, action: null };
  const standing = lowered(standingOf(attack, ban).text);
  const next = nextStep(ban, { isHeld: true });
  const text =
    next === null
      ? t`No action: ${standing}, and the ban ends by itself.`
      : t`No action: ${standing}. While the attack lasts, the escalation goes on to ${methodName(next.action)}.`;
  return { text, action: null };
}

/** null: its rules are known to spare users, or there are none. */
function sparesText({ separability, flowspec = [] }: AttackWire): string | null {
  if (separability === undefined || separability.verdict === "yes" || flowspec.length === 0) return null;
  const { verdict, users_at_risk: share } = separability;
  if (verdict === "unknown" && (share ?? 0) <= SPARED_SHARE_MAX) return t`but it is not known what its users send`;
  const part = share === undefined ? "" : t` (about ${Math.max(1, Math.round(100 * share))} % of them)`;
  return t`but real users are dropped as well${part}: consider scrub`;
}

/** Less of the users is not worth a word. */
const SPARED_SHARE_MAX = 0.01;

function adviceUnannounced(asked: Asked, ban: BanWire): Advice {
  if (isWaitingForRules(ban)) {
    return { text: t`Wait a second: the rules wait for the kind of the attack.`, action: null };
  }
  if (ban.method === "flowspec" && ban.flowspec?.length === 0) {
    return byHand(asked, t`no rule separates the attack from its users, and ban.fallback does nothing`);
  }
  const next = nextStep(ban);
  if (isWatchedOnly(ban)) {
    if (next === null) return byHand(asked, t`its escalation only watches`);
    return {
      text: t`Wait for the next step of the escalation (${methodName(next.action)}), or ban the victim by hand.`,
      action: byHand(asked, "").action,
    };
  }
  return {
    text: t`Have your routers or your provider filter it: nothing announces the ban, and this machine drops nothing of it.`,
    action: null,
  };
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
