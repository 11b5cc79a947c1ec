/** The commands that read. */
import { reasonAlone, wholeTarget } from "../../audit/whole-target.ts";
import type { Json } from "./api.ts";
import { type CtlCall, type CtlCommand, CtlUsage, given, momentOf, type Options, secondsOf } from "./command.ts";
import { movesWith } from "./order-words.ts";
import { type Column, lines, partOf, plain, rowsOf, short, since, table } from "./table.ts";

/** `213 kpps`, `2.39 kMbit/s` would be no unit: megabits are written in full. */
function rateText(metric: unknown, rate: unknown): string {
  const name = String(metric);
  if (name.endsWith("mbps")) return typeof rate === "number" ? `${rate.toFixed(1)} Mbit/s` : "-";
  return `${short(rate)} ${name === "flows_per_sec" ? "flows/s" : "packets/s"}`;
}

const kindOf = (attack: Json) => partOf(attack, "classification")["type"];
const targetOf = (attack: Json) => attack["target"] ?? attack["prefix"] ?? attack["group"];

const attackColumns = (nowMs: number): readonly Column[] => [
  ["TARGET", targetOf],
  ["GROUP", (attack) => attack["group"]],
  ["DIRECTION", (attack) => attack["direction"]],
  ["KIND", (attack) => plain(kindOf(attack) ?? "not known").replaceAll("_", " ")],
  ["RATE", (attack) => rateText(attack["metric"], attack["rate"])],
  ["THRESHOLD", (attack) => rateText(attack["metric"], attack["threshold"])],
  ["FOR", (attack) => since(attack["started_at"], attack["ended_at"] ?? nowMs)],
  ["MITIGATION", mitigationOf],
  ["STOPPED HERE", stoppedOf],
  ["ID", ({ id }) => id],
];

function mitigationOf(attack: Json): string {
  const state = attack["ban_state"];
  if (state === undefined) return "none";
  return `${plain(attack["method"])}${attack["dry_run"] === true ? ", dry run" : ""}${state === "active" ? "" : `, ${plain(state)}`}`;
}

function stoppedOf(attack: Json): string {
  const { packets, dropped_packets: dropped, dropped_by: by, peak_sampling_error: error } = partOf(attack, "volume");
  if (typeof packets !== "number" || typeof dropped !== "number" || packets === 0) return "not known";
  // Without causes only the drops of its ban's rules are known; of sampled traffic the total is an estimate.
  const mark = `${by === undefined ? "at least " : ""}${error === undefined ? "" : "about "}`;
  return `${mark}${Math.min(100, (100 * dropped) / packets).toFixed(1)} %`;
}

const incidentColumns = (nowMs: number): readonly Column[] => [
  ["INCIDENT", ({ id }) => id],
  ["CUSTOMER", ({ tenant, group }) => tenant ?? group],
  ["KIND", ({ kind }) => plain(kind ?? "not known").replaceAll("_", " ")],
  ["STATE", ({ state }) => state],
  ["VICTIMS", ({ victims }) => victims],
  ["PEAK", (incident) => rateText("mbps", incident["peak_mbps"])],
  ["FOR", (incident) => since(incident["started_at"], incident["ended_at"] ?? nowMs)],
  ["OWNER", (incident) => partOf(incident, "owner")["by"]],
];

const BAN_COLUMNS: readonly Column[] = [
  ["PREFIX", (ban) => ban["prefix"]],
  ["METHOD", (ban) => ban["method"]],
  ["STATE", (ban) => `${plain(ban["state"])}${ban["dry_run"] === true ? ", dry run" : ""}`],
  ["ROUTE", (ban) => announcementOf(ban)],
  ["BY", (ban) => (ban["manual"] === true ? (ban["operator"] ?? "an operator") : "detection")],
  ["SINCE", (ban) => ban["started_at"]],
  ["UNTIL", (ban) => ban["withdrawn_at"] ?? ban["expires_at"]],
  // Why it ended or was refused, else why it was ordered.
  ["REASON", (ban) => ban["reason"] ?? ban["order_reason"]],
];

function announcementOf(ban: Json): string {
  const { neighbors, of } = partOf(ban, "reached");
  if (ban["announcement"] === "announced") {
    return neighbors === undefined ? "diverted by the hook" : `at ${plain(neighbors)} of ${plain(of)} neighbors`;
  }
  return plain(ban["announcement"]).replaceAll("_", " ");
}

export const BLOCK_COLUMNS: readonly Column[] = [
  ["SOURCE", (block) => block["source"]],
  ["VICTIM", (block) => block["victim"]],
  ["UNTIL", (block) => block["expires_at"]],
  ["DROPPED", (block) => `${short(block["dropped_packets"])} packets`],
  [
    "STATE",
    (block) => (block["dry_run"] === true ? "dry run" : block["installed"] === false ? "waits for room" : "in force"),
  ],
  ["REASON", (block) => block["reason"]],
];

export const RULE_COLUMNS: readonly Column[] = [
  ["NAME", (rule) => rule["name"]],
  ["ACTION", (rule) => `${plain(rule["action"])}${rule["dry_run"] === true ? ", dry run" : ""}`],
  ["WHEN", (rule) => rule["when"]],
  ["MATCH", (rule) => rule["match"]],
  ["MATCHED", (rule) => `${short(rule["packets"])} packets`],
  ["DROPPED", (rule) => `${short(rule["dropped_packets"])} packets`],
  ["FROM", (rule) => rule["origin"]],
  ["UNTIL", (rule) => rule["expires_at"]],
  ["NEVER MATCHES BEHIND", (rule) => rule["hidden_by"]],
];

function statusText(status: Json): string {
  const bgp = status["bgp"] === undefined ? null : partOf(status, "bgp");
  const neighbors = bgp === null ? [] : rowsOf(bgp, "neighbors");
  const up = neighbors.filter(({ state }) => state === "established").length;
  return lines([
    ["version", status["version"]],
    ["mode", modeOf(status, neighbors)],
    ["runs for", `${plain(status["uptime_seconds"])} s`],
    ["attacks", status["active_attacks"]],
    ["bans", status["active_bans"]],
    ["BGP", bgp === null ? null : speakerText(bgp, `${up} of ${neighbors.length} neighbors established`)],
    ...neighbors
      .filter(({ state }) => state !== "established")
      .map(
        ({ name, address, state, error }) =>
          ["", `${plain(name ?? address)}: ${plain(state)}${error === undefined ? "" : `, ${plain(error)}`}`] as const,
      ),
    ["data plane", partOf(status, "dataplane")["state"]],
    ["faulty files", rowsOf(status, "faulty_files").map(({ key, error }) => `${plain(key)}: ${plain(error)}`)],
  ]);
}

function speakerText({ connected, error }: Json, established: string): string {
  if (connected !== false) return established;
  return `the speaker does not answer${error === undefined ? "" : `: ${plain(error)}`}`;
}

/** Live by degrees: what is in dry run beside the whole. */
function modeOf(status: Json, neighbors: readonly Json[]): string {
  if (status["dry_run"] === true) return "dry run: nothing is announced, nothing is dropped";
  const groups = rowsOf(status, "hostgroups").flatMap(({ name, dry_run_directions: directions }) =>
    Array.isArray(directions) ? `hostgroup ${plain(name)} (${plain(directions)} attacks)` : [],
  );
  const spared = neighbors.flatMap(({ name, address, dry_run: isDry }) =>
    isDry === true ? `neighbor ${plain(name ?? address)}` : [],
  );
  const dry = [...groups, ...spared];
  return dry.length === 0 ? "live" : `live, but in dry run: ${dry.join(", ")}`;
}

const AS_JSON = "print the service's answer in place of a table";
export const JSON_OPTION = { name: "json", value: null, help: AS_JSON } as const;
const GROUP = { name: "group", value: "NAME", help: "only of this hostgroup" } as const;
const TENANT = { name: "tenant", value: "NAME", help: "only of this tenant" } as const;
const TARGET = { name: "target", value: "ADDRESS", help: "only of this address, or inside this prefix" } as const;
const METHOD = { name: "method", value: "METHOD", help: "only with blackhole, flowspec, divert or scrub" } as const;
const OPERATOR = { name: "operator", value: "TOKEN", help: "only ordered with this token" } as const;
const TIMES = [
  { name: "from", value: "TIME", help: "not over by then: as 2026-03-01T12:00:00Z or 12:00, or how long ago as 24h" },
  { name: "to", value: "TIME", help: "begun by then: the same" },
] as const;

/** The filters of a list, as its options have them. */
function filtersOf(options: Options, clock: CtlCall["clock"]): Record<string, string | undefined> {
  const names = ["group", "tenant", "target", "source", "method", "operator", "kind", "owner"];
  const times = ["from", "to"].map((name) => [name, momentOf(name, given(options, name), clock.wallMs())] as const);
  return Object.fromEntries([...names.map((name) => [name, given(options, name)] as const), ...times]);
}

export const READING: readonly CtlCommand[] = [
  {
    name: "status",
    ...{ operands: "", count: [0, 0], options: [], example: "status" },
    summary: "what the service does, and which neighbors have a session",
    async *run({ api }) {
      const answer = await api.get("/status");
      yield { answer, text: statusText(answer) };
    },
  },
  {
    name: "attacks",
    ...{ operands: "", count: [0, 0], example: "attacks --ended" },
    summary: "attacks now, the latest last",
    options: [
      { name: "ended", value: null, help: "the attacks that ended in the last hours" },
      ...[GROUP, TENANT, TARGET, METHOD],
      { name: "kind", value: "KIND", help: "only of this kind, as dns_amplification" },
      ...TIMES,
    ],
    async *run({ api, options, clock }) {
      const state = options["ended"] === true ? "ended" : "active";
      const answer = await api.get("/attacks", { state, ...filtersOf(options, clock) });
      const rows = rowsOf(answer, state === "ended" ? "recent" : "active");
      yield {
        answer,
        text: table(
          rows,
          attackColumns(clock.wallMs()),
          options["ended"] === true ? "No attack has ended since the start of the service." : "No attack.",
        ),
      };
    },
  },
  {
    name: "top",
    ...{ operands: "", count: [0, 0], example: "top --sort mbps --limit 5" },
    summary: "the hosts with the highest rates",
    options: [
      { name: "sort", value: "RATE", help: "pps (default), mbps or flows_per_sec" },
      { name: "limit", value: "N", help: "rows, 1 to 1000 (default 20)" },
      ...[GROUP, TENANT],
      { name: "attacked", value: null, help: "only hosts that are attacked" },
    ],
    async *run({ api, options }) {
      const sort = given(options, "sort") ?? "pps";
      const [group, tenant] = [given(options, "group"), given(options, "tenant")];
      const state = options["attacked"] === true ? "attacked" : undefined;
      const query = { sort: `-${sort}`, limit: given(options, "limit") ?? "20", group, tenant, state };
      const answer = await api.get("/hosts", query);
      const rate = (name: string) => (host: Json) => partOf(host, "rates")[name];
      const columns: readonly Column[] = [
        ["HOST", (host) => host["target"]],
        ["GROUP", (host) => host["group"]],
        ["PACKETS/S", (host) => short(rate("pps")(host))],
        ["MBIT/S", (host) => Number(rate("mbps")(host) ?? 0).toFixed(1)],
        ["FLOWS/S", (host) => short(rate("flows_per_sec")(host))],
        ["ATTACKED", (host) => host["in_attack"]],
      ];
      yield { answer, text: table(rowsOf(answer, "hosts"), columns, "No host has traffic.") };
    },
  },
  {
    name: "watch",
    ...{ operands: "", count: [0, 0], example: "watch --every 5s" },
    summary: "attacks and their mitigation, again and again until interrupted",
    options: [
      { name: "every", value: "TIME", help: "between two looks (default 2s)" },
      { name: "times", value: "N", help: "end after this number of looks" },
    ],
    async *run({ api, options, clock, sleep }) {
      const everyMs = 1000 * secondsOf("every", given(options, "every") ?? "2s");
      const times = Number(given(options, "times") ?? Number.POSITIVE_INFINITY);
      if (!(times >= 1)) throw new CtlUsage(`--times ${given(options, "times")}: write a number of looks`);
      for (let look = 0; look < times; look++) {
        if (look > 0) await sleep(everyMs);
        const answer = await api.get("/attacks", { state: "active" });
        const rows = rowsOf(answer, "active");
        yield {
          answer,
          text: `${new Date(clock.wallMs()).toISOString()}\n${table(rows, attackColumns(clock.wallMs()), "No attack.")}\n`,
        };
      }
    },
  },
  {
    name: "bans",
    ...{ operands: "", count: [0, 0], example: "bans --all" },
    summary: "bans in force",
    options: [
      { name: "all", value: null, help: "past ones too" },
      ...[GROUP, TENANT, TARGET, METHOD, OPERATOR, ...TIMES],
    ],
    async *run({ api, options, clock }) {
      const state = options["all"] === true ? undefined : "active";
      const answer = await api.get("/bans", { state, ...filtersOf(options, clock) });
      yield { answer, text: table(rowsOf(answer, "bans"), BAN_COLUMNS, "No ban.") };
    },
  },
  {
    name: "preview",
    ...{ operands: "ADDRESS", count: [1, 1], options: [], example: "preview 203.0.113.7" },
    summary: "what a ban of the address would be answered now; changes nothing",
    async *run({ api, operands: [ip = ""] }) {
      const answer = await api.get("/bans/preview", { ip });
      const ban = partOf(answer, "ban");
      const isRefused = ban["state"] === "rejected";
      yield {
        answer,
        text: lines([
          [
            "ban",
            isRefused
              ? `refused: ${plain(ban["reason"])}`
              : `${plain(ban["method"])}${ban["dry_run"] === true ? ", dry run" : ""}`,
          ],
          ["route", isRefused ? null : ban["route"]],
          ["moves with it", isRefused ? null : movesWith(ban)],
          ["not announced", ban["not_announced"]],
          ["hostgroup", answer["hostgroup"]],
          ["banned already", answer["refresh"] === true ? "yes: it would be extended, and be an operator's" : null],
          [
            "source blocks",
            answer["source_block_refused"] === undefined ? null : `refused: ${plain(answer["source_block_refused"])}`,
          ],
        ]),
      };
    },
  },
  {
    name: "blocks",
    ...{ operands: "", count: [0, 0], example: "blocks --source 198.51.100.0/24" },
    summary: "source blocks in force",
    options: [
      ...[GROUP, TENANT, TARGET],
      { name: "source", value: "ADDRESS", help: "only of this source, or of sources inside this prefix" },
    ],
    async *run({ api, options, clock }) {
      const answer = await api.get("/dataplane/sources", filtersOf(options, clock));
      yield { answer, text: table(rowsOf(answer, "sources"), BLOCK_COLUMNS, "No source block.") };
    },
  },
  {
    name: "incidents",
    ...{ operands: "", count: [0, 0], example: "incidents --state active --tenant acme" },
    summary: "incidents, the newest first: attacks on one customer that follow each other",
    options: [
      { name: "state", value: "STATE", help: "active, quiet or closed" },
      ...[GROUP, TENANT, TARGET],
      { name: "kind", value: "KIND", help: "only of this kind, as dns_amplification" },
      { name: "owner", value: "TOKEN", help: "only taken with this token" },
      ...TIMES,
      { name: "limit", value: "N", help: "rows, 1 to 100 (default 100)" },
    ],
    async *run({ api, options, clock }) {
      const { group, ...filters } = filtersOf(options, clock);
      const [state, limit] = [given(options, "state"), given(options, "limit")];
      const answer = await api.get("/incidents", { state, limit, hostgroup: group, ...filters });
      yield { answer, text: table(rowsOf(answer, "incidents"), incidentColumns(clock.wallMs()), "No incident.") };
    },
  },
  {
    name: "nodes",
    ...{ operands: "", count: [0, 0], options: [], example: "nodes" },
    summary: "scrub nodes and edge nodes",
    async *run({ api }) {
      const [scrub, edge] = await Promise.all([api.get("/dataplane/nodes"), api.get("/edge/nodes")]);
      const columns: readonly Column[] = [
        ["NODE", ({ node }) => node],
        ["KIND", ({ kind }) => kind],
        ["STATE", ({ alive }) => (alive === true ? "alive" : "lost")],
        ["LAST SEEN", (row) => row["last_seen"]],
        ["WORK", ({ work }) => work],
      ];
      const rows = [
        ...rowsOf(scrub, "nodes").map((row) => ({ ...row, node: row["name"], kind: "scrub", work: scrubWork(row) })),
        ...rowsOf(edge, "nodes").map((row) => ({
          ...row,
          node: row["name"],
          kind: "edge",
          work: `${plain(row["zones_placed"])} zones`,
        })),
      ];
      yield { answer: { scrub, edge }, text: table(rows, columns, "No node is configured.") };
    },
  },
  {
    name: "zones",
    ...{ operands: "", count: [0, 0], options: [], example: "zones" },
    summary: "zones of edge nodes",
    async *run({ api }) {
      const answer = await api.get("/edge/zones/status");
      const columns: readonly Column[] = [
        ["ZONE", ({ zone }) => zone],
        ["MODE", ({ mode }) => mode],
        ["CHALLENGE", ({ challenge }) => challenge],
        ["NODES", ({ nodes }) => nodes],
        ["REQUESTS/S", ({ rps }) => (typeof rps === "number" ? rps.toFixed(1) : "-")],
        ["DENIED", ({ denied }) => denied ?? 0],
        ["SERVED", ({ unserved }) => unserved !== true],
      ];
      yield { answer, text: table(rowsOf(answer, "zones"), columns, "No zone is configured.") };
    },
  },
  {
    name: "audit",
    ...{ operands: "", count: [0, 0], example: "audit --from 24h --action unban" },
    summary: "who ordered something, newest first",
    options: [
      { name: "from", value: "TIME", help: "as 2026-03-01T12:00:00Z or 12:00, or how long ago as 24h (default 1h)" },
      { name: "to", value: "TIME", help: "the same (default: now)" },
      { name: "action", value: "ACTION", help: "ban, unban, source_block, filter_rule, config_reload, ..." },
      { name: "result", value: "RESULT", help: "active, rejected, withdrawn, ok, error, ..." },
      ...[OPERATOR, TENANT, TARGET],
    ],
    async *run({ api, options, clock }) {
      const [action, result] = [given(options, "action"), given(options, "result")];
      const answer = await api.get("/audit", { action, result, ...filtersOf(options, clock) });
      const columns: readonly Column[] = ["event_time", "action", "target", "result", "operator", "reason"].map(
        (name) => [name === "event_time" ? "TIME (UTC)" : name.toUpperCase(), auditCell(name)] as const,
      );
      const none = answer["available"] === false ? "No audit trail is kept: storage is off." : "No entry.";
      yield { answer, text: table(rowsOf(answer, "events"), columns, none) };
    },
  },
];

function auditCell(name: string): Column[1] {
  const shown = { target: wholeTarget, reason: reasonAlone }[name];
  if (shown === undefined) return (event) => event[name];
  return ({ target, target_type: type, reason }) => shown(plain(target), plain(type), plain(reason));
}

function scrubWork(node: Json): string {
  const { refused_bans: refused, active_bans: bans } = node;
  return `${plain(bans)} bans${typeof refused === "number" ? `, ${refused} refused` : ""}`;
}
