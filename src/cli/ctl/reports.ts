/** The commands that report on the history. */
import { type Answered, type CtlCommand, given, momentOf } from "./command.ts";
import { type Column, partOf, plain, rowsOf, table } from "./table.ts";

const SUM_COLUMNS: readonly Column[] = [
  ["HOSTGROUP", ({ name }) => name],
  ["BANS", ({ bans }) => bans],
  ["REAL", ({ real }) => real],
  ["EXPECTED", ({ expected }) => expected],
  ["FALSE ALARMS", (row) => row["false_alarm"]],
  ["NOT MARKED", ({ unmarked }) => unmarked],
];

const BAN_COLUMNS: readonly Column[] = [
  ["TIME (UTC)", ({ at }) => at],
  ["UNTIL", ({ until }) => until],
  ["TARGET", ({ target }) => target],
  ["HOSTGROUP", ({ hostgroup }) => hostgroup],
  ["MARK", ({ mark }) => plain(mark ?? "not marked").replaceAll("_", " ")],
];

const DIVERSION_COLUMNS: readonly Column[] = [
  ["PREFIX", ({ prefix }) => prefix],
  [
    "STATE",
    (row) =>
      `${row["lost"] === true ? "lost, " : ""}${plain(row["phase"])}${row["dry_run"] === true ? ", dry run" : ""}`,
  ],
  ["SINCE", ({ since }) => since],
  ["FOR THE BANS OF", ({ bans }) => bans],
  ["UNTIL", (row) => row["wanted_until"]],
  ["LAST ERROR", ({ error }) => error],
];

const FOREIGN_COLUMNS: readonly Column[] = [
  ["FAMILY", ({ family }) => family],
  ["ROUTE", ({ route }) => route],
  ["NEXT HOP", (row) => row["next_hop"]],
  ["COMMUNITIES", ({ community }) => community],
  ["MBIT/S", ({ rate_bytes: bytes }) => (typeof bytes === "number" ? (bytes * 8) / 1e6 : undefined)],
  ["OF", ({ instance }) => (instance === undefined ? "another program" : `Floodwall service ${plain(instance)}`)],
];

export const REPORTS: readonly CtlCommand[] = [
  {
    name: "routes",
    ...{ operands: "", count: [0, 0], options: [], example: "routes" },
    summary: "routes that others put into the BGP speaker beside Floodwall, which leaves them alone",
    async *run({ api }) {
      const answer = await api.get("/bgp/routes");
      const isKnown = answer["available"] === true;
      const more = answer["left_out"] === undefined ? "" : `\nand ${plain(answer["left_out"])} more`;
      const none = isKnown ? "No route of others." : "The speaker does not answer, or none is configured.";
      yield { answer, text: `${table(rowsOf(answer, "routes"), FOREIGN_COLUMNS, none)}${more}` };
    },
  },
  {
    name: "diversions",
    ...{ operands: "", count: [0, 0], options: [], example: "diversions" },
    summary: "what the scrubbing hook diverts, is to divert or to release",
    async *run({ api }) {
      const answer = await api.get("/diversions");
      yield {
        answer,
        text: table(rowsOf(answer, "diversions"), DIVERSION_COLUMNS, "No prefix is diverted by a hook."),
      };
    },
  },
  {
    name: "attack",
    ...{
      operands: "ID",
      count: [1, 1],
      options: [],
      example: "attack 01a227dc-033d-7355-840a-8a617dea98af > attack.json",
    },
    summary: "all that is known of one attack and what was done about it, as JSON: to keep or to hand on",
    async *run({ api, operands: [id = ""] }) {
      const path = `/attacks/${encodeURIComponent(id)}`;
      const [attack, timeline] = await Promise.all([api.get(path), api.get(`${path}/timeline`)]);
      const answer = { ...attack, timeline: timeline["timeline"] ?? timeline };
      yield { answer, text: JSON.stringify(answer, null, 2) };
    },
  },
  {
    name: "dry-run",
    ...{ operands: "", count: [0, 0], example: "dry-run --from 7d" },
    summary: "the bans that dry run kept back, with the marks of their attacks",
    options: [
      {
        name: "from",
        value: "TIME",
        help: "as 2026-03-01T12:00:00Z or 12:00, or how long ago as 7d (default: a week)",
      },
      { name: "to", value: "TIME", help: "the same (default: now)" },
    ],
    async *run({ api, options, clock }) {
      const times = ["from", "to"].map((name) => [name, momentOf(name, given(options, name), clock.wallMs())] as const);
      const answer = await api.get("/dry-run/report", Object.fromEntries(times));
      yield { answer, text: dryRunText(answer) };
    },
  },
  {
    name: "suggest",
    ...{ operands: "", count: [0, 0], example: "suggest --days 28 --margin 2" },
    summary: "thresholds by hostgroup from the history, as lines for the configuration",
    options: [
      { name: "days", value: "N", help: "of the history, 7 to 31 (default 28)" },
      { name: "margin", value: "N", help: "over what was seen, 1 to 100 (default 2)" },
    ],
    async *run({ api, options }) {
      const answer = await api.get("/thresholds/suggested", {
        days: given(options, "days"),
        margin: given(options, "margin"),
      });
      if (answer["yaml"] === undefined) yield new Error(`nothing is suggested: ${plain(answer["reason"])}`);
      else yield { answer, text: suggestionText(answer) };
    },
  },
];

function dryRunText(answer: Answered["answer"]): string {
  if (answer["available"] === false) return "No history is kept: storage is off.";
  const sums = [...rowsOf(answer, "hostgroups"), { ...answer, name: "all" }];
  const cut = answer["truncated"] === true ? "\nThere were more than are counted: ask for a shorter time." : "";
  const rows = rowsOf(answer, "rows");
  if (rows.length === 0) return `No ban was kept back.${cut}`;
  return `${table(sums, SUM_COLUMNS, "")}\n\n${table(rows, BAN_COLUMNS, "")}${cut}`;
}

/** Prints the grounds as comments, so that the whole can be pasted. */
function suggestionText(answer: Answered["answer"]): string {
  const columns: readonly Column[] = [
    ["HOSTGROUP", ({ name }) => name],
    ["DIRECTION", ({ direction }) => direction],
    ["HOSTS", ({ hosts }) => hosts],
    ["SEEN PACKETS/S", (row) => partOf(row, "seen")["pps"]],
    ["MBIT/S", (row) => partOf(row, "seen")["mbps"]],
    ["FLOWS/S", (row) => partOf(row, "seen")["flows_per_sec"]],
    [
      "BUSIEST",
      (row) =>
        rowsOf(row, "busiest")
          .map(({ target }) => plain(target))
          .join(", "),
    ],
  ];
  const seen = table(rowsOf(answer, "hostgroups"), columns, "");
  const comments = seen.split("\n").map((line) => `# ${line}`.trimEnd());
  const yaml = String(answer["yaml"]).trimEnd().split("\n");
  // The service's text line by line, without control characters.
  const safe = yaml.map((line) => " ".repeat(line.length - line.trimStart().length) + plain(line.trimStart()));
  return [...comments, ...safe].join("\n");
}
