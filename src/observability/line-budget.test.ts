import { expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { LINES_AT_ONCE, LINES_PER_SECOND } from "./line-budget.ts";
import { openLog } from "./log.ts";

test("a flood of one message is a burst and some lines a second, with the count of the others, and hides no other", () => {
  const clock = new ManualClock();
  const lines: { msg: string; suppressed_lines?: number }[] = [];
  const log = openLog({ level: "info", clock, destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  for (let i = 0; i < 5000; i++) log.info({ i }, "attack started");
  log.child({ part: "x" }).info({}, "attack started");
  log.warn({}, "another one");
  expect(lines).toHaveLength(LINES_AT_ONCE + 1);
  expect(lines.at(-1)).toMatchObject({ msg: "another one" });
  clock.advance(1000);
  lines.length = 0;
  for (let i = 0; i < 5000; i++) log.info({ i }, "attack started");
  expect(lines).toHaveLength(LINES_PER_SECOND);
  expect(lines[0]?.suppressed_lines).toBe(5001 - LINES_AT_ONCE);
  expect(lines[1]).not.toHaveProperty("suppressed_lines");
});
