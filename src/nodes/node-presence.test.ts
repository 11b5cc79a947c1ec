import { beforeEach, describe, expect, test } from "bun:test";
import { NodePresence } from "./node-presence.ts";

const STALE_MS = 15_000;

let presence: NodePresence;
/** The wall clock is a day ahead. */
const at = (monotonicMs: number) => ({ monotonicMs, wallMs: monotonicMs + 86_400_000 });
const lastSeenAt = () => presence.lastSeen("s1")?.monotonicMs ?? null;
const livenessAt = (nowMs: number, name = "s1") => presence.livenessOf(name, nowMs, STALE_MS);

beforeEach(() => {
  presence = new NodePresence();
  presence.reconfigure(["s1", "s2"], 1000);
});

describe("a node", () => {
  test("that never polled is lost after staleAfterMs #edge-node-never-polled", () => {
    expect([livenessAt(1000), livenessAt(1000 + STALE_MS), livenessAt(1001 + STALE_MS)]).toEqual([
      "not_seen",
      "not_seen",
      "lost",
    ]);
    expect([lastSeenAt(), presence.isHolding("s1")]).toEqual([null, false]);
  });

  test("is alive as long as a poll of it is parked, however long #edge-node-alive", () => {
    presence.pollStarted("s1", at(2000));
    expect([livenessAt(2000 + 100 * STALE_MS), presence.isHolding("s1")]).toEqual(["alive", true]);
    expect(livenessAt(2000 + 100 * STALE_MS, "s2")).toBe("lost");
  });

  test("is alive for a while after its last poll has ended, and lost after #edge-node-alive", () => {
    presence.pollStarted("s1", at(2000));
    presence.pollEnded("s1", at(32_000));
    expect([livenessAt(32_000 + STALE_MS), livenessAt(32_001 + STALE_MS)]).toEqual(["alive", "lost"]);
    expect([lastSeenAt(), presence.isHolding("s1")]).toEqual([32_000, false]);
  });

  test("is stamped when a poll starts and when it ends", () => {
    presence.pollStarted("s1", at(2000));
    expect(lastSeenAt()).toBe(2000);
    presence.pollEnded("s1", at(3000));
    expect(lastSeenAt()).toBe(3000);
  });

  test("with two polls holds until both have ended", () => {
    presence.pollStarted("s1", at(2000));
    presence.pollStarted("s1", at(2000));
    presence.pollEnded("s1", at(3000));
    expect(presence.isHolding("s1")).toBe(true);
    presence.pollEnded("s1", at(3000));
    expect(presence.isHolding("s1")).toBe(false);
  });

  test("that comes back is alive at once", () => {
    presence.pollStarted("s1", at(100_000));
    expect(livenessAt(100_000)).toBe("alive");
  });
});

describe("a reload", () => {
  test("drops removed nodes, and expects polls of added ones from then on", () => {
    presence.pollStarted("s1", at(2000));
    presence.pollEnded("s1", at(2000));
    presence.reconfigure(["s2"], 3000);
    expect([livenessAt(3000), lastSeenAt()]).toEqual(["lost", null]);
    presence.reconfigure(["s1", "s2"], 50_000);
    expect([livenessAt(50_000 + STALE_MS), livenessAt(50_001 + STALE_MS)]).toEqual(["not_seen", "lost"]);
    expect(livenessAt(50_000, "s2")).toBe("lost");
  });

  test("takes the end of a poll that it ends", () => {
    presence.pollStarted("s1", at(2000));
    presence.reconfigure(["s2"], 3000);
    presence.pollEnded("s1", at(3001));
    expect(lastSeenAt()).toBeNull();
    presence.pollEnded("s1", at(3002));
    presence.reconfigure(["s1"], 4000);
    expect([presence.isHolding("s1"), livenessAt(4000)]).toEqual([false, "not_seen"]);
  });
});
