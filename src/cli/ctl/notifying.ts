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
    ...{ operands: "[targets | test TARGET]", count: [0, 2], example: "notify test noc" },
    summary: "targets of notifications; sends a test to one, and says whether it was delivered",
    options: [{ name: "wait", value: "TIME", help: `how long for the delivery of a test (default ${WAIT_DEFAULT})` }],
    async *run(call) {
      const [verb = "targets", name] = call.operands;
      if (verb === "targets" && name === undefined) {
        const answer = await call.api.get("/notify/targets");
        yield { answer, text: table(rowsOf(answer, "targets"), TARGET_COLUMNS, "No target of notifications.") };
      } else if (verb === "test" && name !== undefined) yield await tested(name, call);
      else throw new CtlUsage("notify takes nothing, targets, or test TARGET");
    },
  },
];

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
