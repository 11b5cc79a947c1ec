import { beforeEach, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { edgeReport } from "../../test/fixtures/edge/edge-reports.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import type { EdgeNodes } from "../edge/edge-nodes.ts";
import { EdgeReports } from "../edge/reports/edge-reports.ts";
import { shareEdgeReports } from "./cluster-edge-reports.ts";

let brains: JoinedBrains;
let clock: ManualClock;
let unread: string[];
/** `brain node version` of what goes into a history. */
let recorded: string[];

beforeEach(() => {
  [brains, clock, unread, recorded] = [new JoinedBrains("a", "b"), new ManualClock(), [], []];
});

function brain(name: string): EdgeReports {
  const nodes = { has: (node: string) => node === "e1" } as unknown as EdgeNodes;
  const reports = new EdgeReports({
    ...{ nodes, overrides: () => new Map(), wallMs: () => clock.wallMs() },
    onReport: (node, { report }) => void recorded.push(`${name} ${node} ${report.version}`),
  });
  const onUnread = (kind: string, from: string) => void unread.push(`${kind} of ${from}`);
  shareEdgeReports({ peers: brains.of(name), nodes, reports, clock, onUnread });
  return reports;
}

test("the report of a node is at all brains, and in the history of one #edge-report-that-came-last", () => {
  const [a, b] = [brain("a"), brain("b")];
  brains.link("a", "b");
  a.report("e1", edgeReport({ version: "1", dry_run: true }));
  expect(b.reportOf("e1")).toEqual(a.reportOf("e1"));
  clock.advance(10_000);
  b.report("e1", edgeReport({ version: "2" }));
  expect([a.reportOf("e1")?.report.version, recorded]).toEqual(["2", ["a e1 1", "b e1 2"]]);
});

test("one that comes more often than every five seconds is of the brain that got it", () => {
  const [a, b] = [brain("a"), brain("b")];
  brains.link("a", "b");
  for (const version of ["1", "2"]) a.report("e1", edgeReport({ version }));
  expect(b.reportOf("e1")?.report.version).toBe("1");
  clock.advance(5000);
  a.report("e1", edgeReport({ version: "3" }));
  expect(b.reportOf("e1")?.report.version).toBe("3");
});

test("what is no report is counted, and one of an unknown node is left out", () => {
  const b = brain("b");
  brain("a");
  brains.link("a", "b");
  const bodies = [
    { node: "e1", text: "{" },
    { node: "e1", text: '{"zones":1}' },
    { node: "e1" },
    { node: "e2", text: "{}" },
  ];
  for (const body of bodies) brains.of("a").send("b", "edge_report", body);
  expect(unread).toEqual(["edge_report of a", "edge_report of a", "edge_report of a"]);
  expect([b.reportOf("e1"), b.reportOf("e2")]).toEqual([null, null]);
});
