/** The entries of an attack's timeline, in words. Pure. */
import type { TimelineWire } from "../../src/http/wire/attack-series.ts";
import { t } from "../language.ts";
import { decimal, metricName, rateOf } from "./format/numbers.ts";
import { vectorName } from "./format/vectors.ts";
import { methodName } from "./format/words.ts";
import { said } from "./service-words.ts";

type Entry = TimelineWire["entries"][number];

/** An entry, with how often it came in a row, and when for the last time. */
export type FoldedEntry = Entry & { readonly times: number; readonly lastAt: string };

const KINDS: Readonly<Record<Entry["kind"], string>> = {
  detected: t`Detected`,
  classified: t`Classified`,
  reclassified: t`Classified again`,
  ban_placed: t`Ban placed`,
  ban_refused: t`Ban refused`,
  announced: t`Announced`,
  rules_changed: t`Rules changed`,
  escalated: t`Escalated`,
  deescalated: t`Back to a milder step`,
  method_changed: t`Method changed`,
  dry_run_changed: t`Dry run changed`,
  ban_withdrawn: t`Ban withdrawn`,
  ended: t`Ended`,
};

/** Entries that decide, so that a change of the rules to the same text says nothing new. */
const DECISIONS = new Set<Entry["kind"]>(["ban_placed", "escalated", "deescalated", "method_changed"]);

/** Entries that say the same one after the other are one; rules that did not change in words have none. */
export function foldedEntries(entries: readonly Entry[]): FoldedEntry[] {
  const folded: FoldedEntry[] = [];
  let decided: string | undefined;
  for (const entry of entries) {
    if (DECISIONS.has(entry.kind)) decided = entry.text;
    else if (entry.kind === "rules_changed") {
      if (decided !== undefined && entry.text === decided) continue;
      decided = undefined;
    }
    const last = folded.at(-1);
    const isSame = last?.kind === entry.kind && last.text === entry.text && last.neighbor === entry.neighbor;
    if (last === undefined || !isSame) folded.push({ ...entry, times: 1, lastAt: entry.at });
    else folded[folded.length - 1] = { ...last, times: last.times + 1, lastAt: entry.at };
  }
  return folded;
}

/** `Announced to 192.0.2.250`, `Rules changed, 44 times`. */
export function entryTitle({ kind, neighbor, times }: FoldedEntry): string {
  const title = KINDS[kind] ?? kind;
  const whole =
    neighbor === undefined ? title : kind === "announced" ? t`Announced to ${neighbor}` : `${title}: ${neighbor}`;
  return `${whole}${times === 1 ? "" : t`, ${times} times`}`;
}

/** Empty: the title says it all. */
export function entryText({ kind, text = "" }: Entry): string {
  switch (kind) {
    case "detected":
      return detectedText(text);
    case "classified":
    case "reclassified":
      return vectorName(text);
    case "dry_run_changed":
      return { virtual: t`nothing is announced or dropped`, real: t`it acts now` }[text] ?? text;
    case "ban_refused":
      return text === "whitelisted" ? t`the victim is in protected_whitelist` : said(text);
    case "ban_placed":
    case "announced":
    case "rules_changed":
    case "escalated":
    case "deescalated":
    case "method_changed":
      return doingText(text);
    case "ban_withdrawn":
    case "ended":
      return said(text);
    default:
      return kind satisfies never;
  }
}

/** `pps above 2000` is `packets above 2.00 kpps`. */
function detectedText(text: string): string {
  const [, metric, threshold] = /^(\w+) above ([\d.]+)$/.exec(text) ?? [];
  return metric === undefined ? text : t`${metricName(metric)} above ${rateOf(metric, Number(threshold))}`;
}

const BEFORE = /^(?:(in force already|dry run|step (\d+)): )?(.*)$/s;

function doingText(text: string): string {
  const [, before, step, route = text] = BEFORE.exec(text) ?? [];
  const words = routeWords(route);
  if (step !== undefined) return t`step ${step}: ${words}`;
  if (before === undefined) return words;
  return before === "dry run" ? t`dry run: ${words}` : t`in force already: ${words}`;
}

const UNICAST = /^(\S+) next-hop (\S+)(?: community (.+?))?(?: local-pref (\d+))?( \(.*\))?$/;

/** `203.0.113.70/32 next-hop 192.0.2.10 community 64500:2` is `203.0.113.70 to next hop 192.0.2.10, community 64500:2`. */
export function routeWords(route: string): string {
  const [, prefix, hop, communities, preference, why = ""] = UNICAST.exec(route) ?? [];
  if (prefix === undefined) return plainWords(route);
  const parts = [
    t`${prefix.replace(/\/(32|128)$/, "")} to next hop ${hop}`,
    communities === undefined
      ? ""
      : communities.includes(" ")
        ? t`communities ${communities}`
        : t`community ${communities}`,
    preference === undefined ? "" : t`local preference ${preference}`,
  ];
  return parts.filter((part) => part !== "").join(", ") + why;
}

/** `203.0.113.70/32 flowspec`: there is no route yet. */
function plainWords(text: string): string {
  const [, prefix = "", method = ""] = /^(\S+) (blackhole|flowspec|divert|scrub)$/.exec(text) ?? [];
  return method === ""
    ? text.split("; ").map(ruleWords).join("; ")
    : t`${methodName(method)}, for ${prefix.replace(/\/(32|128)$/, "")}`;
}

const MATCHES: Readonly<Record<string, (value: string) => string>> = {
  proto: (value) => value.toUpperCase(),
  src: (value) => t`from ${withoutLength(value)}`,
  dst: (value) => t`to ${withoutLength(value)}`,
  "src-port": (value) => t`from port ${value}`,
  "dst-port": (value) => t`to port ${value}`,
  "tcp-flags": flagWords,
  fragment: (value) => (value === "yes" ? t`fragments` : t`no fragments`),
  length: (value) => t`${value} bytes`,
};

/** `syn,!ack` is `with SYN, without ACK`. */
function flagWords(value: string): string {
  const [unset, set] = [true, false].map((isUnset) =>
    value
      .toUpperCase()
      .split(",")
      .filter((flag) => flag.startsWith("!") === isUnset),
  );
  return [
    ...(set?.length ? [t`with ${set.join(", ")}`] : []),
    ...(unset?.length ? [t`without ${unset.map((flag) => flag.slice(1)).join(", ")}`] : []),
  ].join(", ");
}

/** `dst 203.0.113.70/32 proto udp fragment yes discard` is `UDP, fragments, to 203.0.113.70: discard`. */
function ruleWords(rule: string): string {
  const words = rule.split(" ");
  const parts: string[] = [];
  let at = 0;
  for (; at + 1 < words.length; at += 2) {
    const of = MATCHES[words[at] ?? ""];
    if (of === undefined) break;
    parts.push(of(words[at + 1] ?? ""));
  }
  // The destination comes first, and says the least: it is the victim.
  const action = words.slice(at).join(" ");
  const [, rate] = /^rate-limit (.+)$/.exec(action) ?? [];
  if ((rate === undefined && action !== "discard") || parts.length === 0) return rule;
  const ordered = words[0] === "dst" ? [...parts.slice(1), ...parts.slice(0, 1)] : parts;
  return `${ordered.join(", ")}: ${rate === undefined ? t`discard` : t`at most ${rate}`}`;
}

function withoutLength(prefix: string): string {
  return prefix.replace(/\/(32|128)$/, "");
}

/** Seconds after the first entry: `+0.014 s`. */
export function afterFirst(entry: Entry, first: Entry): string {
  return t`+${decimal((Date.parse(entry.at) - Date.parse(first.at)) / 1000, 3)} s`;
}
