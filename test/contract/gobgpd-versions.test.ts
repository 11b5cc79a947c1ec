/** What the service needs of gobgpd, from each version that operators run; of this machine's where no other can be had. */

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { connectGobgp } from "../../src/bgp/gobgp/gobgp-client.ts";
import { DEFAULT_TIMES } from "../../src/bgp/gobgp-announcer.ts";
import { RESET_CAUSE_MS } from "../../src/bgp/route-quarantine.ts";
import { findGobgpd } from "../../src/bgp/speaker/gobgpd-process.ts";
import { SOCKET_FROM_RUN } from "../../src/bgp/speaker/speaker-directory.ts";
import { exactly } from "../../src/net/range.ts";
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
  SPEAKER_LISTENS,
  type TestAnnouncer,
  until,
} from "../fixtures/bgp/bgp.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";
import { OperatorGobgpd } from "../fixtures/bgp/operator-gobgpd.ts";
import { address } from "../fixtures/host-rows.ts";
import { communitiesOf, prefix } from "../fixtures/networks.ts";

const DEADLINE_MS = 60_000;
/** Enough for a speaker on a busy machine: where none is missed, each fault is of the speaker. */
const TIMES = { ...DEFAULT_TIMES, pollMs: 200, deadlineMs: 20_000 };
const V4 = "203.0.113.9/32";
const V6 = "2001:db8::9/128";
const port = (from: number, to = from) => ({ from, to });

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

const lab = new BgpLab();
afterEach(() => lab.end());

/** A speaker whose session with a BIRD is up. */
async function session(birdOptions: Parameters<BgpLab["bird"]>[0] = {}, config = bgpConfig()) {
  const bird = await lab.bird(birdOptions);
  const speaker = lab.announcer(config, { times: TIMES });
  await established(speaker.announcer);
  return { bird, speaker, ...speaker };
}

function announced({ announcer }: TestAnnouncer, ...routes: readonly Parameters<typeof announcer.routeState>[0][]) {
  return until("announced", () => routes.every((route) => announcer.routeState(route).kind === "announced"));
}

describe.each(versions.all)("gobgpd $title", ({ gobgpd, major }) => {
  /** With a lab of this version, where there is one. */
  const contract = (name: string, body: () => Promise<void>) =>
    test.skipIf(gobgpd === null)(
      name,
      () => {
        lab.gobgpd = gobgpd ?? "";
        return body();
      },
      DEADLINE_MS,
    );

  contract("announces, replaces and withdraws routes with all their attributes", async () => {
    const config = bgpConfig({ neighbors: [neighbor({ remoteAsn: SPEAKER_ASN })] });
    const { bird, speaker, announcer } = await session({ asn: SPEAKER_ASN }, config);
    expect(announcer.status().gobgpVersion as number).toBe(major ?? 0);
    const v4 = blackhole(V4, { communities: communitiesOf("65535:666", "65001:1"), localPref: 250 });
    const v6 = blackhole(V6, { nextHop: address("2001:db8:ff::7"), localPref: 260 });
    announcer.want([v4, v6]);
    await announced(speaker, v4, v6);
    const common = { session: "speaker", asPath: "" };
    const communities = ["65001:1", "65535:666"];
    const inBird4 = { ...common, prefix: V4, nextHop: "192.0.2.1", communities, localPref: 250 };
    const inBird6 = { ...common, prefix: V6, nextHop: "2001:db8:ff::7", communities: ["65535:666"], localPref: 260 };
    await until("both in BIRD", async () => (await bird.routes()).length === 2);
    expect(await bird.routes()).toEqual([inBird4, inBird6]);
    expect(speaker.latenciesMs).toHaveLength(2);

    const changed = blackhole(V4, { communities: [], localPref: 300 });
    announcer.want([changed, v6]);
    await announced(speaker, changed);
    await until("replaced", async () => (await bird.routes())[0]?.localPref === 300);
    expect((await bird.routes())[0]).toEqual({ ...inBird4, communities: [], localPref: 300 });
    announcer.want([v6]);
    await until("one withdrawn", async () => String(await bird.prefixes()) === V6);
    await until("known", () => announcer.status().neighbors[0]?.advertised === 1);
    announcer.want([]);
    await until("both withdrawn", async () => (await bird.prefixes()).length === 0);
  });

  contract("announces rules with every component and rate, and withdraws each alone", async () => {
    const { bird, speaker, announcer } = await session();
    const limited = { kind: "rate_limit", bytesPerSecond: 125_000 } as const;
    const tcp = {
      source: prefix("198.51.100.0/24"),
      protocols: exactly(6),
      tcpFlags: { set: 0x02, unset: 0x10 },
      fragment: true,
    };
    const tcpPorts = { destinationPorts: [port(80), port(443), port(8000, 8010)], sourcePorts: [port(53)] };
    const udp = {
      source: prefix("2001:db8:1::/48"),
      protocols: exactly(17),
      sourcePorts: [port(1024, 65_535)],
      fragment: false,
    };
    const inBird = [
      `dst ${V4}; src 198.51.100.0/24; proto 6; dport 80,443,8000..8010; sport 53; tcp flags 0x2/0x2 && 0x0/0x10; length 40..60; fragment !0x0/0x6`,
      `dst ${V6}; src 2001:db8:1::/48; next header 17; sport >= 1024; length 1500; fragment 0x0/0x6`,
    ] as const;
    const rules = new Map([
      [inBird[0], flow(V4, { ...tcp, ...tcpPorts, packetLengths: [{ from: 40, to: 60 }] })],
      ["dst 203.0.113.0/24", flow("203.0.113.0/24", { action: limited })],
      [inBird[1], flow(V6, { ...udp, packetLengths: [{ from: 1500, to: 1500 }] })],
      [`dst ${V6}`, flow(V6, { action: limited })],
    ]);
    announcer.want([...rules.values()]);
    await announced(speaker, ...rules.values());
    await until("in BIRD", async () => (await bird.flowCount()) === rules.size);
    expect(await bird.flowMatches()).toEqual([...rules.keys()].sort());
    const rates = new Map((await bird.flows()).map(({ match, rateBytes }) => [match, rateBytes]));
    for (const [match, { rule }] of rules) expect(rates.get(match)).toBe(rule.action === limited ? 125_000 : 0);
    for (const match of [...rules.keys()]) {
      rules.delete(match);
      announcer.want([...rules.values()]);
      await until("withdrawn", async () => (await bird.flowCount()) === rules.size);
      expect(await bird.flowMatches()).toEqual([...rules.keys()].sort());
    }
  });

  contract("takes 5,000 routes and 1,000 rules at once, and gives all of them back", async () => {
    const { bird, speaker, announcer } = await session();
    const routes = [
      ...Array.from({ length: 5_000 }, (_, i) => blackhole(`198.18.${i >> 8}.${i & 255}/32`)),
      ...Array.from({ length: 1_000 }, (_, i) => {
        const sourcePorts = [port(53), port(1_000 + i, 2_000 + i)];
        return flow(`198.19.${i >> 8}.${i & 255}/32`, { protocols: exactly(17), sourcePorts });
      }),
    ];
    announcer.want(routes);
    await announced(speaker, ...routes);
    const count = async () => [await bird.routeCount(), await bird.flowCount()];
    await until("all in BIRD", async () => String(await count()) === "5000,1000");
    expect(announcer.status().neighbors[0]?.advertised).toBe(6_000);
    expect(speaker.faults).toEqual([]);
    announcer.want([]);
    await until("none in BIRD", async () => String(await count()) === "0,0");
  });

  contract("killed, is started again over its old socket with all routes, which the peer kept meanwhile", async () => {
    const { bird, speaker, announcer } = await session();
    const routes = [blackhole(V4), blackhole(V6), flow(V4), flow(V6)];
    announcer.want(routes);
    const areIn = async () => (await bird.prefixes()).length === 2 && (await bird.flowCount()) === 2;
    await until("in BIRD", areIn);
    const killed = lab.gobgpdPid();
    process.kill(killed, "SIGKILL");
    await until("down", () => announcer.routeState(blackhole(V4)).kind === "speaker_down");
    await until("kept without a session", async () => !(await bird.isEstablished("speaker")) && (await areIn()));
    await until("the session is back", () => bird.isEstablished("speaker"));
    await announced(speaker, ...routes);
    await until("in BIRD again", areIn);
    expect(lab.gobgpdPid()).not.toBe(killed);
    expect([speaker.warnings.length, speaker.faults.length]).toEqual([1, 1]);
    const shown = async () => (await bird.ask("show protocols all speaker")).map((line) => line.trim());
    await until("none stale", async () => !(await shown()).join().includes("Neighbor graceful restart active"));
    expect(await shown()).toContain("AF preserved: ipv4 ipv6 flow4 flow6");
    // Of each of the four channels the number of withdrawals, also of BIRD's own when a session starts again.
    const withdrawals = (await shown()).filter((line) => line.startsWith("Import withdraws:"));
    expect(withdrawals.map((line) => line.split(/ +/).at(-1))).toEqual(["0", "0", "0", "0"]);
    expect(await areIn()).toBe(true);
  });

  contract("is adopted by the next service, with its session and its routes", async () => {
    const { bird, announcer: first } = await session();
    first.want([blackhole(V4), flow(V4), flow(V6)]);
    await until("in BIRD", async () => (await bird.hasRoute(V4)) && (await bird.flowCount()) === 2);
    const [pid, since] = [lab.gobgpdPid(), await bird.establishedSince("speaker")];
    await first.stop({ withdraw: false });

    const second = lab.announcer(bgpConfig(), { times: TIMES });
    second.announcer.want([blackhole(V6), flow(V6)]);
    await until("settled", async () => String(await bird.prefixes()) === V6);
    await until("rules settled", async () => String(await bird.flowMatches()) === `dst ${V6}`);
    await announced(second, blackhole(V6), flow(V6));
    expect(lab.gobgpdPid()).toBe(pid);
    expect(await bird.establishedSince("speaker")).toBeCloseTo(since, 1);
    await second.announcer.stop({ withdraw: true });
    expect(findGobgpd(lab.runDirectory())).toBeNull();
    await until("withdrawn", async () => (await bird.prefixes()).length + (await bird.flowCount()) === 0);
    // In order, after the withdrawals: not by the end of the process.
    expect((await bird.ask("show protocols all speaker")).join("\n")).toMatch(/Received: Administrative shutdown/i);
  });

  contract(
    "whose neighbors a service disabled and was then killed, has their sessions again with the next",
    async () => {
      const { bird, announcer: first } = await session();
      await first.stop({ withdraw: false });
      const path = join(lab.runDirectory(), SOCKET_FROM_RUN);
      const client = await connectGobgp({ target: { kind: "unix", path }, deadlineMs: TIMES.deadlineMs });
      for (const { address: peer } of await client.listPeers()) await client.disablePeer(peer);
      client.close();
      await until("down", async () => !(await bird.isEstablished("speaker")));
      const second = lab.announcer(bgpConfig(), { times: TIMES });
      await established(second.announcer);
      second.announcer.want([blackhole(V4)]);
      await until("in BIRD", () => bird.hasRoute(V4));
    },
  );

  contract(
    "takes a neighbor that is added, changed and removed, with a password, and leaves the others alone",
    async () => {
      const password = "only-for-this-test";
      const kept = await lab.bird({ session: { password } });
      const locked = neighbor({ passwordEnv: "PASSWORD" });
      const speaker = lab.announcer(bgpConfig({ neighbors: [locked] }), {
        environment: { read: (name) => (name === "PASSWORD" ? password : null) },
        times: { ...TIMES, pollMs: 50, checkMs: 50 },
      });
      const { announcer } = speaker;
      await established(announcer);
      announcer.want([blackhole(V4)]);
      await until("in BIRD", () => kept.hasRoute(V4));
      const since = await kept.establishedSince("speaker");
      const added = await lab.bird({ host: 3, asn: PEER_ASN + 1 });
      const third = neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 9 });
      announcer.reload(bgpConfig({ neighbors: [locked, third] }));
      const isKnown = () =>
        announcer.status().neighbors.some((row) => row.remoteAsn === PEER_ASN + 9 && row.state !== "unknown");
      await until("added", isKnown);
      announcer.reload(bgpConfig({ neighbors: [locked, { ...third, remoteAsn: PEER_ASN + 1 }] }));
      await established(announcer, 3);
      await until("in the added BIRD", () => added.hasRoute(V4));
      await until("known to be out", () => announcer.status().neighbors.every(({ advertised }) => advertised === 1));
      announcer.reload(bgpConfig({ neighbors: [locked] }));
      await until("removed", () => announcer.status().neighbors.length === 1);
      expect(await kept.establishedSince("speaker")).toBeCloseTo(since, 1);
      const [log = "", settings] = ["gobgpd.log", "gobgpd.toml"].map((file) =>
        readFileSync(join(lab.stateDir, "gobgpd", file), "utf8"),
      );
      expect([log, settings, ...speaker.warnings].join()).not.toContain(password);
      // However often they are looked at, as they are every 50 ms here.
      expect(log.split("Add a peer").length - 1).toBe(3);
      expect(speaker.faults).toEqual([]);
    },
  );

  contract("passes nothing of one neighbor on to another, and says what a neighbor does not take", async () => {
    const announcesFlows = ["flow4 { dst 198.51.100.1/32; }"];
    const source = await lab.bird({ announces: ["198.51.100.0/24"], announcesFlows });
    const other = await lab.bird({ host: 3, asn: PEER_ASN + 1, session: { families: [4] } });
    const absent = neighbor({ address: loopback(4) });
    const neighbors = [neighbor(), neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 1 }), absent];
    const { announcer } = lab.announcer(bgpConfig({ neighbors }), { times: TIMES });
    await established(announcer, 2);
    await established(announcer, 3);
    await until("the neighbor's route", () => lab.received(loopback(2), "ipv4") === 1);
    await until("the neighbor's rule", () => lab.received(loopback(2), "ipv4-flowspec") === 1);
    announcer.want([blackhole(V4), flow(V4), blackhole(V6), flow(V6)]);
    const advertised = () => announcer.status().neighbors.map((row) => row.advertised);
    await until("known to be out", () => String(advertised()) === "4,2,0");
    const four = ["ipv4-unicast", "ipv6-unicast", "ipv4-flowspec", "ipv6-flowspec"];
    const families = announcer.status().neighbors.map((row) => row.families.join());
    expect(families).toEqual([four.join(), "ipv4-unicast,ipv4-flowspec", ""]);
    const unreachable = { neighbor: loopback(4), cause: "no session" };
    expect(announcer.missingAt(flow(V4))).toEqual([unreachable]);
    expect(announcer.missingAt(flow(V6))).toEqual([
      { neighbor: loopback(3), cause: "takes no IPv6 flowspec routes" },
      unreachable,
    ]);
    for (const [bird, prefixes, rules] of [
      [source, [V6, V4], [`dst ${V6}`, `dst ${V4}`]],
      [other, [V4], [`dst ${V4}`]],
    ] as const) {
      await until("the own rules", async () => (await bird.flowCount()) === rules.length);
      await until("the own routes", async () => (await bird.prefixes()).length === prefixes.length);
      expect(await bird.prefixes()).toEqual([...prefixes]);
      expect(await bird.flowMatches()).toEqual([...rules].sort());
    }
  });

  contract("shows a neighbor that resets its session over a rule, which is kept back", async () => {
    const bird = await lab.bird();
    const picky = lab.pickyPeer({ host: 3, asn: PEER_ASN + 1, hates: "203.0.113.9" });
    const neighbors = [neighbor(), neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 1 })];
    const { announcer, warnings, faults } = lab.announcer(bgpConfig({ neighbors }), { times: TIMES });
    await established(announcer, 2);
    await established(announcer, 3);
    const good = flow("203.0.113.1/32");
    announcer.want([good]);
    await until("at the picky one", () => picky.hasRule("203.0.113.1"));
    const sinceMs = performance.now();
    await until("an older rule", () => performance.now() - sinceMs > RESET_CAUSE_MS);
    announcer.want([good, flow(V4)]);
    await until("two warnings", () => warnings.length === 2);
    await until("gone from BIRD", async () => String(await bird.flowMatches()) === "dst 203.0.113.1/32");
    await until("the other returned", () => picky.hasRule("203.0.113.1"));
    expect(announcer.routeState(flow(V4)).kind).toBe("failed");
    expect(faults).toEqual(["quarantine"]);
  });

  contract("says why it does not start, and starts once it can", async () => {
    const server = Bun.listen({ hostname: loopback(1), port: SPEAKER_LISTENS.port, socket: { data() {} } });
    lab.onEnd(async () => server.stop(true));
    const { announcer } = lab.announcer(bgpConfig(), { times: TIMES });
    const fault = () => announcer.status().fault ?? "";
    await until("a fault", () => fault().startsWith("gobgpd does not start: "));
    expect(fault()).toContain(
      `address already in use; see who holds the port with \`ss -ltnp 'sport = :${SPEAKER_LISTENS.port}'\``,
    );
    server.stop(true);
    await until("connected", () => announcer.status().connected);
    expect(announcer.status().fault).toBeNull();
  });

  contract("listens for BGP and nothing else", async () => {
    const { announcer } = lab.announcer(bgpConfig(), { times: TIMES });
    await until("connected", () => announcer.status().connected);
    expect(listeningPorts(lab.gobgpdPid())).toEqual([SPEAKER_LISTENS.port]);
    const quiet = lab.announcer(bgpConfig({ listen: null }), { stateDir: join(lab.stateDir, "quiet"), times: TIMES });
    await until("connected", () => quiet.announcer.status().connected);
    const pid = findGobgpd(join(lab.stateDir, "quiet/gobgpd/run"));
    expect(listeningPorts(pid ?? 0)).toEqual([]);
  });

  contract("run by another owner, keeps what is not ours, and gets our routes again when it lost them", async () => {
    const operator = await OperatorGobgpd.start(lab);
    operator.addRoute("198.51.100.1/32");
    operator.addRoute(V4);
    const bird = await lab.bird();
    const config = bgpConfig({ speaker: "external", grpc: operator.socket, neighbors: [] });
    const { announcer } = lab.announcer(config, { times: TIMES });
    announcer.want([blackhole(V4)]);
    await until("ours is there", async () => (await operator.routes()).length === 3);
    expect(await operator.routes()).toEqual(["198.51.100.1/32", V4, `${V4} of ${INSTANCE}`]);
    const sent = () => announcer.status().neighbors.map((n) => `${n.address} ${n.state} ${n.advertised}`);
    await until("known to be out", () => String(sent()) === `${loopback(2)} established 1`);
    announcer.want([]);
    await until("ours is gone", async () => String(await operator.routes()) === `198.51.100.1/32,${V4}`);
    announcer.want([blackhole("203.0.113.1/32")]);
    const all = `198.51.100.1/32,203.0.113.1/32,${V4}`;
    await until("ours in BIRD beside the others", async () => String(await bird.prefixes()) === all);

    await operator.kill();
    await until("down", () => announcer.routeState(blackhole("203.0.113.1/32")).kind === "speaker_down");
    await operator.start();
    await until("ours is there again", async () => String(await operator.routes()) === `203.0.113.1/32 of ${INSTANCE}`);
    await until("in BIRD again", async () => String(await bird.prefixes()) === "203.0.113.1/32");
  });
});

/** TCP ports on which a process listens. */
function listeningPorts(pid: number): readonly number[] {
  const files = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed since.
      return [];
    }
  });
  const rows = ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n").slice(1),
  );
  return rows.flatMap((row) => {
    const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
    if (state !== "0A" || !files.includes(`socket:[${inode}]`)) return [];
    return Number.parseInt(local.split(":")[1] ?? "", 16);
  });
}
