/** The commands that ban, unban, and open and close maintenance windows. */
import { ORDERS_AT_ONCE_MAX } from "../../limits.ts";
import { messageOf } from "../../system/error-message.ts";
import { type Json, Refused } from "./api.ts";
import {
  type Answered,
  type CtlCall,
  type CtlCommand,
  type CtlOption,
  CtlUsage,
  given,
  momentAheadOf,
  type Options,
  reasonOf,
  secondsOf,
} from "./command.ts";
import { each, effect, movesWith, ordered, REASON, required } from "./order-words.ts";
import { type Column, plain, rowsOf, table } from "./table.ts";

/** Addresses of one command line. */
const ORDERS_MAX = 1000;

const BAN_OPTIONS: readonly CtlOption[] = [
  { name: "for", value: "TIME", help: "how long: 90s, 15m, 1h, 2d" },
  REASON,
  { name: "method", value: "METHOD", help: "blackhole, flowspec, divert or scrub, in place of the hostgroup's" },
  {
    name: "rules",
    value: "RULES",
    help: `what is dropped, as in the configuration: '[{protocol: udp, source_ports: ["19"]}]'`,
  },
  { name: "rate", value: "MBPS", help: "what may pass each rule, megabits per second; 0 is nothing" },
  { name: "neighbor", value: "NAMES", help: "the only neighbors that get it, names or addresses with commas between" },
  { name: "community", value: "COMMUNITIES", help: "communities in place of the configured ones, with commas between" },
  { name: "template", value: "NAME", help: "one of order_templates, for what is not said here" },
  { name: "dry-run", value: null, help: "only record it" },
  { name: "preview", value: null, help: "only say what it would do" },
];

const WINDOW_COLUMNS: readonly Column[] = [
  ["WINDOW", (row) => row["name"]],
  ["OPEN", (row) => row["open"]],
  ["UNTIL", (row) => row["until"]],
  ["OPENS", (row) => row["opens_at"]],
  ["CLOSES", (row) => row["closes_at"]],
  ["HOSTGROUPS", (row) => row["hostgroups"]],
  ["PREFIXES", (row) => row["prefixes"]],
  ["WATCH ONLY", (row) => row["watch_only"]],
  ["QUIET", (row) => row["quiet"]],
  ["THRESHOLDS ×", (row) => row["threshold_factor"]],
  ["REASON", (row) => row["reason"]],
];

function banned(answer: Json, verb: string): Answered {
  const { announcement, announce_error: error } = answer;
  const isNotThere = announcement !== undefined && announcement !== "announced";
  const state = answer["dry_run"] === true ? "dry run: nothing is announced" : plain(announcement).replaceAll("_", " ");
  const why = error === undefined ? state : `${state}: ${plain(error)}`;
  const isSaid = verb === "banned" && (answer["dry_run"] === true || isNotThere);
  const until = verb === "banned" && answer["expires_at"] !== undefined ? ` until ${plain(answer["expires_at"])}` : "";
  const text = `${plain(answer["prefix"])} ${verb}${until}: ${plain(answer["route"])}${isSaid ? ` (${why})` : ""}`;
  return ordered(answer, text);
}

const targetOf = (text: string): Json => (text.includes("/") ? { prefix: text } : { ip: text });
const parts = (text: string) => text.split(/[\s,]+/).filter((part) => part !== "");

function banTerms(options: Options): Json {
  const [time, rate, neighbor, community] = ["for", "rate", "neighbor", "community"].map((name) =>
    given(options, name),
  );
  const [method, template, rules] = ["method", "template", "rules"].map((name) => given(options, name));
  return {
    ...reasonOf(options),
    ...(time !== undefined && { ttl_seconds: secondsOf("for", time) }),
    ...(rate !== undefined && { rate_mbps: numberOf("rate", rate) }),
    ...(method !== undefined && { method }),
    ...(template !== undefined && { template }),
    ...(rules !== undefined && { rules: listIn(rules) }),
    ...(neighbor !== undefined && { neighbors: parts(neighbor) }),
    ...(community !== undefined && { communities: parts(community) }),
    ...(options["dry-run"] === true && { dry_run: true }),
  };
}

function numberOf(option: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new CtlUsage(`--${option} ${text}: write a number`);
}

/** The service judges what is in it. */
function listIn(text: string): unknown {
  try {
    const rules: unknown = Bun.YAML.parse(text);
    return Array.isArray(rules) ? rules : [rules];
  } catch (cause) {
    throw new CtlUsage(`--rules is no YAML: ${messageOf(cause)}`);
  }
}

function previewed(answer: Json): Answered {
  const ban = answer["ban"] as Json;
  const refusal = ban["state"] === "rejected" ? [ban["reason"], ban["remedy"]].filter(Boolean).join(": ") : undefined;
  const neighbors = rowsOf(answer, "neighbors").map(
    (row) =>
      `${plain(row["name"] ?? row["neighbor"])}: ${[plain(row["routes"]), row["cause"]].filter(Boolean).join(" – ")}`,
  );
  const verb = ban["method"] === "divert" ? "would divert" : "would drop";
  const said = effect({ ...answer, ...(refusal !== undefined && { refusal }) }, verb);
  const moved = movesWith(ban);
  const replaced = answer["replaces_blackhole_of"];
  const more = [
    ...(replaced === undefined
      ? []
      : [`replaces the blackhole of ${plain(ban["announced_prefix"] ?? ban["prefix"])} for ${plain(replaced)}`]),
    ...(moved === null ? [] : [`moves with it: ${moved}`]),
    ...(ban["not_announced"] === undefined ? [] : [plain(ban["not_announced"])]),
  ];
  return { answer, text: [plain(ban["route"]), said.text, ...more, ...neighbors].join("\n") };
}

export const BANNING: readonly CtlCommand[] = [
  {
    name: "ban",
    ...{ operands: "ADDRESS|PREFIX...", count: [1, ORDERS_MAX], options: BAN_OPTIONS },
    summary:
      "bans addresses by the method of their hostgroup, or as the options say; a prefix needs a method, rules or a rate",
    example:
      "ban 203.0.113.0/26 --rules '[{protocol: udp, source_ports: [\"19\"]}]' --rate 50 --for 1h --reason 'ticket 7'",
    run: ({ api, operands, options }) => {
      const terms = banTerms(options);
      return each(operands, async (target) => {
        const order = { ...targetOf(target), ...terms };
        if (options["preview"] === true) return previewed(await api.post("/bans/preview", order));
        return banned(await api.post("/ban", order), "banned");
      });
    },
  },
  {
    name: "unban",
    ...{ operands: "ADDRESS|PREFIX...", count: [0, ORDERS_MAX] },
    options: [
      REASON,
      {
        name: "inside",
        value: "PREFIX",
        help: `all bans in it, ${ORDERS_AT_ONCE_MAX} at once or none of these, in place of ADDRESS`,
      },
    ],
    ...{ summary: "ends bans", example: "unban 203.0.113.7 203.0.113.8 --reason 'ticket 7'" },
    run: (call) => {
      const { api, operands, options } = call;
      const inside = given(options, "inside");
      if (inside !== undefined && operands.length === 0) return unbanInside(call, inside);
      if (inside !== undefined || operands.length === 0) throw new CtlUsage("unban needs ADDRESS, or --inside PREFIX");
      return each(operands, async (target) =>
        banned(await api.post("/unban", { ...targetOf(target), ...reasonOf(options) }), "unbanned"),
      );
    },
  },
  {
    name: "maintenance",
    ...{
      operands: "[open NAME | close NAME]",
      count: [0, 2],
      example: "maintenance open move --group web --watch-only --for 2h",
    },
    summary: "maintenance windows; opens one for a time, now or later, or closes one that was ordered",
    options: [
      { name: "for", value: "TIME", help: "how long, at most 7d" },
      {
        name: "at",
        value: "TIME",
        help: "when it opens: 2026-03-01T02:00:00Z, 22:00 by this machine's clock, or in how long as 2h; else at once",
      },
      { name: "group", value: "NAMES", help: "the hostgroups that it is for, with commas between" },
      { name: "hostgroup", value: "NAMES", help: "the same" },
      { name: "prefix", value: "PREFIXES", help: "addresses and prefixes that it is for, with commas between" },
      { name: "watch-only", value: null, help: "attacks are only watched" },
      { name: "quiet", value: null, help: "nothing is notified" },
      { name: "thresholds", value: "FACTOR", help: "by what thresholds are multiplied for new attacks" },
      REASON,
    ],
    async *run({ api, operands: [verb, name], options, clock }) {
      if (verb === undefined) {
        const answer = await api.get("/maintenance");
        yield { answer, text: table(rowsOf(answer, "windows"), WINDOW_COLUMNS, "No maintenance window.") };
      } else if (verb === "close" && name !== undefined) {
        const answer = await api.delete(`/maintenance/${encodeURIComponent(name)}`, reasonOf(options));
        yield ordered(answer, `the window ${plain(name)} is closed`);
      } else if (verb === "open" && name !== undefined) {
        const answer = await api.post("/maintenance", windowOf(name, options, clock.wallMs()));
        yield ordered(answer, [table([answer], WINDOW_COLUMNS, ""), ...opensText(answer)].join("\n"));
      } else throw new CtlUsage("maintenance takes nothing, open NAME, or close NAME");
    },
  },
];

/** In one order, so that all of them end or none does; more than an order may have, in several. */
async function* unbanInside({ api, options }: CtlCall, target: string): AsyncGenerator<Answered> {
  const found = rowsOf(await api.get("/bans", { state: "active", target }), "bans");
  if (found.length === 0) throw new Refused(`no ban is in force inside ${target}`);
  const orders = found.map(({ prefix }) => ({ prefix, ...reasonOf(options) }));
  for (let first = 0; first < orders.length; first += ORDERS_AT_ONCE_MAX) {
    const answer = await api.post("/bans", { unban: orders.slice(first, first + ORDERS_AT_ONCE_MAX) });
    const ended = rowsOf(answer, "bans").map(({ prefix }) => `${plain(prefix)} unbanned`);
    yield { answer, text: [...ended, `${ended.length} bans ended`].join("\n") };
  }
}

/** A time of day may be meant in another zone than it was taken in. */
function opensText({ opens_at: opens, closes_at: closes }: Json): string[] {
  return opens === undefined ? [] : [`opens at ${plain(opens)} and closes at ${plain(closes)}`];
}

function windowOf(name: string, options: Options, nowMs: number): Json {
  const [group, hostgroup, prefixes, factor] = ["group", "hostgroup", "prefix", "thresholds"].map((option) =>
    given(options, option),
  );
  const groups = group ?? hostgroup;
  const at = momentAheadOf("at", given(options, "at"), nowMs);
  return {
    name,
    ttl_seconds: secondsOf("for", required(options, "for")),
    ...(at !== undefined && { opens_at: at }),
    ...reasonOf(options),
    ...(groups !== undefined && { hostgroups: parts(groups) }),
    ...(prefixes !== undefined && { prefixes: parts(prefixes) }),
    ...(factor !== undefined && { threshold_factor: numberOf("thresholds", factor) }),
    ...(options["watch-only"] === true && { watch_only: true }),
    ...(options["quiet"] === true && { quiet: true }),
  };
}
