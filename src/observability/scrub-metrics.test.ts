import { expect, test } from "bun:test";
import { Metrics } from "./metrics.ts";

test("scrub nodes are counted by liveness, with their diverted bans and left-out rules", async () => {
  const metrics = new Metrics("1");
  const node = {
    liveness: "alive",
    activeBans: 2,
    splitRules: 1,
    leftOutRules: 3,
    faults: { refusedBans: 1, notAppliedSince: null },
  } as const;
  metrics.scrub.set([
    node,
    node,
    { ...node, liveness: "lost", activeBans: 0, faults: { refusedBans: 2, notAppliedSince: 5 } },
  ]);
  metrics.scrub.moved();
  metrics.scrub.reported();
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("svc_scrub_"));
  expect(lines).toEqual([
    'svc_scrub_nodes{state="alive"} 2',
    'svc_scrub_nodes{state="not_seen"} 0',
    'svc_scrub_nodes{state="unknown"} 0',
    'svc_scrub_nodes{state="lost"} 1',
    "svc_scrub_bans 4",
    'svc_scrub_rules_changed{form="split"} 3',
    'svc_scrub_rules_changed{form="left_out"} 9',
    'svc_scrub_nodes_not_enforcing{cause="refused"} 3',
    'svc_scrub_nodes_not_enforcing{cause="not_applied"} 1',
    "svc_scrub_moves_total 1",
    "svc_scrub_reports_total 1",
  ]);
});
