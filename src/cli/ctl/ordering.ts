/** The commands that order something. */
import { messageOf } from "../../system/error-message.ts";
import type { Json } from "./api.ts";
import { type CtlCommand, CtlUsage, reasonOf, secondsOf } from "./command.ts";
import { effect, ordered, REASON, required } from "./order-words.ts";
import { BLOCK_COLUMNS, RULE_COLUMNS } from "./reading.ts";
import { plain, rowsOf, table } from "./table.ts";

const TTL = { name: "ttl", value: "TIME", help: "how long: 90s, 15m, 1h, 2d" } as const;

export const ORDERING: readonly CtlCommand[] = [
  {
    name: "block",
    ...{ operands: "SOURCE VICTIM", count: [2, 2], example: "block 198.51.100.9 203.0.113.7 --ttl 1h --reason scan" },
    summary: "drops packets of a source to a victim on this machine",
    options: [TTL, REASON, { name: "preview", value: null, help: "only say what it would drop" }],
    async *run({ api, operands: [source = "", victim = ""], options }) {
      const order = { source, victim, ttl_seconds: secondsOf("ttl", required(options, "ttl")), ...reasonOf(options) };
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
      example: `rules add '{name: no-chargen, action: drop, protocol: udp, source_ports: ["19"]}' --ttl 1h`,
    },
    summary: "filter rules in force; adds one before all others, written as in the configuration, or removes one",
    options: [TTL, REASON, { name: "preview", value: null, help: "only say what the rule would drop" }],
    async *run({ api, operands: [verb, operand], options }) {
      if (verb !== "add" && (options["preview"] === true || options["ttl"] !== undefined)) {
        throw new CtlUsage("--preview and --ttl go with rules add alone");
      }
      if (verb === undefined) {
        const answer = await api.get("/filter-rules");
        yield { answer, text: table(rowsOf(answer, "rules"), RULE_COLUMNS, "No filter rule.") };
      } else if (verb === "remove" && operand !== undefined) {
        const answer = await api.delete(`/filter-rules/${encodeURIComponent(operand)}`, reasonOf(options));
        yield ordered(answer, `the rule ${plain(operand)} is removed`);
      } else if (verb === "add" && operand !== undefined) {
        const ttl = secondsOf("ttl", required(options, "ttl"));
        const order = { ...ruleIn(operand), ttl_seconds: ttl, ...reasonOf(options) };
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
    ...{ operands: "", count: [0, 0], options: [], example: "reload" },
    summary: "reads the configuration file again; a file with errors changes nothing",
    async *run({ api }) {
      const answer = await api.post("/config/reload", null);
      const restart = Array.isArray(answer["needs_restart"]) ? answer["needs_restart"] : [];
      const rest = restart.length === 0 ? "" : `; after a restart only: ${plain(restart)}`;
      const routes = ["announces", "withdraws"].flatMap((key) => {
        const all = answer[key];
        return Array.isArray(all) ? all.map((route) => `${key} ${plain(route)}`) : [];
      });
      const state = answer["dry_run"] === true ? "in dry run" : "live";
      yield { answer, text: [`reloaded, ${state}${rest}`, ...routes].join("\n") };
    },
  },
];

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
