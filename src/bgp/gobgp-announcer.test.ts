import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  BgpLab,
  bgpConfig,
  blackhole,
  established,
  loopback,
  neighbor,
  SPEAKER_ASN,
  until,
} from "../../test/fixtures/bgp/bgp.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { communitiesOf } from "../../test/fixtures/networks.ts";
import { SimulatedSpeaker } from "../../test/simulation/simulated-speaker.ts";
import { nextTurn } from "../system/timers.ts";

setDefaultTimeout(60_000);

const lab = new BgpLab();
afterEach(() => lab.end());

test("a divert goes to its own next hop, and a blackhole of the prefix takes its place without a gap", async () => {
  const bird = await lab.bird({ asn: SPEAKER_ASN });
  const { announcer } = lab.announcer(bgpConfig({ neighbors: [neighbor({ remoteAsn: SPEAKER_ASN })] }));
  await established(announcer);
  const diverts = [
    blackhole("203.0.113.9/32", {
      nextHop: address("198.51.100.77"),
      communities: communitiesOf("65001:100"),
      localPref: 200,
    }),
    blackhole("2001:db8::9/128", {
      nextHop: address("2001:db8:ff::7"),
      communities: communitiesOf("65001:100"),
      localPref: 200,
    }),
  ];
  announcer.want(diverts);
  await until("in BIRD", async () => (await bird.routes()).length === 2);
  expect((await bird.routes()).map(({ nextHop, communities, localPref }) => [nextHop, communities, localPref])).toEqual(
    [
      ["198.51.100.77", ["65001:100"], 200],
      ["2001:db8:ff::7", ["65001:100"], 200],
    ],
  );

  announcer.want([blackhole("203.0.113.9/32")]);
  const seen = new Set<number>();
  await until("replaced", async () => {
    const routes = await bird.routes();
    seen.add(routes.filter(({ prefix }) => prefix === "203.0.113.9/32").length);
    return routes.length === 1 && routes[0]?.nextHop === "192.0.2.1";
  });
  expect([...seen]).toEqual([1]);
  expect((await bird.routes())[0]?.communities).toEqual(["65535:666"]);

  announcer.want(diverts.slice(1));
  await until("the other divert alone", async () => String(await bird.prefixes()) === "2001:db8::9/128");
  const [v6] = await bird.routes();
  expect([v6?.nextHop, v6?.communities, v6?.localPref]).toEqual(["2001:db8:ff::7", ["65001:100"], 200]);
  announcer.want([]);
  await until("none", async () => (await bird.prefixes()).length === 0);
});

test("without a session a route says so, and is announced when one comes up", async () => {
  const { announcer } = lab.announcer(bgpConfig());
  const route = blackhole("203.0.113.1/32");
  announcer.want([route]);
  await until("no session", () => announcer.routeState(route).kind === "no_session");

  let calls = 0;
  announcer.onChange(() => calls++);
  const bird = await lab.bird();
  await until("announced", () => announcer.routeState(route).kind === "announced");
  expect(await bird.prefixes()).toEqual(["203.0.113.1/32"]);
  expect(calls).toBeGreaterThan(0);

  await bird.ask("disable speaker");
  await until("no session again", () => announcer.routeState(route).kind === "no_session");
  expect(announcer.status().neighbors.map((n) => [n.state === "established", n.advertised])).toEqual([[false, 0]]);
});

test("a route of a family that no neighbor takes is not called announced", async () => {
  const bird = await lab.bird({ session: { families: [4] } });
  const { announcer } = lab.announcer(bgpConfig());
  await established(announcer);
  const v6 = blackhole("2001:db8::1/128");
  announcer.want([v6, blackhole("203.0.113.1/32")]);
  await until("failed", () => announcer.routeState(v6).kind === "failed");
  expect(announcer.routeState(v6)).toEqual({
    kind: "failed",
    cause: "no established neighbor takes IPv6 unicast routes",
  });
  await until("the other in BIRD", () => bird.hasRoute("203.0.113.1/32"));
  expect([announcer.takes("divert", 6), announcer.takes("blackhole", 4)]).toEqual([false, true]);
});

test("a route that cannot be sent fails alone", async () => {
  const bird = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig());
  await established(announcer);
  const wrong = blackhole("203.0.113.1/32", { localPref: -1 });
  announcer.want([wrong, blackhole("203.0.113.2/32")]);
  await until("the other in BIRD", () => bird.hasRoute("203.0.113.2/32"));
  expect(announcer.routeState(wrong)).toEqual({ kind: "failed", cause: "invalid local_pref -1" });
});

test("a reload does not change who runs the speaker", () => {
  const { announcer } = lab.announcer(bgpConfig());
  expect(() => announcer.reload(bgpConfig({ speaker: "external", grpc: "/x" }))).toThrow("bug");
});

test("the neighbors of an external speaker are not known before it answers, those of a managed one are", () => {
  const external = lab.announcer(bgpConfig({ speaker: "external", grpc: "/x" })).announcer;
  expect([external.knowsNeighbors, lab.announcer(bgpConfig()).announcer.knowsNeighbors]).toEqual([false, true]);
});

test("looking at the neighbors again leaves them as they are", async () => {
  const bird = await lab.bird({ asn: SPEAKER_ASN, session: { password: "one" } });
  const ibgp = neighbor({ remoteAsn: SPEAKER_ASN, passwordEnv: "PEER_PASSWORD" });
  const direct = neighbor({ address: loopback(3), multihopTtl: 0 });
  const { announcer } = lab.announcer(bgpConfig({ neighbors: [ibgp, direct] }), {
    environment: { read: () => "one" },
    times: { pollMs: 20, checkMs: 20, retryMinMs: 20, retryMaxMs: 100, deadlineMs: 1_000, leaseMs: 30_000 },
  });
  await established(announcer);
  const before = await bird.establishedSince("speaker");
  const addedPeers = () => readFileSync(join(lab.stateDir, "gobgpd/gobgpd.log"), "utf8").split("Add a peer").length;
  const added = addedPeers();
  const seenMs = performance.now();
  await until("many looks", () => performance.now() - seenMs > 500);
  expect(addedPeers()).toBe(added);
  expect(await bird.establishedSince("speaker")).toBeCloseTo(before, 1);
});

test("a neighbor whose password is not set is named and the others are set", async () => {
  const bird = await lab.bird();
  const locked = neighbor({ address: loopback(3), passwordEnv: "ABSENT" });
  const { announcer, warnings } = lab.announcer(bgpConfig({ neighbors: [locked, neighbor()] }));
  announcer.want([blackhole("203.0.113.1/32")]);
  await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
  expect(announcer.status().fault).toBe(`neighbor ${loopback(3)}: environment variable ABSENT is not set`);
  // On a busy machine there may be others, from a slow speaker.
  expect(warnings.filter((warning) => warning.startsWith("bgp neighbors could not be set")).length).toBe(1);
});

test("listeners are called once for the answers of all neighbors in one turn", async () => {
  const clock = new ManualClock();
  const speaker = new SimulatedSpeaker({
    wallMs: () => clock.wallMs(),
    deadline: () => Promise.reject(new Error("it always answers")),
    onPath: () => {},
  });
  const { announcer } = lab.announcer(bgpConfig(), {
    ...{ clock, timers: new ManualTimers(clock), speaker: speaker.forProcess(clock) },
  });
  await nextTurn();
  const route = blackhole("203.0.113.9/32");
  const outAt: number[] = [];
  announcer.onChange(() => outAt.push(announcer.sentTo(route).length));
  announcer.want([route]);
  await nextTurn();
  expect(outAt).toEqual([2]);
});

test("a stop waits for the end of a deferral, and withdraws what was withdrawn during it", async () => {
  const clock = new ManualClock();
  const speaker = new SimulatedSpeaker({
    wallMs: () => clock.wallMs(),
    deadline: () => Promise.reject(new Error("it always answers")),
    onPath: () => {},
    deferrals: { nowMs: () => clock.monotonicMs(), drawMs: () => 700 },
  });
  const timers = new ManualTimers(clock);
  const { announcer } = lab.announcer(bgpConfig(), { clock, timers, speaker: speaker.forProcess(clock) });
  announcer.want([blackhole("203.0.113.9/32")]);
  await nextTurn();
  expect(speaker.isOut("203.0.113.9/32")).toBe(true);
  announcer.want([]);
  let isStopped = false;
  const stopped = announcer.stop({ withdraw: false }).then(() => {
    isStopped = true;
  });
  for (; !isStopped && clock.monotonicMs() < 10_000; clock.advance(100)) await nextTurn();
  await stopped;
  expect([...speaker.routes]).toEqual([]);
  expect(speaker.lostWithdrawal()).toBeNull();
  // It does not wait for longer than it must.
  expect(clock.monotonicMs()).toBeLessThan(1000);
});
