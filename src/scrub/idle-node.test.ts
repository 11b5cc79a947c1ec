import { expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { quietly } from "../../test/fixtures/scrub/quiet-observer.ts";
import { divertedBan, scrubbing } from "../../test/fixtures/scrub/scrubbing.ts";
import { ScrubNodes } from "./scrub-nodes.ts";

test("a diverted ban does not come by a node that reports no traffic, well after the ban began", () => {
  const clock = new ManualClock();
  const nodes = new ScrubNodes(quietly(scrubbing({ name: "s1" }), clock));
  const report = (loadMbps: number | null) => nodes.report("s1", { text: "{}", loadMbps, capabilities: [] });
  const ban = { ...divertedBan({ target: "192.0.2.1", node: "s1" }), startedAt: clock.wallMs() };
  expect(nodes.isNodeIdle(ban)).toBe(false);
  report(0);
  expect(nodes.isNodeIdle(ban)).toBe(false);
  clock.advance(20_000);
  report(0);
  expect(nodes.isNodeIdle(ban)).toBe(true);
  report(0.1);
  expect(nodes.isNodeIdle(ban)).toBe(false);
  report(null);
  expect(nodes.isNodeIdle(ban)).toBe(false);
  report(0);
  expect(nodes.isNodeIdle({ ...ban, measure: { kind: "none" } })).toBe(false);
});
