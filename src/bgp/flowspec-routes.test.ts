import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import {
  BgpLab,
  bgpConfig,
  blackhole,
  established,
  flow,
  INSTANCE,
  loopback,
  neighbor,
  PEER_ASN,
  SPEAKER_ASN,
  toPath,
  until,
} from "../../test/fixtures/bgp/bgp.ts";
import { communitiesOf } from "../../test/fixtures/networks.ts";
import { exactly, type Range } from "../net/range.ts";
import { instanceOf, sendable, toPaths } from "./route-path.ts";
import { RESET_CAUSE_MS } from "./route-quarantine.ts";

setDefaultTimeout(60_000);
const V4 = "203.0.113.9/32";
const V6 = "2001:db8::9/128";

const lab = new BgpLab();
afterEach(() => lab.end());

const port = (from: number, to = from): Range => ({ from, to });

test.each([V4, V6])(
  "a rule for %s carries its action, communities and local preference, is replaced by another action, and goes alone",
  async (victim) => {
    const bird = await lab.bird({ asn: SPEAKER_ASN });
    const { announcer } = lab.announcer(bgpConfig({ neighbors: [neighbor({ remoteAsn: SPEAKER_ASN })] }));
    await established(announcer);
    const attributes = { communities: communitiesOf("65001:7", "65535:666"), localPref: 250 };
    const stays = {
      ...flow(victim, { protocols: exactly(17) }),
      communities: communitiesOf("65001:8"),
      localPref: 50,
    };
    const proto = victim === V4 ? "proto" : "next header";
    const stayed = { match: `dst ${victim}; ${proto} 17`, communities: ["65001:8"], localPref: 50, rateBytes: 0 };
    const received = { match: `dst ${victim}`, communities: ["65001:7", "65535:666"], localPref: 250 };
    const common = { session: "speaker", asPath: "" };
    const rows = async () => [...(await bird.flows())].sort((x, y) => x.match.length - y.match.length);
    announcer.want([{ ...flow(victim), ...attributes }, stays]);
    await until("in BIRD", async () => (await bird.flowCount()) === 2);
    expect(await rows()).toEqual([
      { ...common, ...received, rateBytes: 0 },
      { ...common, ...stayed },
    ]);

    const limited = { ...flow(victim, { action: { kind: "rate_limit", bytesPerSecond: 125_000 } }), ...attributes };
    announcer.want([limited, stays]);
    await until("replaced", async () => (await rows())[0]?.rateBytes !== 0);
    expect(await rows()).toEqual([
      { ...common, ...received, rateBytes: 125_000 },
      { ...common, ...stayed },
    ]);
    await until("announced", () => announcer.routeState(limited).kind === "announced");
    expect(announcer.sentTo(limited).map((address) => announcer.isExternal(address))).toEqual([false]);

    announcer.want([stays]);
    await until("withdrawn", async () => (await bird.flowCount()) === 1);
    expect(await rows()).toEqual([{ ...common, ...stayed }]);
  },
);

test("rules and unicast routes of one prefix live side by side", async () => {
  const bird = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig());
  await established(announcer);
  announcer.want([flow(V4)]);
  await until("the rule", async () => (await bird.flowCount()) === 1);
  announcer.want([flow(V4), blackhole(V4)]);
  await until("the blackhole", () => bird.hasRoute(V4));
  announcer.want([blackhole(V4)]);
  await until("the rule gone", async () => (await bird.flowCount()) === 0);
  expect(await bird.prefixes()).toEqual([V4]);
  announcer.want([]);
  await until("the blackhole gone", async () => (await bird.prefixes()).length === 0);
});

test("a connection that goes away while rules are sent is one failure", async () => {
  const { announcer } = lab.announcer(bgpConfig());
  await until("connected", () => announcer.status().connected);
  await lab.withSpeaker(async (client) => {
    const routes = Array.from({ length: 1_000 }, (_, i) => flow(`198.18.${i >> 8}.${i & 255}/32`));
    const sending = client.sendPaths(
      toPaths(
        routes.map((route) => sendable(route)),
        INSTANCE,
      ),
    );
    client.close();
    expect(await sending.then(() => "sent", String)).toContain("AddPath");
  });
});

test("a rule that cannot be sent fails alone, and the session stays", async () => {
  const bird = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig());
  await established(announcer);
  const before = await bird.establishedSince("speaker");
  const wrong = flow(V4, { destinationPorts: [port(1, 2), port(4, 5), port(7, 8)] });
  announcer.want([wrong, flow("203.0.113.2/32")]);
  await until("the other in BIRD", async () => (await bird.flowCount()) === 1);
  expect(announcer.routeState(wrong)).toEqual({ kind: "failed", cause: "more than 5 values in a field" });
  expect(await bird.establishedSince("speaker")).toBeCloseTo(before, 1);
});

test("a neighbor without FlowSpec gets the unicast routes, and the rule says why it is not out", async () => {
  const bird = await lab.bird({ session: { takesFlowspec: false } });
  const { announcer } = lab.announcer(bgpConfig());
  await established(announcer);
  announcer.want([flow(V4), flow(V6), blackhole(V4)]);
  await until("the blackhole", () => bird.hasRoute(V4));
  for (const [route, family] of [
    [flow(V4), "IPv4"],
    [flow(V6), "IPv6"],
  ] as const) {
    await until("failed", () => announcer.routeState(route).kind === "failed");
    expect(announcer.routeState(route)).toEqual({
      kind: "failed",
      cause: `no established neighbor takes ${family} flowspec routes`,
    });
  }
});

test("rules follow a session that breaks and comes back", async () => {
  const bird = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig());
  const route = flow(V4, { protocols: exactly(17) });
  announcer.want([route]);
  await until("announced", () => announcer.routeState(route).kind === "announced");
  await bird.ask("disable speaker");
  await until("no session", () => announcer.routeState(route).kind === "no_session");
  announcer.want([route, flow(V6)]);
  await bird.ask("enable speaker");
  await until("both in BIRD", async () => (await bird.flowCount()) === 2);
  await until("announced again", () => announcer.routeState(route).kind === "announced");
});

test("a rule over which a neighbor resets its session twice is kept back, from later bans too, and the others return", async () => {
  const bird = await lab.bird();
  const picky = lab.pickyPeer({ host: 3, asn: PEER_ASN + 1, hates: "203.0.113.9" });
  const neighbors = [neighbor(), neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 1 })];
  const { announcer, warnings, faults } = lab.announcer(bgpConfig({ neighbors }));
  await established(announcer);
  await established(announcer, 3);
  const birdSince = await bird.establishedSince("speaker");
  const good = flow("203.0.113.1/32");
  const bad = () => flow("203.0.113.9/32", { protocols: exactly(17) });
  announcer.want([good]);
  await until("at the picky one", () => picky.hasRule("203.0.113.1"));
  const sinceMs = performance.now();
  await until("an older route", () => performance.now() - sinceMs > RESET_CAUSE_MS);

  announcer.want([good, bad()]);
  await until("in BIRD", async () => (await bird.flowCount()) === 2);
  // On a busy machine the speaker may be late to answer.
  const ofTheRule = () => warnings.filter((warning) => !warning.startsWith("bgp speaker failed"));
  await until("two warnings", () => ofTheRule().length === 2, 30_000);
  await until("gone from BIRD", async () => String(await bird.flowMatches()) === "dst 203.0.113.1/32");
  await until("the other returned", () => picky.hasRule("203.0.113.1"), 30_000);
  // On a slow machine the second session may break by itself, or a third one starts before the rule is withdrawn.
  const { resets } = picky;
  expect(resets).toBeGreaterThanOrEqual(1);
  expect(announcer.routeState(bad())).toEqual({
    kind: "failed",
    cause: "kept back: a neighbor reset its session each time that it was sent",
  });
  expect(ofTheRule()[0]).toContain("bgp session broke right after rules were announced");
  expect(ofTheRule()[1]).toContain("keeping them back");
  for (const warning of ofTheRule()) {
    expect(warning).toContain(`"neighbor":"${loopback(3)}"`);
    expect(warning).not.toContain("203.0.113.1/32");
  }
  expect(faults.filter((operation) => operation.startsWith("quarantine"))).toEqual(["quarantine"]);
  const held = () => announcer.status().neighbors.map(({ address, keptBack }) => [address, keptBack]);
  expect(held()).toEqual([
    [loopback(2), 0],
    [loopback(3), 1],
  ]);

  announcer.want([good]);
  announcer.want([good, bad(), flow("203.0.113.2/32")]);
  expect(announcer.routeState(bad()).kind).toBe("failed");
  await until("another rule", () => picky.hasRule("203.0.113.2"));
  await until("without the bad one", async () => (await bird.flowCount()) === 2);
  expect(picky.resets).toBe(resets);
  expect(await bird.establishedSince("speaker")).toBeCloseTo(birdSince, 1);

  await announcer.stop({ withdraw: false });
  const next = lab.announcer(bgpConfig({ neighbors })).announcer;
  next.want([good, bad(), flow("203.0.113.4/32")]);
  await until("the next service's", () => picky.hasRule("203.0.113.4"));
  expect(next.routeState(bad()).kind).toBe("failed");
  expect(picky.resets).toBe(resets);

  next.reload(bgpConfig());
  await until("in BIRD, once the neighbor is gone", async () => (await bird.flowCount()) === 3);
});

test("a peer without graceful restart that ends its own routes at once has all of ours", async () => {
  const peer = lab.pickyPeer({ host: 2, asn: PEER_ASN, hates: "203.0.113.9", endsRoutes: true });
  const { announcer } = lab.announcer(bgpConfig());
  announcer.want([flow("203.0.113.1/32")]);
  await established(announcer);
  await until("its first rule", () => peer.hasRule("203.0.113.1"), 10_000);
});

test("a session that a reload ends right after a rule was announced makes no rule suspicious", async () => {
  const bird = await lab.bird();
  const { announcer, warnings } = lab.announcer(bgpConfig());
  await established(announcer);
  const sinceMs = performance.now();
  await until("a session that is not brief", () => performance.now() - sinceMs > RESET_CAUSE_MS);
  announcer.want([flow(V4)]);
  announcer.reload(bgpConfig({ neighbors: [neighbor({ multihopTtl: 5 })] }));
  await until("ended", async () => !(await bird.isEstablished("speaker")));
  await until("another session", () => bird.isEstablished("speaker"));
  await until("announced", () => announcer.routeState(flow(V4)).kind === "announced");
  // A busy machine may keep the speaker from answering meanwhile.
  expect(warnings.filter((warning) => !warning.startsWith("bgp speaker failed"))).toEqual([]);
});

test("leaves a rule that another program added to the speaker, also one of the same match #bgp-routes-of-others", async () => {
  const { announcer } = lab.announcer(bgpConfig());
  await until("connected", () => announcer.status().connected);
  await lab.withSpeaker(async (client) => {
    for (const text of [V4, "203.0.113.7/32"]) {
      await client.sendPaths([{ ...toPath(flow(text), INSTANCE), identifier: 0 }]);
    }
    announcer.want([flow(V4)]);
    await until("ours beside it", async () => (await client.listGlobal("ipv4-flowspec")).length === 3);
    announcer.want([]);
    await until("ours gone", async () => (await client.listGlobal("ipv4-flowspec")).length === 2);
    expect((await client.listGlobal("ipv4-flowspec")).every((path) => instanceOf(path) === null)).toBe(true);
    const foreign = (await announcer.foreignRoutes())?.routes.filter(({ family }) => family === "ipv4-flowspec");
    expect(foreign?.map(({ text, rateBytes }) => [text, rateBytes])).toEqual(
      expect.arrayContaining([[expect.stringContaining("dst 203.0.113.7/32"), 0]]),
    );
  });
});
