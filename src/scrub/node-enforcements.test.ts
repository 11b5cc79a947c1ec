import { expect, test } from "bun:test";
import { readEnforced } from "./enforced-report.ts";
import { APPLIED_WITHIN_MS, NodeEnforcements } from "./node-enforcements.ts";
import { NO_FAULTS } from "./node-faults.ts";

const EMPTY = { bans: [], splitRules: 0, leftOutRules: 0 };
const at = (monotonicMs: number) => ({ wallMs: monotonicMs, monotonicMs });

test("a node that a reload removed has no faults, and none when it comes back", () => {
  const nodes = new NodeEnforcements();
  expect(nodes.view("s1", 0)).toEqual(NO_FAULTS);
  nodes.sent("s1", { etag: '"a"', document: EMPTY }, at(1));
  const lateMs = APPLIED_WITHIN_MS + 2;
  const report = readEnforced({ capabilities: ["refused_bans"], rules_etag: '"x"' });
  nodes.reported("s1", report, at(lateMs), { withinMs: 0, concerns: () => true });
  expect(nodes.view("s1", lateMs).notAppliedSince).toBe(1);
  nodes.forget((_, ban) => ban !== null);
  expect(nodes.view("s1", lateMs).notAppliedSince).toBe(1);
  nodes.forget((node) => node === "s1");
  expect(nodes.view("s1", lateMs)).toEqual(NO_FAULTS);
  nodes.sent("s1", { etag: '"b"', document: EMPTY }, at(lateMs));
  expect(nodes.view("s1", lateMs)).toEqual(NO_FAULTS);
});
