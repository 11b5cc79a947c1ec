import { expect, test } from "bun:test";
import type { Liveness } from "../../nodes/node-presence.ts";
import { PresenceChanges } from "./presence-changes.ts";

test.each<[string, Liveness[], (string | null)[]]>([
  [
    "presence is baselined at the first poll #edge-event-rules-presence-is-baselined",
    ["not_seen", "alive", "alive"],
    [null, null, null],
  ],
  [
    "a node that is down and never seen has no event #edge-event-rules-a-node-that-is-down",
    ["not_seen", "lost", "lost"],
    [null, null, null],
  ],
  [
    "a node is lost, and back #edge-event-of-kind-node-lost",
    ["alive", "lost", "lost", "alive"],
    [null, "node_lost", null, "node_alive"],
  ],
  [
    "a node that is down across a start has its first event when it returns #edge-event-rules-a-node-that-is-down",
    ["not_seen", "lost", "alive"],
    [null, null, "node_alive"],
  ],
  [
    "a node that is unknown has none, until its brain is back #node-unknown",
    ["alive", "unknown", "unknown", "lost", "unknown", "alive"],
    [null, null, null, "node_lost", null, "node_alive"],
  ],
])("%s", (_, seen, expected) => {
  const changes = new PresenceChanges();
  expect(seen.map((liveness) => changes.next("e1", liveness))).toEqual(expected as never);
});

test("a node that a reload removes and another adds begins without a state #edge-event-rules-a-node-that-a-reload", () => {
  const changes = new PresenceChanges();
  changes.next("e1", "alive");
  changes.next("e2", "alive");
  changes.forget((node) => node === "e2");
  expect([changes.next("e1", "lost"), changes.next("e2", "lost")]).toEqual([null, "node_lost"]);
});
