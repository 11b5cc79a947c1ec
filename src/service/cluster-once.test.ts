import { expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { ClusterOnce } from "./cluster-once.ts";

test("what was sent is said in some messages a tick, all of it in the end", () => {
  const clock = new ManualClock();
  const brains = new JoinedBrains("brain1", "brain2");
  const once = new ClusterOnce<string>({
    ...{ peers: brains.of("brain1"), kind: "events", clock, timers: new ManualTimers(clock), entriesMax: 30_000 },
    ...{ lease: { holds: () => true }, reach: { isGone: () => false }, onUnread: () => {}, onDropped: () => {} },
  });
  const messages: number[] = [];
  brains.of("brain2").on("events", (_, body) => messages.push((body as { deliveries: unknown[] }).deliveries.length));
  brains.link("brain1", "brain2");
  once.start(() => {});
  messages.length = 0;
  once.sent(Array.from({ length: 19_500 }, (_, i) => ({ key: `k ${i}`, target: "hook" })));
  expect(messages).toEqual(Array(8).fill(2000));
  clock.advance(250);
  expect(messages.slice(8)).toEqual([2000, 1500]);
});
