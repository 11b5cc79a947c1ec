import { expect, test } from "bun:test";
import type { Liveness } from "../../nodes/node-presence.ts";
import { PresenceChanges } from "./presence-changes.ts";

test.each<[string, Liveness[], (string | null)[]]>([
  ["first seen in time", ["not_seen", "alive", "alive"], [null, null, null]],
  ["never seen", ["not_seen", "lost", "lost"], [null, null, null]],
  ["lost, and back", ["alive", "lost", "lost", "alive"], [null, "node_lost", null, "node_alive"]],
  ["first seen too late", ["not_seen", "lost", "alive"], [null, null, "node_alive"]],
])("a node that is %s", (_, seen, expected) => {
  const changes = new PresenceChanges();
  expect(seen.map((liveness) => changes.next("e1", liveness))).toEqual(expected as never);
});

test("a node that was gone begins again", () => {
  const changes = new PresenceChanges();
  changes.next("e1", "alive");
  changes.next("e2", "alive");
  changes.forget((node) => node === "e2");
  expect([changes.next("e1", "lost"), changes.next("e2", "lost")]).toEqual([null, "node_lost"]);
});
