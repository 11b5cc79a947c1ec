import { expect, test } from "bun:test";
import type { RouteFamily } from "../route-family.ts";
import type { Session } from "./neighbor.ts";
import { NeighborWatch } from "./neighbor-watch.ts";
import type { SpeakerClient } from "./speaker-client.ts";

const A = "192.0.2.1";
const LIMIT_REACHED = { neighbor: A, code: 6, subcode: 1, data: Buffer.alloc(0) };
/** IPv4 unicast, 5 routes. */
const LIMIT_OF_5 = { ...LIMIT_REACHED, data: Buffer.from([0, 1, 1, 0, 0, 0, 5]) };

function session(changes: Partial<Session> = {}): Session {
  return { address: A, remoteAsn: 65002, state: "idle", changedAtMs: 1, families: [], isDeferring: false, ...changes };
}

function watched() {
  const removed: string[] = [];
  const client: Pick<SpeakerClient, "deletePeer"> = {
    deletePeer: async (address) => {
      removed.push(address);
    },
  };
  const watch = new NeighborWatch();
  const installed = new Map<RouteFamily, number>([["ipv4-unicast", 9]]);
  const follow = (sessions: readonly Session[], ...notifications: readonly (typeof LIMIT_REACHED)[]) =>
    watch.follow(client as SpeakerClient, { sessions, notifications, installed: () => installed, nowMs: 0 });
  return { watch, removed, follow };
}

test("learns the limit of a neighbor whose session was never seen, once for two notifications at a time", async () => {
  const { watch, removed, follow } = watched();
  await follow([session()], LIMIT_REACHED, LIMIT_REACHED);
  expect(watch.limits()).toEqual([{ neighbor: A, family: "ipv4-unicast", routes: 4 }]);
  expect(removed).toEqual([A]);
});

test("takes the limit that a notification names, and says it until the next session", async () => {
  const { watch, follow } = watched();
  await follow([session()], LIMIT_OF_5);
  expect(watch.limits()).toEqual([{ neighbor: A, family: "ipv4-unicast", routes: 5 }]);
  expect(watch.faultOf(A)).toBe("cease: maximum number of prefixes reached, 5 of IPv4 unicast (BGP notification 6/1)");
  await follow([session({ state: "established", families: ["ipv4-unicast"] })]);
  expect(watch.faultOf(A)).toBeNull();
  expect(watch.limits().length).toBe(1);
});

test("a session that ends for another reason says nothing about limits", async () => {
  const { watch, removed, follow } = watched();
  await follow([session()], { ...LIMIT_REACHED, subcode: 2 });
  expect([watch.limits(), removed]).toEqual([[], []]);
});

test("routes are sent again to a neighbor with a new session, and when it gets changes, not in between", async () => {
  const { follow } = watched();
  const up = session({ state: "established", isDeferring: true });
  expect(await follow([session()])).toEqual([]);
  expect(await follow([up])).toEqual([A]);
  expect(await follow([up])).toEqual([]);
  expect(await follow([{ ...up, isDeferring: false }])).toEqual([A]);
  expect(await follow([{ ...up, isDeferring: false }])).toEqual([]);
  expect(await follow([{ ...up, changedAtMs: 2 }])).toEqual([A]);
});

test("routes are sent again after a new connection: a session may have come back with another speaker in the same second", async () => {
  const watch = new NeighborWatch();
  const follow = (client: Partial<SpeakerClient>) =>
    watch.follow(client as SpeakerClient, {
      sessions: [session({ state: "established" })],
      notifications: [],
      installed: () => new Map(),
      nowMs: 0,
    });
  const [first, second] = [{}, {}];
  expect(await follow(first)).toEqual([A]);
  expect(await follow(first)).toEqual([]);
  expect(await follow(second)).toEqual([A]);
});
