import { expect, test } from "bun:test";
import { INSTANCE, neighbor, toPath } from "../../test/fixtures/bgp/bgp.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { Chance, seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { Route } from "../mitigation/announcer.ts";
import { hostPrefix } from "../net/prefix.ts";
import { nextTurn } from "../system/timers.ts";
import { markOf } from "./neighbor-mark.ts";
import { NeighborPolicies } from "./neighbor-policies.ts";
import { keyOfPath } from "./route-path.ts";
import { RouteReconciler, type RouteReconcilerOptions } from "./route-reconciler.ts";
import type { Session } from "./speaker/neighbor.ts";
import type { ListedName, SpeakerClient } from "./speaker/speaker-client.ts";

const route = (ip: string): Route => ({
  kind: "unicast",
  prefix: hostPrefix(address(ip)),
  nextHop: address("192.0.2.1"),
  communities: [],
  localPref: 0,
});

const OPTIONS: RouteReconcilerOptions = {
  clock: { wallMs: () => 0, monotonicMs: () => 0 },
  owner: { instance: INSTANCE, takesOver: () => false, adopted: () => {} },
  onOthers: () => {},
  onAnnounced: () => {},
  onFault: (fault) => {
    throw fault;
  },
  onQuarantine: () => {},
  onChange: () => {},
};

/** Runs `fn` after this number of microtasks. */
function later(microtasks: number, fn: () => void): void {
  if (microtasks === 0) fn();
  else queueMicrotask(() => later(microtasks - 1, fn));
}

test.each(Array.from({ length: 20 }, (_, i) => i))(
  "a route wanted %p microtasks after the one before was sent is sent too, without another occasion",
  async (microtasks) => {
    const [first, second] = [route("203.0.113.1"), route("203.0.113.2")];
    let sent = 0;
    const client: Pick<SpeakerClient, "listGlobal" | "sendPaths"> = {
      listGlobal: async () => [],
      sendPaths: async (paths) => {
        sent += [...paths].length;
        if (sent === 1) later(microtasks, () => reconciler.want([first, second]));
      },
    };
    const reconciler = new RouteReconciler(OPTIONS);
    await reconciler.attach(client as SpeakerClient);
    reconciler.want([first]);
    await nextTurn();
    expect(sent).toBe(2);
  },
);

test("neighbors have at no time more routes than their limits, and in the end the first of those that are wanted", async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const chance = new Chance(seededRandom(seed));
  const neighbors = ["192.0.2.1", "192.0.2.2"] as const;
  /** In the speaker: marks by prefix. */
  const speaker = new Map<string, readonly string[]>();
  const has = (neighbor: string) => [...speaker.keys()].filter((key) => !speaker.get(key)?.includes(markOf(neighbor)));
  let limits = neighbors.map((neighbor) => ({ neighbor, routes: 0 }));
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths"> = {
    listGlobal: async () => [],
    sendPaths: async (paths) => {
      // Messages may be reordered.
      for (const path of [...paths].sort(() => chance.below(3) - 1)) {
        const key = keyOfPath({ ...path, neighborIp: "" }) ?? "";
        if (path.attributes === null) speaker.delete(key);
        else speaker.set(key, path.attributes.marks);
        for (const { neighbor, routes } of limits) {
          expect(has(neighbor).length, `seed ${seed}`).toBeLessThanOrEqual(routes);
        }
      }
    },
  };
  const reconciler = new RouteReconciler(OPTIONS);
  await reconciler.attach(client as SpeakerClient);
  reconciler.setDeferring([]);
  const routes = Array.from({ length: 12 }, (_, i) => route(`203.0.113.${i}`));
  for (let round = 0; round < 300; round++) {
    if (round % 10 === 0) {
      // Set while nothing is in the speaker: a limit below what a neighbor has is reached at once.
      reconciler.want([]);
      await reconciler.settle();
      limits = neighbors.map((neighbor) => ({ neighbor, routes: chance.below(8) }));
      const family = "ipv4-unicast";
      reconciler.setLimits(limits.map((limit) => ({ ...limit, family })));
    }
    const wanted = [...routes].sort(() => chance.below(3) - 1).slice(0, chance.below(routes.length + 1));
    reconciler.want(wanted);
    await reconciler.settle();
    for (const { neighbor, routes: most } of limits) {
      const first = wanted.slice(0, most).map(({ prefix }) => prefix.text);
      expect(has(neighbor).sort(), `seed ${seed}`).toEqual(first.sort());
    }
  }
});

test.each([
  [499, [1, 1]],
  [500, [0, 1]],
])("%p routes are looked up when the speaker had time to send them", async (count, lookups) => {
  let [nowMs, reads] = [0, 0];
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths" | "listAdjOut"> = {
    listGlobal: async () => [],
    sendPaths: async (paths) => {
      nowMs += [...paths].length;
    },
    listAdjOut: async () => {
      reads++;
      return [];
    },
  };
  const clock = { wallMs: () => 0, monotonicMs: () => nowMs };
  const reconciler = new RouteReconciler({ ...OPTIONS, clock });
  await reconciler.attach(client as SpeakerClient);
  const neighbor = { address: "192.0.2.1", remoteAsn: 1, families: ["ipv4-unicast"] } as const;
  reconciler.setSessions([{ ...neighbor, state: "established", changedAtMs: 0, isDeferring: false }]);
  reconciler.want(Array.from({ length: count }, (_, i) => route(`203.0.${i >> 8}.${i & 255}`)));
  const seen: number[] = [];
  for (const _ of lookups) {
    await nextTurn();
    await reconciler.settle();
    seen.push(reads);
    nowMs += count;
  }
  expect(seen).toEqual(lookups);
});

test("a route that one neighbor has is reported while another does not answer, also if a session ends meanwhile", async () => {
  const [fast, slow] = ["192.0.2.1", "192.0.2.2"].map((address) => ({
    ...{ address, remoteAsn: 1, families: ["ipv4-unicast"], state: "established", changedAtMs: 0, isDeferring: false },
  })) as unknown as readonly [Session, Session];
  const answer = Promise.withResolvers<never[]>();
  let isReported = false;
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths" | "listAdjOut"> = {
    listGlobal: async () => [],
    sendPaths: async (paths) => void [...paths],
    listAdjOut: ({ neighbor: asked }) =>
      asked === slow.address
        ? answer.promise
        : Promise.resolve([{ ...toPath(route("203.0.113.1"), INSTANCE), neighborIp: "" }]),
  };
  const onChange = () => {
    isReported = reconciler.isOutAt(fast.address, route("203.0.113.1"));
  };
  const reconciler = new RouteReconciler({ ...OPTIONS, onChange });
  await reconciler.attach(client as SpeakerClient);
  reconciler.setSessions([fast, slow]);
  reconciler.want([route("203.0.113.1")]);
  await nextTurn();
  expect(isReported).toBe(true);
  answer.resolve([]);
});

test("what a neighbor had before its session ended and came back is not reported of the new session", async () => {
  const asked = { address: "192.0.2.1", remoteAsn: 1, families: ["ipv4-unicast"], state: "established" } as const;
  const since = (changedAtMs: number): Session => ({ ...asked, changedAtMs, isDeferring: false });
  const answers = [0, 1].map(() => Promise.withResolvers<readonly ListedName[]>());
  const [old, renewed] = answers;
  const found = [{ ...toPath(route("203.0.113.1"), INSTANCE), neighborIp: "" }];
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths" | "listAdjOut"> = {
    listGlobal: async () => [],
    sendPaths: async (paths) => void [...paths],
    listAdjOut: async () => answers.shift()?.promise ?? [],
  };
  const reported: boolean[] = [];
  const onChange = () => reported.push(reconciler.isOutAt(asked.address, route("203.0.113.1")));
  const reconciler = new RouteReconciler({ ...OPTIONS, onChange });
  await reconciler.attach(client as SpeakerClient);
  reconciler.setSessions([since(0)]);
  reconciler.want([route("203.0.113.1")]);
  await nextTurn();
  reconciler.setSessions([since(1)]);
  const settled = reconciler.settle();
  old?.resolve(found);
  await nextTurn();
  expect(reported).not.toContain(true);
  renewed?.resolve(found);
  await settled;
  expect(reported.at(-1)).toBe(true);
});

test("limits are read from the marks of routes that an earlier process left", async () => {
  const marks = [markOf("192.0.2.1")];
  const paths = ["203.0.113.1", "203.0.113.2", "203.0.113.3"].map((ip, i) => ({
    ...toPath(route(ip), INSTANCE),
    neighborIp: "",
    attributes: { ...toPath(route(ip), INSTANCE).attributes, marks: i === 0 ? [] : marks },
  }));
  let sent = 0;
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths"> = {
    listGlobal: async (family) => (family === "ipv4-unicast" ? paths : []),
    sendPaths: async (changes) => {
      sent += [...changes].length;
    },
  };
  const reconciler = new RouteReconciler(OPTIONS);
  const neighbors = [neighbor({ address: address("192.0.2.1") })];
  reconciler.setPolicies(new NeighborPolicies({ speaker: "managed", localAsn: 65001, neighbors, communitiesAt: [] }));
  reconciler.want(["203.0.113.1", "203.0.113.2", "203.0.113.3"].map(route));
  await reconciler.attach(client as SpeakerClient);
  expect(reconciler.limits()).toEqual([{ neighbor: "192.0.2.1", family: "ipv4-unicast", routes: 1 }]);
  expect(sent).toBe(0);
});

test("a neighbor that gets no changes yet gets what is new at once, and loses what is gone when it gets them", async () => {
  const neighbor = "192.0.2.1";
  const table = new Set<string>();
  /** As GoBGP 3 does it: while it defers, it sends only what resend() sends, and no withdrawal ever after. */
  const held = new Set<string>();
  let isDeferring = true;
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths" | "resend"> = {
    listGlobal: async () => [],
    sendPaths: async (paths) => {
      for (const path of paths) {
        const key = keyOfPath({ ...path, neighborIp: "" }) ?? "";
        const change = path.attributes === null ? "delete" : "add";
        table[change](key);
        if (!isDeferring) held[change](key);
      }
    },
    resend: async (to) => {
      expect(to).toBe(neighbor);
      for (const key of table) held.add(key);
    },
  };
  const reconciler = new RouteReconciler(OPTIONS);
  const [first, second] = [route("203.0.113.1"), route("203.0.113.2")];
  reconciler.want([first]);
  await reconciler.attach(client as SpeakerClient);
  expect([...held]).toEqual([]);
  // The session comes up, and the route is withdrawn in the same moment.
  reconciler.setDeferring([neighbor]);
  reconciler.resend([neighbor]);
  reconciler.want([]);
  await reconciler.settle();
  reconciler.want([second]);
  await reconciler.settle();
  expect([...held]).toEqual(["203.0.113.1/32", "203.0.113.2/32"]);
  isDeferring = false;
  reconciler.setDeferring([]);
  await reconciler.settle();
  expect([...held]).toEqual(["203.0.113.2/32"]);
});

test("a route of an earlier process is withdrawn once it is known which neighbors get no changes yet", async () => {
  let sent = 0;
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths"> = {
    listGlobal: async (family) =>
      family === "ipv4-unicast" ? [{ ...toPath(route("203.0.113.1"), INSTANCE), neighborIp: "" }] : [],
    sendPaths: async (changes) => {
      sent += [...changes].length;
    },
  };
  const reconciler = new RouteReconciler(OPTIONS);
  await reconciler.attach(client as SpeakerClient);
  expect(sent).toBe(0);
  reconciler.setDeferring([]);
  await reconciler.settle();
  expect(sent).toBe(1);
});

test("it is finished when a route that waits for the end of a deferral, not to exceed a limit, is announced", async () => {
  let sent = 0;
  const client: Pick<SpeakerClient, "listGlobal" | "sendPaths"> = {
    listGlobal: async () => [],
    sendPaths: async (changes) => {
      sent += [...changes].length;
    },
  };
  const reconciler = new RouteReconciler(OPTIONS);
  await reconciler.attach(client as SpeakerClient);
  reconciler.setLimits([{ neighbor: "192.0.2.1", family: "ipv4-unicast", routes: 1 }]);
  reconciler.setDeferring(["192.0.2.1"]);
  reconciler.want([route("203.0.113.1")]);
  const sentAtEnd: number[] = [];
  const finished = reconciler.finish().then(() => sentAtEnd.push(sent));
  await nextTurn();
  expect(sentAtEnd).toEqual([]);
  reconciler.setDeferring([]);
  await reconciler.settle();
  await finished;
  expect(sentAtEnd).toEqual([1]);
});
