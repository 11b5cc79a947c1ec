/** The hosts whose traffic moves with a ban, where a wider prefix is announced for it. Pure. */
import type { BanWire } from "../../src/http/wire/ban.ts";
import { formFor, t } from "../language.ts";
import { bitRate, wholeNumber } from "./format/numbers.ts";
import { said } from "./service-words.ts";

/** Says which traffic moves with a ban that is not made yet, and why less is announced than is to be. */
export function movedSentences(ban: Moving & Pick<BanWire, "not_announced">): string[] {
  const moved = movesWithText(ban);
  return [
    ...(moved === null ? [] : [t`More moves with it: ${moved}.`]),
    ...(ban.not_announced === undefined ? [] : [`${said(ban.not_announced)}.`]),
  ];
}

type Moving = Pick<BanWire, "announced_prefix" | "moves_with">;

/** `203.0.113.0/24: 3 hosts with traffic in the last minute (203.0.113.9 4.2 Mbit/s …), hostgroups global, web`; null: its own prefix is announced. */
export function movesWithText({ announced_prefix: prefix, moves_with: moving }: Moving): string | null {
  if (prefix === undefined) return null;
  if (moving === undefined) return prefix;
  const { hosts, busiest = [], hostgroups } = moving;
  const named = busiest.map(({ target, mbps }) => `${target} ${bitRate(mbps)}`).join(", ");
  const groups = t`hostgroups ${hostgroups.join(", ")}`;
  if (hosts === undefined) return `${prefix}: ${groups}`;
  const more = hosts > busiest.length ? " …" : "";
  const names = named === "" ? "" : ` (${named}${more})`;
  const seen = t`${wholeNumber(hosts)} ${formFor(hosts, "other host|other hosts")} with traffic in the last minute`;
  return `${prefix}: ${seen}${names}, ${groups}`;
}
