/** The commands that order something. */
import { messageOf } from "../../system/error-message.ts";
import type { Json } from "./api.ts";
import { type Answered, type CtlCommand, CtlUsage, given, type Options, reasonOf, secondsOf } from "./command.ts";
import { effect, ordered, REASON, required } from "./order-words.ts";
import { BLOCK_COLUMNS, RULE_COLUMNS } from "./reading.ts";
import { type Column, partOf, plain, rowsOf, table } from "./table.ts";

/** Thresholds by option, in the words of the interface and in those of people. */
const SETTINGS = [
  { option: "pps", key: "pps", of: "packets/s" },
  { option: "mbps", key: "mbps", of: "Mbit/s" },
  { option: "flows", key: "flows_per_sec", of: "flows/s" },
] as const;

const TIMES = [
  { name: "for", value: "TIME", help: "how long: 90s, 15m, 1h, 2d" },
  { name: "ttl", value: "TIME", help: "the same" },
] as const;

function ttlOf(options: Options): number {
  const name = options["ttl"] === undefined ? "for" : "ttl";
  return secondsOf(name, required(options, name));
}

export const ORDERING: readonly CtlCommand[] = [
  {
    name: "block",
    ...{ operands: "SOURCE VICTIM", count: [2, 2], example: "block 198.51.100.9 203.0.113.7 --for 1h --reason scan" },
    summary: "drops packets of a source to a victim on this machine",
    options: [...TIMES, REASON, { name: "preview", value: null, help: "only say what it would drop" }],
    async *run({ api, operands: [source = "", victim = ""], options }) {
      const order = { source, victim, ttl_seconds: ttlOf(options), ...reasonOf(options) };
      if (options["preview"] === true) yield effect(await api.post("/dataplane/sources/preview", order));
      else {
        const answer = await api.post("/dataplane/sources", order);
        yield ordered(answer, table([answer], BLOCK_COLUMNS, ""));
      }
    },
  },
  {
    name: "unblock",
    ...{ operands: "SOURCE VICTIM", count: [2, 2], options: [REASON], example: "unblock 198.51.100.9 203.0.113.7" },
    summary: "ends a source block",
    async *run({ api, operands: [source = "", victim = ""], options }) {
      const answer = await api.post("/dataplane/sources/unblock", { source, victim, ...reasonOf(options) });
      yield ordered(answer, `${plain(source)} is no longer blocked for ${plain(victim)}`);
    },
  },
  {
    name: "rules",
    operands: "[add RULE | remove NAME]",
    ...{
      count: [0, 2],
      example: `rules add '{name: no-chargen, action: drop, protocol: udp, source_ports: ["19"]}' --for 1h`,
    },
    summary: "filter rules in force; adds one before all others, written as in the configuration, or removes one",
    options: [...TIMES, REASON, { name: "preview", value: null, help: "only say what the rule would drop" }],
    async *run({ api, operands: [verb, operand], options }) {
      const isTimed = options["for"] !== undefined || options["ttl"] !== undefined;
      if (verb !== "add" && (options["preview"] === true || isTimed)) {
        throw new CtlUsage("--preview and --for go with rules add alone");
      }
      if (verb === undefined) {
        const answer = await api.get("/filter-rules");
        yield { answer, text: table(rowsOf(answer, "rules"), RULE_COLUMNS, "No filter rule.") };
      } else if (verb === "remove" && operand !== undefined) {
        const answer = await api.delete(`/filter-rules/${encodeURIComponent(operand)}`, reasonOf(options));
        yield ordered(answer, `the rule ${plain(operand)} is removed`);
      } else if (verb === "add" && operand !== undefined) {
        const order = { ...ruleIn(operand), ttl_seconds: ttlOf(options), ...reasonOf(options) };
        if (options["preview"] === true) yield effect(await api.post("/filter-rules/preview", order));
        else {
          const answer = await api.post("/filter-rules", order);
          yield ordered(answer, table([answer], RULE_COLUMNS, ""));
        }
      } else throw new CtlUsage("rules takes nothing, add RULE, or remove NAME");
    },
  },
  {
    name: "reload",
    ...{ operands: "", count: [0, 0], example: "reload --preview" },
    options: [REASON, { name: "preview", value: null, help: "only say what would change" }],
    summary: "reads the configuration file again; a file with errors changes nothing",
    async *run({ api, options }) {
      if (options["preview"] === true) {
        const answer = await api.post("/config/reload/preview", null);
        yield { answer, text: reloadPreviewText(answer) };
        return;
      }
      const answer = await api.post(
        "/config/reload",
        given(options, "reason") === undefined ? null : reasonOf(options),
      );
      const restart = Array.isArray(answer["needs_restart"]) ? answer["needs_restart"] : [];
      const rest = restart.length === 0 ? "" : `; after a restart only: ${plain(restart)}`;
      const state = answer["dry_run"] === true ? "in dry run" : "live";
      yield { answer, text: [`reloaded, ${state}${rest}`, ...routesOf(answer)].join("\n") };
    },
  },
  {
    name: "group",
    ...{ operands: "[NAME]", count: [0, 1], example: "group acme --pps 20000 --reason 'ticket 8'" },
    summary:
      "thresholds and method of hostgroups; sets them over the configuration, in place of all that was set before, or takes that back",
    options: [
      ...SETTINGS.map(({ option, of }) => ({ name: option, value: "N", help: `threshold of ${of}, each host` })),
      { name: "method", value: "METHOD", help: "blackhole, flowspec, divert or scrub" },
      { name: "spare", value: "ADDRESSES", help: "never banned, with commas between" },
      { name: "reset", value: null, help: "take back all that was set so" },
      REASON,
    ],
    async *run({ api, operands: [name], options }) {
      const settings = settingsIn(options);
      const isSetting = Object.keys(settings).length > 0;
      if (name === undefined && (isSetting || options["reset"] === true))
        throw new CtlUsage("group needs NAME to set it");
      if (isSetting && options["reset"] === true) throw new CtlUsage("--reset goes without what is set");
      const path = `/hostgroups/${encodeURIComponent(name ?? "")}/settings`;
      if (options["reset"] === true) yield changed(await api.delete(path, reasonOf(options)));
      else if (isSetting) yield changed(await api.put(path, { ...settings, ...reasonOf(options) }));
      else {
        const answer = await api.get("/config");
        const rows = rowsOf(answer, "hostgroups").filter((row) => name === undefined || row["name"] === name);
        yield { answer, text: table(rows, GROUP_COLUMNS, `There is no hostgroup ${plain(name)}.`) };
      }
    },
  },
];

const GROUP_COLUMNS: readonly Column[] = [
  ["HOSTGROUP", ({ name }) => name],
  ["METHOD", ({ mitigation }) => mitigation],
  ...SETTINGS.map(({ key, of }): Column => [of.toUpperCase(), (row) => partOf(row, "thresholds")[key]]),
  ["TENANT", ({ tenant }) => tenant],
  ["SET OVER THE FILE", (row) => Object.keys(partOf(row, "settings")).filter((key) => !["by", "at"].includes(key))],
];

/** New settings replace all that were set before. */
function settingsIn(options: Options): Json {
  const thresholds = SETTINGS.flatMap(({ option, key }) => {
    const text = given(options, option);
    if (text === undefined) return [];
    if (!/^\d+(\.\d+)?$/.test(text)) throw new CtlUsage(`--${option} ${text}: write a number`);
    return [[key, Number(text)] as const];
  });
  const [method, spare] = [given(options, "method"), given(options, "spare")];
  return {
    ...(thresholds.length > 0 && { thresholds: Object.fromEntries(thresholds) }),
    ...(method !== undefined && { mitigation: method }),
    ...(spare !== undefined && { protected_whitelist: spare.split(/[\s,]+/).filter((part) => part !== "") }),
  };
}

function changed(answer: Json): Answered {
  const changes = Array.isArray(answer["changes"]) ? answer["changes"].map(plain) : [];
  return {
    answer,
    text: changes.length === 0 ? `hostgroup ${plain(answer["hostgroup"])}: nothing changed` : changes.join("\n"),
  };
}

const DIVERSION_WORDS = {
  begins: "diverts by the hook",
  ends: "ends by the hook the diversion of",
  renews: "ends by the hook and diverts again",
  moves: "calls another hook for",
  strands: "has no hook to end the diversion of",
} as const;

function diversionsOf({ diversions = {} }: Json): string[] {
  return Object.entries(DIVERSION_WORDS).flatMap(([key, words]) => {
    const prefixes = (diversions as Json)[key];
    return Array.isArray(prefixes) ? prefixes.map((prefix) => `${words} ${plain(prefix)}`) : [];
  });
}

function routesOf(answer: Json): string[] {
  const diversions = diversionsOf(answer);
  const routes = ["announces", "withdraws"].flatMap((key) => {
    const all = answer[key];
    return Array.isArray(all) ? all.map((route) => `${key} ${plain(route)}`) : [];
  });
  return [...routes, ...diversions];
}

function reloadPreviewText(answer: Json): string {
  const changes = rowsOf(answer, "changes").flatMap(({ section, details }) => [
    `changes ${plain(section)}`,
    ...(Array.isArray(details) ? details.map((detail) => `  ${plain(detail)}`) : []),
  ]);
  const ends = rowsOf(answer, "ends_bans").map(
    ({ prefix, reason }) => `ends the ban of ${plain(prefix)}: ${plain(reason)}`,
  );
  const restart = Array.isArray(answer["needs_restart"]) && answer["needs_restart"].length > 0;
  const later = restart ? [`after a restart only: ${plain(answer["needs_restart"])}`] : [];
  const warnings = Array.isArray(answer["warnings"]) ? answer["warnings"].map(plain) : [];
  const all = [...changes, ...later, ...routesOf(answer), ...ends, ...warnings];
  return all.length === 0 ? "nothing would change" : all.join("\n");
}

/** A rule in the words of the configuration, which is YAML; the service judges what is in it. */
function ruleIn(text: string): Json {
  const example = 'write it as {name: no-chargen, action: drop, protocol: udp, source_ports: ["19"]}';
  let rule: unknown;
  try {
    rule = Bun.YAML.parse(text);
  } catch (cause) {
    throw new CtlUsage(`the rule is no YAML: ${messageOf(cause)}; ${example}`);
  }
  if (typeof rule === "object" && rule !== null && !Array.isArray(rule)) return rule as Json;
  throw new CtlUsage(`the rule has no keys: ${example}`);
}
