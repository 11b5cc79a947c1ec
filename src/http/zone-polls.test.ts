import { beforeEach, describe, expect, test } from "bun:test";
import { edgeConfig, TestEdge } from "../../test/fixtures/edge.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { ANYONE, type Principal } from "../access/principal.ts";
import { nextTurn } from "../system/timers.ts";
import type { HoldEnd } from "./holds.ts";
import type { Call } from "./route.ts";
import { ZonePolls } from "./zone-polls.ts";

const AGENT: Principal = { ...ANYONE, operator: "t1", role: "agent", node: "e1" };
const WWW = "www.example.net";

let clock: ManualClock;
let edge: TestEdge;
let polls: ZonePolls;
let ends: HoldEnd[];
/** What writing a document takes, ms. */
let writingMs: number;

beforeEach(() => {
  clock = new ManualClock();
  const timers = new ManualTimers(clock);
  edge = new TestEdge(clock, timers, edgeConfig({ nodes: [{ name: "e1" }], zones: [{ name: WWW }] }));
  ends = [];
  writingMs = 0;
  const slowFeed = {
    watch: edge.feed.watch.bind(edge.feed),
    documentFor(scope: readonly string[] | "all") {
      // Whoever writes is the only one to run.
      clock.advance(writingMs);
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

describe("a change is told", () => {
  test("at once, the next one too", async () => {
    for (const count of [1, 2]) {
      poll();
      clock.advance(1);
      change();
      await turns();
      expect(ends).toHaveLength(count);
    }
  });

  test("later, when telling the last one took long, and then with all that came since", async () => {
    writingMs = 20;
    poll();
    change();
    await turns();
    expect(ends).toEqual(["changed"]);
    poll();
    writingMs = 0;
    clock.advance(1);
    change();
    await turns();
    expect(ends).toHaveLength(1);
    clock.advance(1);
    change();
    // Ten times 20 ms each for the answer and the poll that came then.
    clock.advance(400);
    await turns();
    expect(ends).toEqual(["changed", "changed"]);
  });

  test("after a second at the latest, and a reload at once", async () => {
    writingMs = 500;
    poll();
    change();
    await turns();
    poll();
    writingMs = 0;
    change();
    edge.feed.reloaded();
    await turns();
    expect(ends).toEqual(["changed", "changed"]);
    writingMs = 500;
    poll();
    writingMs = 0;
    clock.advance(1);
    change();
    await turns();
    expect(ends).toHaveLength(2);
    clock.advance(1000);
    await turns();
    expect(ends).toHaveLength(3);
  });
});

test("stopping cancels what is still to be told", async () => {
  writingMs = 20;
  poll();
  change();
  await turns();
  poll();
  writingMs = 0;
  change();
  await polls.stop();
  expect([ends.at(-1), clock.pending]).toEqual(["changed", 0]);
});
