import { expect, test } from "bun:test";
import type { Liveness } from "../../nodes/node-presence.ts";
import { PresenceChanges } from "./presence-changes.ts";

test.each<[string, Liveness[], (string | null)[]]>([
  ["rules: presence is baselined at the first poll", ["not_seen", "alive", "alive"], [null, null, null]],
  ["rules: a node that is down and never seen has no event", ["not_seen", "lost", "lost"], [null, null, null]],
  [
    "of kind node_lost and node_alive: lost, and back",
    ["alive", "lost", "lost", "alive"],
    [null, "node_lost", null, "node_alive"],
  ],
  [
    "rules: a node that is down across a start has its first event when it returns",
    ["not_seen", "lost", "alive"],
    [null, null, "node_alive"],
  ],
])("edge event %s #edge-event-rules-presence-is-baselined #edge-event-of-kind-node-lost #edge-event-rules-a-node-that-is-down", (_, seen, expected) => {
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
