import { expect, test } from "bun:test";
import type { HostgroupConfigWire } from "../../src/http/wire/configured.ts";
import { dryRunText, ladderText, otherThresholds, problemLines, settingsText, thresholdFacts } from "./settings.ts";

const group = (changes: Partial<HostgroupConfigWire>) =>
  ({ ban: true, mitigation: "blackhole", ...changes }) as HostgroupConfigWire;

test("what is done, in its order", () => {
  expect(ladderText(group({}))).toBe("Blackhole");
  expect(ladderText(group({ ban: false }))).toBe("Alert only");
  const escalation = [
    { after_seconds: 0, action: "flowspec" },
    { after_seconds: 300, action: "blackhole" },
  ] as HostgroupConfigWire["escalation"];
  expect(ladderText(group(escalation === undefined ? {} : { escalation }))).toBe("FlowSpec, after 5 min Blackhole");
});

test("a hostgroup in dry run says so, and for which attacks", () => {
  const texts = [[], ["incoming"], ["outgoing"], ["incoming", "outgoing"]].map((directions) =>
    dryRunText({ dry_run_directions: directions } as Parameters<typeof dryRunText>[0]),
  );
  expect(texts).toEqual(["", "in dry run for incoming attacks", "in dry run for outgoing attacks", "in dry run"]);
});

test("what was set by the API in one line", () => {
  const settings = {
    thresholds: { pps: 9000 },
    mitigation: "flowspec" as const,
    protected_whitelist: ["203.0.113.7"],
    by: "anna",
  };
  expect(settingsText(settings)).toBe("packets 9.00 kpps, FlowSpec, never bans 203.0.113.7 (by anna)");
});

test("thresholds with their units", () => {
  const thresholds = { pps: 100_000, mbps: 1000, flows_per_sec: 5, tcp_syn_pps: 300 };
  expect(thresholdFacts(thresholds)).toEqual([
    ["Packets", "100 kpps"],
    ["Bandwidth", "1.00 Gbit/s"],
    ["New flows", "5 flows/s"],
    ["SYN packets", "300 pps"],
  ]);
  expect(otherThresholds(thresholds)).toBe("SYN packets 300 pps");
});

test("problems of a file by place, key and rule", () => {
  const text = [
    "/etc/floodwall/floodwall.yaml:4: hostgroups[0].thresholds.pps: must be above 0",
    "/etc/floodwall/floodwall.yaml:9: unknown key: nework",
    "/etc/floodwall/floodwall.yaml: cannot be read",
    "the service is stopping",
  ].join("\n");
  expect(problemLines(text)).toEqual([
    {
      at: "/etc/floodwall/floodwall.yaml:4",
      key: "hostgroups[0].thresholds.pps",
      rule: "must be above 0",
    },
    { at: "/etc/floodwall/floodwall.yaml:9", key: null, rule: "unknown key: nework" },
    { at: "/etc/floodwall/floodwall.yaml", key: null, rule: "cannot be read" },
    { at: null, key: null, rule: "the service is stopping" },
  ]);
});
