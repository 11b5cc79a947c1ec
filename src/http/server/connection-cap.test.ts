import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { capConnections } from "./connection-cap.ts";

/** To count each connection takes 3 us. */
function counted(connections: { open: number }) {
  const clock = new ManualClock();
  const counts: number[] = [];
  let spentMs = 0;
  const cancel = capConnections({
    limit: () => {
      counts.push(clock.monotonicMs());
      spentMs += connections.open * 0.003;
      clock.advance(connections.open * 0.003);
      return { open: connections.open, closedOfAddress: 0, closedOfTotal: 0 };
    },
    ...{ port: 1, metrics: null, log: { warn: () => {} }, limiter: { pass: () => {} } },
    ...{ timers: new ManualTimers(clock), clock },
  });
  return { clock, counts, cancel, spentMs: () => spentMs };
}

test("few connections are counted ten times a second, 9,000 idle ones in a twentieth of the time", () => {
  const few = counted({ open: 10 });
  few.clock.advance(10_000);
  expect(few.counts.length).toBeGreaterThan(90);
  const many = counted({ open: 9000 });
  for (let i = 0; i < 200; i++) many.clock.advance(50);
  expect(many.spentMs()).toBeLessThan(0.06 * many.clock.monotonicMs());
  expect(many.counts.length).toBeGreaterThan(10);
});

test("while they become many more, they are counted at every look", () => {
  const connections = { open: 9000 };
  const { clock, counts } = counted(connections);
  for (let i = 0; i < 20; i++) {
    clock.advance(100);
    connections.open += 1000;
  }
  expect(counts.length).toBeGreaterThan(15);
});
