import { beforeEach, describe, expect, test } from "bun:test";
import { edgeConfig, TestEdge } from "../../../test/fixtures/edge/edge.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { ANYONE, type Principal } from "../../access/principal.ts";
import { nextTurn } from "../../system/timers.ts";
import type { Call } from "../route.ts";
import type { HoldEnd } from "./holds.ts";
import { ZonePolls } from "./zone-polls.ts";

const AGENT: Principal = { ...ANYONE, operator: "t1", role: "agent", node: "e1" };
const WWW = "www.example.net";

let clock: ManualClock;
let edge: TestEdge;
let polls: ZonePolls;
let ends: HoldEnd[];
/** Duration of writing a document, ms. */
let writingMs: number;
/** What happens meanwhile. */
let whileWriting: () => void;

beforeEach(() => {
  clock = new ManualClock();
  const timers = new ManualTimers(clock);
  edge = new TestEdge(clock, timers, edgeConfig({ nodes: [{ name: "e1" }], zones: [{ name: WWW }] }));
  ends = [];
  writingMs = 0;
  whileWriting = () => {};
  const slowFeed = {
    watch: edge.feed.watch.bind(edge.feed),
    documentFor(scope: readonly string[] | "all") {
      // Only the writer runs.
      clock.advance(writingMs);
      whileWriting();
      return edge.feed.documentFor(scope);
    },
  };
  const metrics = { parked: () => {}, ended: (end: HoldEnd) => ends.push(end), refused: () => {} };
  polls = new ZonePolls({ edge: { nodes: edge.nodes, feed: slowFeed }, metrics, clock, timers, nextTurn });
});

function poll(): void {
  const headers = { "if-none-match": edge.feed.documentFor(["global"]).etag };
  const call = { principal: AGENT, node: "e1", request: new Request("http://h/", { headers }), recheck: () => AGENT };
  void polls.poll(call as unknown as Call);
}

async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await nextTurn();
}

const change = () => edge.acme.requestSlot("e1", WWW, clock.wallMs());

describe("a change is sent", () => {
  test("at once, the next one too", async () => {
    for (const count of [1, 2]) {
      poll();
      clock.advance(1);
      change();
      await turns();
      expect(ends).toHaveLength(count);
    }
  });

  /** A round in which writing a document takes this long. */
  async function slowRound(ms: number): Promise<void> {
    poll();
    writingMs = ms;
    change();
    await turns();
    writingMs = 0;
  }

  test("later if the last round took long, and then with all changes since", async () => {
    await slowRound(20);
    expect(ends).toEqual(["changed"]);
    poll();
    for (const ms of [1, 1]) {
      clock.advance(ms);
      change();
      await turns();
      expect(ends).toHaveLength(1);
    }
    clock.advance(38);
    await turns();
    expect(ends).toEqual(["changed", "changed"]);
  });

  test("after a second at the latest, and a reload at once", async () => {
    await slowRound(700);
    poll();
    clock.advance(1);
    change();
    clock.advance(998);
    await turns();
    expect(ends).toHaveLength(1);
    clock.advance(1);
    await turns();
    expect(ends).toHaveLength(2);
    await slowRound(700);
    poll();
    edge.acme.releaseSlot("e1", WWW);
    edge.feed.reloaded();
    await turns();
    expect(ends).toHaveLength(4);
  });

  test("after the round in which it came, to polls that were answered before it", async () => {
    poll();
    whileWriting = () => {
      whileWriting = () => {};
      change();
      poll();
      clock.advance(1);
      change();
    };
    change();
    await turns();
    expect(ends).toEqual(["changed"]);
    clock.advance(2);
    await turns();
    expect(ends).toEqual(["changed", "changed"]);
  });
});

test("stopping cancels the pending round", async () => {
  poll();
  writingMs = 20;
  change();
  await turns();
  poll();
  writingMs = 0;
  clock.advance(1);
  change();
  await polls.stop();
  expect([ends.at(-1), clock.pending]).toEqual(["changed", 0]);
  change();
  expect(clock.pending).toBe(0);
});
