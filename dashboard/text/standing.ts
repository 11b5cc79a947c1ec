/** How far an attack is stopped, as far as it is known: at the routers, at its scrub node, on this machine. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { LiveAttack } from "../api/tables.ts";
import { t } from "../language.ts";
import { aboutMark } from "./attack-size.ts";
import { decimal } from "./format/numbers.ts";
import { capital } from "./format/words.ts";
import { isWaitingForRules, isWatchedOnly } from "./ladder.ts";

interface Standing {
  readonly tone: Tone;
  /** `Route at 1 of 2 routers · 98.7 % stopped here`. */
  readonly text: string;
}

export type Tone = "ok" | "info" | "warn" | "danger";

/** The worst first. */
const TONES: readonly Tone[] = ["danger", "warn", "info", "ok"];
/** Less than this share stopped is not enough; less than the other is as good as nothing. */
const STOPPED_ENOUGH = 0.9;
const STOPPED_SOME = 0.1;

/** The standing of an attack is its worst part. */
export function standingOf(attack: AttackWire, ban: BanWire | undefined): Standing {
  if (!attack.active) return { tone: "info", text: t`The attack is over` };
  // The attack and its ban come one after the other.
  if (attack.ban_state === "active" && ban?.state !== "active")
    return { tone: "info", text: t`Its ban is not known yet` };
  const isInForce = ban?.state === "active" && !ban.dry_run;
  const route = isInForce ? routePart(ban) : null;
  const here = stoppedPart(attack, route) ?? (isInForce ? droppingPart(ban) : null);
  const parts = [route, isInForce ? nodePart(ban) : null, here].filter((part) => part !== null);
  if (parts.length > 0) return { tone: worstOf(parts).tone, text: capital(parts.map(({ text }) => text).join(" · ")) };
  if (isInForce && isWaitingForRules(ban)) return { tone: "info", text: t`Waiting for rules` };
  return { tone: "danger", text: nothingText(ban) };
}

/** The first of the worst. @param standings at least one */
export function worstOf(standings: readonly Standing[]): Standing {
  for (const wanted of TONES) {
    const found = standings.find(({ tone }) => tone === wanted);
    if (found !== undefined) return found;
  }
  throw new Error("bug: there is no standing");
}

type Counted = Pick<LiveAttack, "volume" | "recent">;

/** Share of its packets of the last seconds that were stopped on this machine, else of all so far; null: not known. */
export function stoppedShare({ volume, recent }: Counted): number | null {
  if (recent !== undefined) return Math.max(0, 1 - recent.passed / recent.packets);
  if (volume?.passed_packets === undefined || volume.packets === 0) return null;
  return Math.max(0, 1 - volume.passed_packets / volume.packets);
}

/** `98.7 %`, of sampled traffic `≈ 98.7 %`: rounded down, so that 100 % is all. */
export function stoppedText(share: number, { volume }: Counted): string {
  const tenths = Math.floor(1000 * share);
  return `${aboutMark(volume)}${decimal(tenths / 10, tenths % 10 === 0 ? 0 : 1)} %`;
}

/** Where the neighbors have the route; null: nothing is to be announced, or nothing announces. */
function routePart(ban: BanWire): Standing | null {
  switch (ban.announcement) {
    case "announced":
      return reachedPart(ban);
    case "pending":
      return { tone: "info", text: t`route is being announced` };
    case "no_session":
      return { tone: "danger", text: t`no router has the route` };
    case "speaker_down":
      return { tone: "danger", text: t`not known whether routers have the route` };
    case "failed":
      return { tone: "danger", text: t`the speaker refused the route` };
    case undefined:
      return null;
    default:
      return ban.announcement satisfies never;
  }
}

function reachedPart(ban: BanWire): Standing {
  const reached = reachedOf(ban);
  if (reached === null) return { tone: "ok", text: t`routers have the route` };
  const { neighbors, of } = reached;
  const text = of === 1 ? t`route at ${neighbors} of 1 router` : t`route at ${neighbors} of ${of} routers`;
  return { tone: neighbors < of ? "warn" : "ok", text };
}

/** null: not known. Tenants see the numbers alone. */
export function reachedOf({ reached, sent_to: sent = [], missing_at: missing = [] }: BanWire) {
  if (reached !== undefined) return reached;
  return sent.length + missing.length === 0 ? null : { neighbors: sent.length, of: sent.length + missing.length };
}

function nodePart(ban: BanWire): Standing | null {
  return ban.node_idle === true ? { tone: "danger", text: idleText(ban) } : null;
}

/** `scrub1 gets 0 of it`. */
export function idleText({ node }: BanWire): string {
  return t`${node ?? t`the scrub node`} gets 0 of it`;
}

/** Where all routers filter, what passes here is what came before they did. */
function stoppedPart(attack: AttackWire, route: Standing | null): Standing | null {
  const share = stoppedShare(attack);
  if (share === null || (share === 0 && route !== null)) return null;
  // Without causes only the drops of its ban's rules are known.
  const isOfBan = attack.volume?.dropped_by === undefined;
  const stopped = stoppedText(share, attack);
  const text = isOfBan ? t`${stopped} stopped here by its ban` : t`${stopped} stopped here`;
  if (share >= STOPPED_ENOUGH) return { tone: "ok", text };
  if (share < STOPPED_SOME && route?.tone !== "ok") return { tone: "danger", text };
  return { tone: "warn", text };
}

/** Where the attack has no numbers. */
function droppingPart({ dropped_packets: dropped = 0, challenged_packets: challenged = 0 }: BanWire): Standing | null {
  return dropped + challenged > 0 ? { tone: "ok", text: t`packets are stopped here` } : null;
}

function nothingText(ban: BanWire | undefined): string {
  if (ban === undefined) return t`No ban`;
  if (ban.state === "rejected") return t`Ban refused`;
  if (ban.state === "withdrawn") return t`Ban has ended`;
  if (ban.dry_run) return t`Dry run: nothing is announced or dropped`;
  if (isWatchedOnly(ban)) return t`Only watched`;
  return ban.method === "scrub" ? t`Not filtered: it is not in the kernel` : t`Nothing announces the ban`;
}
