/** Reports on the history by the whole service: what dry run kept back, and suggested thresholds. */
import { expect, test } from "bun:test";
import type { Static } from "@sinclair/typebox";
import { ctl } from "../../src/cli/ctl/ctl.ts";
import type { DryRunReportWire } from "../../src/http/wire/dry-run-report.ts";
import { reportToWire } from "../../src/http/wire/dry-run-report.ts";
import type { SuggestionWire } from "../../src/http/wire/suggestion.ts";
import { suggestionToWire } from "../../src/http/wire/suggestion.ts";
import { suggestThresholds } from "../../src/traffic/threshold-suggestion.ts";
import { ran } from "../fixtures/steps.ts";

const host = (key: string, pps: number) => ({ key, outgoing: false, pps, mbps: pps / 100, flowsPerSec: 5 });
const days = Array.from({ length: 14 }, (_, i) => ({ day: 20_000 + i, seconds: 86_400 }));
const suggested = (hosts: Parameters<typeof suggestThresholds>[0]["hosts"], recorded = days) =>
  suggestionToWire(
    ran(
      suggestThresholds(
        { days: recorded, hosts, leftOut: 0 },
        {
          groups: ["global", "my group"].map((name) => ({ name, isTotal: false, judgesOutgoing: false })),
          groupOf: (key) => (key === "192.0.2.1" ? "my group" : "global"),
          margin: 2,
          marked: [],
        },
      ),
    ),
    2,
  );

/** `floodwall ctl` beside a service that answers so. */
async function asked(words: readonly string[], answer: object) {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(answer) });
  const [printed, complaints]: [string[], string[]] = [[], []];
  const code = await ctl([...words, "--url", `http://127.0.0.1:${server.port}`], {
    ...{ env: { FLOODWALL_TOKEN: "a-token" }, clock: { wallMs: () => 0 }, sleep: async () => {} },
    ...{ print: (line: string) => printed.push(line), complain: (line: string) => complaints.push(line) },
  });
  await server.stop(true);
  return { code, text: printed.join("\n"), complaints };
}

test("suggested thresholds are lines for the configuration, with what they rest on as comments #thresholds-suggested", async () => {
  const wire: SuggestionWire = suggested([host("192.0.2.1", 900), host("203.0.113.1", 400), host("203.0.113.2", 20)]);
  expect(wire).toMatchObject({ available: true, days: 14, margin: 2, hostgroups: [{ outlier: true }, { hosts: 1 }] });
  const { code, text } = await asked(["suggest"], wire);
  expect(code).toBe(0);
  expect(text.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
    "thresholds: { pps: 800, mbps: 8, flows_per_sec: 10 }",
    "hostgroups:",
    '  - name: "my group"',
    "    thresholds: { pps: 1800, mbps: 18, flows_per_sec: 10 }",
  ]);
  expect(text).toContain("# global: 203.0.113.1 has ten times what others have");
  expect(text).toContain("# from the history: 14 days, margin 2");
});

test("too little history is a refusal, in the answer and at the command line", async () => {
  const wire = suggested([host("192.0.2.1", 900)], days.slice(0, 3));
  expect(wire).toMatchObject({ available: true, days: 3, hostgroups: [] });
  const { code, complaints } = await asked(["suggest"], wire);
  expect(code).toBe(1);
  expect(complaints.join()).toContain(
    "too little history: 3 whole days on 3 days of the week, and 7 on all seven are needed",
  );
  expect(suggestionToWire(null, 2)).toMatchObject({
    available: false,
    reason: expect.stringContaining("storage is off"),
  });
});

test("what dry run kept back is counted by hostgroup and mark #dry-run-report-answer", async () => {
  const none = { bans: 0, real: 0, expected: 0, falseAlarm: 0, unmarked: 0 };
  const row = { atMs: 1000, untilMs: 2000, target: "192.0.2.1", group: "web", attack: "a", incident: "i" };
  const sums = { ...none, bans: 1, falseAlarm: 1 };
  const report = {
    sums,
    hostgroups: [{ name: "web", sums }],
    rows: [{ ...row, mark: "false_alarm" as const }],
    isTruncated: true,
  };
  const wire: Static<typeof DryRunReportWire> = reportToWire(report, { fromMs: 0, toMs: 5000 });
  expect(wire).toMatchObject({
    bans: 1,
    false_alarm: 1,
    truncated: true,
    rows: [{ mark: "false_alarm", hostgroup: "web" }],
  });
  const { code, text } = await asked(["dry-run", "--from", "7d"], wire);
  expect(code).toBe(0);
  for (const part of ["FALSE ALARMS", "web", "false alarm", "192.0.2.1", "ask for a shorter time"])
    expect(text).toContain(part);
  expect((await asked(["dry-run"], reportToWire(null, { fromMs: 0, toMs: 1 }))).text).toContain("storage is off");
});
