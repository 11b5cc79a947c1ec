/** The command that shows the targets of notifications, and tests them. */
import type { Json } from "./api.ts";
import { Refused } from "./api.ts";
import { type CtlCall, type CtlCommand, CtlUsage, given, secondsOf } from "./command.ts";
import { type Column, plain, rowsOf, table } from "./table.ts";

/** How long a test waits for its delivery, and between two looks. */
const WAIT_DEFAULT = "30s";
const LOOK_MS = 500;

const TARGET_COLUMNS: readonly Column[] = [
  ["TARGET", ({ name }) => name],
  ["KIND", ({ kind }) => kind],
  ["TENANT", ({ tenant }) => tenant],
  ["WAITING", ({ waiting }) => waiting],
  ["DELIVERED", ({ delivered_at: at }) => at],
  ["FAILED", ({ failed_at: at }) => at],
  ["FAILURE", ({ failure }) => failure],
];

export const NOTIFYING: readonly CtlCommand[] = [
  {
    name: "notify",
    ...{ operands: "[targets | test TARGET | routes EVENT]", count: [0, 2], example: "notify test noc" },
    summary: "targets of notifications; sends a test to one; says which of them an event would get to",
    options: [
      { name: "wait", value: "TIME", help: `how long for the delivery of a test (default ${WAIT_DEFAULT})` },
      { name: "severity", value: "SEVERITY", help: "routes: of the event (default: the most urgent of its kind)" },
      { name: "tenant", value: "NAME", help: "routes: the tenant that it is about" },
      { name: "group", value: "NAME", help: "routes: its hostgroup" },
      { name: "pps", value: "RATE", help: "routes: its packets a second" },
      { name: "mbps", value: "RATE", help: "routes: its Mbit/s" },
      { name: "at", value: "TIME", help: "routes: when, as 2026-03-01T22:00:00Z (default: now)" },
    ],
    async *run(call) {
      const [verb = "targets", name] = call.operands;
      if (verb === "targets" && name === undefined) {
        const answer = await call.api.get("/notify/targets");
        yield { answer, text: table(rowsOf(answer, "targets"), TARGET_COLUMNS, "No target of notifications.") };
      } else if (verb === "test" && name !== undefined) yield await tested(name, call);
      else if (verb === "routes" && name !== undefined) yield await routed(name, call);
      else throw new CtlUsage("notify takes nothing, targets, test TARGET, or routes EVENT");
    },
  },
];

const ROUTE_COLUMNS: readonly Column[] = [
  ["ROUTE", ({ route }) => route],
  ["TARGETS", ({ targets }) => (targets as readonly string[]).join(", ")],
  ["QUIET", ({ quiet }) => (quiet === true ? "yes" : "")],
  ["GROUP s", ({ group_seconds: seconds }) => seconds],
  ["REPEAT min", ({ repeat_minutes: minutes }) => minutes],
];

async function routed(event: string, { api, options }: CtlCall) {
  const names = ["severity", "tenant", "group", "pps", "mbps", "at"];
  const more = names.flatMap((name) => {
    const value = given(options, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const answer = await api.get("/notify/route", { event, ...Object.fromEntries(more) });
  const targets = (answer["targets"] as readonly string[]).map(plain).join(", ");
  const to = `${plain(answer["event"])} (${plain(answer["severity"])}) goes to ${targets === "" ? "no target" : targets}`;
  const routes =
    answer["routes"] === undefined
      ? "There are no routes."
      : table(rowsOf(answer, "routes"), ROUTE_COLUMNS, "No route takes it.");
  return { answer, text: `${to}\n${routes}` };
}

async function tested(name: string, { api, options, clock, sleep }: CtlCall) {
  const untilMs = clock.wallMs() + 1000 * secondsOf("wait", given(options, "wait") ?? WAIT_DEFAULT);
  const before = await targetOf(name, api);
  await api.post(`/notify/targets/${encodeURIComponent(name)}/test`, null);
  for (;;) {
    const answer = await targetOf(name, api);
    if (isOther("failed_at", before, answer)) throw new Refused(`${name}: ${plain(answer["failure"])}`);
    if (isOther("delivered_at", before, answer)) return { answer, text: `the test was delivered to ${name}` };
    if (clock.wallMs() >= untilMs) throw new Refused(`${name}: the test is not delivered yet, and is tried again`);
    await sleep(LOOK_MS);
  }
}

/** Empty for an unknown target, whose test is refused. */
async function targetOf(name: string, api: CtlCall["api"]): Promise<Json> {
  return rowsOf(await api.get("/notify/targets"), "targets").find((row) => row["name"] === name) ?? {};
}

function isOther(key: string, before: Json, now: Json): boolean {
  return now[key] !== undefined && now[key] !== before[key];
}
