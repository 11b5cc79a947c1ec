/** The effects of a ban, in sentences for the confirmation dialog. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { t } from "../language.ts";
import { packetRate, percent } from "./format/numbers.ts";
import { duration } from "./format/times.ts";
import { counted, methodName } from "./format/words.ts";
import { type RungView, rungsOf } from "./ladder.ts";
import { banOf } from "./mitigation.ts";
import { basisSentence } from "./order-effect.ts";
import { said } from "./service-words.ts";
import { movedSentences } from "./wider-prefix.ts";

const NEIGHBORS_SHOWN = 8;
/** Fewer than the service names. */
const REPLACED_SHOWN = 8;

/** @param nowMs the service's wall clock. @param active the attacks in progress. */
export function previewSentences(preview: OrderPreviewWire, nowMs: number, active: readonly AttackWire[]): string[] {
  const { ban, refresh, effect, neighbors = [], replaces_blackhole_of: replaced } = preview;
  if (ban.state === "rejected") {
    const reason = ban.reason === undefined ? t`it does not say why` : said(ban.reason);
    return [t`Floodwall would refuse it: ${ban.remedy === undefined ? reason : `${reason}: ${said(ban.remedy)}`}.`];
  }
  const ends = Date.parse(ban.expires_at);
  const seconds = (ends - (refresh ? nowMs : Date.parse(ban.started_at))) / 1000;
  const ahead = rungsOf(ban).filter(({ at }) => at !== null && Date.parse(at) < ends);
  return [
    ban.dry_run
      ? t`Dry run: the ban is recorded for ${duration(seconds)} (${methodName(ban.method)}), nothing is announced.`
      : t`${doneText(ban)} for ${duration(seconds)}, or until you unban it.`,
    ...(isAttacked(ban, active) ? [t`The ban lasts longer while its target is attacked.`] : []),
    ...movedSentences(ban),
    ...(replaced === undefined ? [] : [replacesText(ban, replaced)]),
    ...(ahead.length === 0 ? [] : [t`While the ban lasts: ${ahead.map(rungText).join(", ")}.`]),
    ...(ban.fallback === undefined ? [] : [t`Not as planned: ${said(ban.fallback)}.`]),
    ...(refresh
      ? [
          t`The address is banned already. That ban is extended and becomes a manual one: it does not end with the attack.`,
        ]
      : []),
    ...(effect.available
      ? [
          t`Of the last minute it would have hit ${packetRate(effect.dropped.pps)}, ${percent(effect.packets_share)} of all packets, to ${counted(effect.hosts, "host")}; ${percent(effect.unattacked_share)} of it in no attack.`,
          basisSentence(effect),
        ]
      : [t`What it would hit is not known: ${said(effect.reason)}.`]),
    ...(ban.dry_run ? [] : neighborSentences(neighbors)),
  ];
}

/** Whether attacks prolong it while they last. */
export function isAttacked(ban: BanWire, active: readonly AttackWire[]): boolean {
  const bans = [ban];
  return active.some((attack) => banOf(attack, bans) !== undefined);
}

function replacesText({ announced_prefix: wider, prefix }: BanWire, replaced: readonly string[]): string {
  const more = replaced.length > REPLACED_SHOWN ? " …" : "";
  const diverted = wider ?? prefix;
  const dropped = replaced.slice(0, REPLACED_SHOWN).join(", ") + more;
  return t`Neighbors that take only wider prefixes divert ${diverted}, where they dropped it for ${dropped}.`;
}

function neighborSentences(neighbors: NonNullable<OrderPreviewWire["neighbors"]>): string[] {
  const shown = neighbors.slice(0, NEIGHBORS_SHOWN);
  const more = neighbors.length - shown.length;
  return [
    ...shown.map(({ neighbor, name = neighbor, routes, cause }) => {
      const why = cause === undefined ? "" : `: ${said(cause)}`;
      return routes.length === 0
        ? t`${name} gets nothing${why}.`
        : t`${name} gets ${counted(routes.length, "route")}${why}.`;
    }),
    ...(more > 0 ? [t`And ${counted(more, "more neighbor")}.`] : []),
  ];
}

function doneText({ method, node, matches_all: isAll }: BanWire): string {
  switch (method) {
    case "blackhole":
      return t`Routers drop all traffic to it (Blackhole)`;
    case "flowspec":
      return isAll === true
        ? t`Routers apply one rule to all traffic to it (FlowSpec)`
        : t`Routers apply rules to traffic to it (FlowSpec)`;
    case "divert":
      return t`Its traffic goes through ${node === undefined ? t`the scrubbing center` : t`scrub node ${node}`}`;
    case "scrub":
      return t`This machine filters its traffic (Scrub)`;
    default:
      return method satisfies never;
  }
}

function rungText({ action, afterSeconds, isIfUnheld }: RungView): string {
  return t`${methodName(action)} after ${duration(afterSeconds)}${isIfUnheld ? t` if the attack is not stopped by then` : ""}`;
}
