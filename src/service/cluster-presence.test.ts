import { beforeEach, describe, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { UNKNOWN_MAX_MS } from "../cluster/joins/presence.ts";
import { NodePresence } from "../nodes/node-presence.ts";
import { sharePresence } from "./cluster-presence.ts";

const STALE_MS = 15_000;
const NODES = ["s1", "s2"];

let clock: ManualClock;
let brains: JoinedBrains;
let unread: string[];
let presences: Record<string, NodePresence>;

const now = () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() });
const at = (brain: string) => presences[brain] as NodePresence;
const livenessAt = (brain: string, node = "s1") => at(brain).livenessOf(node, clock.monotonicMs(), STALE_MS);

beforeEach(() => {
  clock = new ManualClock();
  brains = new JoinedBrains("brain1", "brain2");
  presences = {};
  unread = [];
  for (const name of brains.names) {
    const presence = new NodePresence();
    presence.reconfigure(NODES, clock.monotonicMs());
    presences[name] = presence;
    const scrub = { presence, has: (node: string) => NODES.includes(node) };
    const edge = { presence: new NodePresence(), has: () => false };
    const timers = new ManualTimers(clock);
    const onUnread = (kind: string, from: string) => unread.push(`${kind} of ${from}`);
    sharePresence({ peers: brains.of(name), channels: { scrub, edge }, clock, timers, onUnread });
  }
  brains.link("brain1", "brain2");
});

describe("a node that polls one brain", () => {
  beforeEach(() => {
    at("brain2").pollStarted("s1", now());
    clock.advance(60_000);
  });

  test("is alive at the other one, with the time at which it was seen #node-seen-by-another-brain", () => {
    expect([livenessAt("brain1"), livenessAt("brain1", "s2")]).toEqual(["alive", "lost"]);
    expect(at("brain1").lastSeenAt("s1", now())).toBe(clock.wallMs());
  });

  test("is lost at both when its polls end", () => {
    at("brain2").pollEnded("s1", now());
    clock.advance(STALE_MS);
    expect([livenessAt("brain1"), livenessAt("brain2")]).toEqual(["alive", "alive"]);
    clock.advance(100);
    expect([livenessAt("brain1"), livenessAt("brain2")]).toEqual(["lost", "lost"]);
  });

  test("is unknown while that brain is out of reach, and lost if it does not poll it again #node-unknown", () => {
    brains.cut("brain1", "brain2");
    at("brain2").pollEnded("s1", now());
    clock.advance(UNKNOWN_MAX_MS);
    expect([livenessAt("brain1"), livenessAt("brain2")]).toEqual(["unknown", "lost"]);
    brains.link("brain1", "brain2");
    expect(livenessAt("brain1")).toBe("lost");
  });

  test("is lost when that brain stays away", () => {
    brains.cut("brain1", "brain2");
    clock.advance(UNKNOWN_MAX_MS + 1);
    expect(livenessAt("brain1")).toBe("lost");
  });

  test("is alive at once when that brain is back", () => {
    brains.cut("brain1", "brain2");
    clock.advance(3_600_000);
    brains.link("brain1", "brain2");
    expect(livenessAt("brain1")).toBe("alive");
  });

  test("is alive by the own polls once it polls here", () => {
    brains.cut("brain1", "brain2");
    at("brain1").pollStarted("s1", now());
    expect(livenessAt("brain1")).toBe("alive");
    at("brain1").pollEnded("s1", now());
    clock.advance(STALE_MS + 1);
    expect(livenessAt("brain1")).toBe("lost");
  });
});

describe("a message", () => {
  test("in another form is counted and changes nothing", () => {
    brains.of("brain2").broadcast("presence", { channel: "scrub", nodes: [{ name: "s1" }] });
    expect(unread).toEqual(["presence of brain2"]);
  });

  test("of a node that is not configured here is ignored", () => {
    at("brain2").pollStarted("s9", now());
    clock.advance(100);
    expect(at("brain1").lastSeenAt("s9", now())).toBeNull();
  });
});
