/** What the service does about attacks and orders, as a real BIRD sees it: routes, rules, diverts, ladders and prefixes. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { NEXT_HOP, PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { type CapturedFrame, evenly } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const PREFIX = `${VICTIM}/32`;
const CONFIG = `
networks: [203.0.112.0/22, "2001:db8::/32"]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
`;
const LIVE = `${CONFIG}dry_run: false\n`;
setDefaultTimeout(120_000);

const scene = new PeeredScenario();

type Row = Readonly<Record<string, unknown>>;
const bansOf = async (service: ServiceProcess) => (await service.get<{ bans: Row[] }>("/api/v1/bans")).body.bans;
const attacksOf = async (service: ServiceProcess) =>
  (await service.get<{ active: Row[] }>("/api/v1/attacks")).body.active;
const ban = async (service: ServiceProcess, target = VICTIM) =>
  (await service.post("/api/v1/ban", { ip: target })).body;
const unban = (service: ServiceProcess, target = VICTIM) => service.post("/api/v1/unban", { ip: target });

test("a ban is announced once there is a session, stays over a stop, and goes with the unban, a dry run or the section", async () => {
  const communities = "[blackhole, 64500:1, soo:4200000000:7, 4200000000:1:2]";
  const bgp = await scene.peer({ keys: `communities: ${communities}, local_pref: 250` });
  await scene.bird.ask("disable floodwall");
  const first = await scene.start(LIVE + bgp);
  const community = "65535:666 64500:1 soo:4200000000:7 4200000000:1:2";
  expect(await ban(first)).toMatchObject({ state: "active", announced: false, community });
  await ban(first, "2001:db8::7");
  await scene.bird.ask("enable floodwall");
  await scene.holds(`${PREFIX} ${NEXT_HOP}`, "2001:db8::7/128 100::1");
  const others = { extended: ["(ro, 4200000000, 7)"], large: ["(4200000000, 1, 2)"] };
  const attributes = { communities: ["64500:1", "65535:666"], localPref: 250, ...others };
  expect(await scene.bird.routes()).toMatchObject([attributes, attributes]);
  await eventually(
    async () => (await bansOf(first)).every(({ announced }) => announced !== false),
    "a ban still says that it is not announced",
  );
  const { body } = await first.get<{ bgp: { neighbors: Row[] } }>("/api/v1/status");
  expect(body.bgp.neighbors).toMatchObject([{ state: "established" }]);
  await unban(first, "2001:db8::7");
  await scene.holds(`${PREFIX} ${NEXT_HOP}`);
  expect(await first.stop()).toBe(0);
  expect(await scene.held()).toEqual([`${PREFIX} ${NEXT_HOP}`]);

  const dry = await scene.start(CONFIG + bgp);
  await scene.holds();
  expect(await bansOf(dry)).toMatchObject([{ dry_run: true }, { state: "withdrawn" }]);
  expect(scene.gobgpdPid).not.toBeNull();
  // With virtual bans alone nothing is left to announce.
  await dry.stop();
  expect(scene.gobgpdPid).toBeNull();

  const again = await scene.start(LIVE + bgp);
  await scene.holds(`${PREFIX} ${NEXT_HOP}`);
  await again.stop();
  await scene.start(LIVE);
  await scene.holds();
  expect(scene.gobgpdPid).toBeNull();
});

test("rules that no neighbor takes are replaced by a blackhole, and the ban says why", async () => {
  const service = await scene.start(`${LIVE}${await scene.peer({ takesFlowspec: false })}mitigation: flowspec\n`);
  await ban(service);
  await scene.holds(`${PREFIX} ${NEXT_HOP}`);
  const fallback = expect.stringContaining("bgp announce failed: ");
  expect(await bansOf(service)).toMatchObject([{ method: "blackhole", fallback }]);
});

const START_MS = 1_700_000_000_000;
const PPS = 4000;
const hosts = (third: number) => Array.from({ length: 100 }, (_, i) => `203.0.${third}.${i + 1}`);

interface FloodFields {
  readonly from?: number;
  readonly seconds: number;
}

const ANSWER_BYTES = 400;

/** Answers of a name server to two ports of each host in turn. */
function flood(targets: readonly string[], { from = 0, seconds }: FloodFields): CapturedFrame[] {
  const frames = targets.flatMap((dst) =>
    [20_000, 20_001].map((destinationPort) => {
      const src = dst.includes(":") ? "2001:db8:ffff::9" : "198.51.100.9";
      return ethernet(
        ip({ src, dst }, udp({ sourcePort: 53, destinationPort, payload: new Uint8Array(ANSWER_BYTES) })),
      );
    }),
  );
  const all = Array.from({ length: seconds * PPS }, (_, i) => frames[i % frames.length] as Uint8Array);
  return evenly(all, { startMs: START_MS + from * 1000, stepMs: 1000 / PPS });
}

/** Something to go by when the floods are over. */
const calm = (from: number) => {
  const frame = ethernet(ip({ src: "192.0.2.7", dst: "203.0.115.9" }, udp()));
  return evenly(new Array<Uint8Array>(100).fill(frame), { startMs: START_MS + from * 1000, stepMs: 100 });
};

test("a flood's rules are in the peer's flow table while it lasts, as they are shown; those of a prefix too", async () => {
  const site = Array.from({ length: 100 }, (_, i) => `2001:db8:7:${(i + 1).toString(16)}::1`);
  const SITE = "2001:db8:7::/48";
  const lasts = { seconds: 7 };
  const packets = scene.capture(flood([VICTIM], lasts), flood(site, lasts), flood(hosts(114), lasts), calm(7));
  const service = await scene.start(
    `${LIVE}${await scene.peer()}${packets}mitigation: flowspec
protected_whitelist: [203.0.114.200]
carpet: { thresholds: { pps: 1500 }, mitigation: flowspec }
`,
  );
  const matches = [
    `dst ${PREFIX}; proto 17; sport 53; length ${28 + ANSWER_BYTES}`,
    `dst ${SITE}; next header 17; sport 53; length ${48 + ANSWER_BYTES}`,
  ];
  await scene.holds(...matches);
  expect((await scene.bird.flows()).map(({ rateBytes }) => rateBytes)).toEqual([0, 0]);
  const length = { min: 28 + ANSWER_BYTES, max: 28 + ANSWER_BYTES };
  const rule = { dst: PREFIX, proto: 17, src_port: 53, packet_length: length, action: "discard" };
  expect(await attacksOf(service)).toContainEqual(
    expect.objectContaining({ target: VICTIM, method: "flowspec", flowspec: [rule] }),
  );
  const bans = await bansOf(service);
  // A whitelisted address keeps its prefix free.
  const refused = { target: "203.0.114.0", prefix: "203.0.114.0/24", state: "rejected", reason: "whitelisted" };
  expect(bans).toContainEqual(expect.objectContaining(refused));
  expect(bans).toContainEqual(expect.objectContaining({ target: "2001:db8:7::", prefix: SITE, state: "active" }));
  await eventually(async () => (await scene.held()).length === 0, "a rule is still there", 30_000);
});

test("a prefix is blackholed, the ban follows as the flood widens, outlasts a kill, and is lifted by its first address", async () => {
  const [narrow, wide] = ["203.0.113.0/24", "203.0.112.0/23"];
  const bgp = await scene.peer();
  const carpet = "carpet: { thresholds: { pps: 1500 }, mitigation: blackhole }\n";
  const packets = scene.capture(flood(hosts(113), { seconds: 14 }), flood(hosts(112), { from: 5, seconds: 9 }));
  const first = await scene.start(LIVE + bgp + carpet + packets);
  await scene.holds(`${narrow} ${NEXT_HOP}`);
  // Until the wider one is alone there: at no moment is there none.
  const seen = new Set<string>();
  await eventually(
    async () => {
      const held = (await scene.held()).join();
      seen.add(held);
      return held === `${wide} ${NEXT_HOP}`;
    },
    `no ${wide} alone in BIRD`,
    20_000,
  );
  expect(seen).not.toContain("");
  const before = await bansOf(first);
  expect(before).toMatchObject([{ target: "203.0.112.0", prefix: wide, state: "active", method: "blackhole" }]);
  expect(await attacksOf(first)).toMatchObject([{ scope: "group", prefix: wide, ban_state: "active" }]);

  await first.stop("SIGKILL");
  expect(await scene.held()).toEqual([`${wide} ${NEXT_HOP}`]);
  // No counter shows how the attack goes on: its ban stays until it expires or is lifted.
  const second = await scene.start(LIVE + bgp + carpet);
  expect(await bansOf(second)).toMatchObject([
    { prefix: wide, started_at: before[0]?.["started_at"], state: "active" },
  ]);
  expect(await attacksOf(second)).toEqual([]);
  expect((await unban(second, "203.0.112.7")).status).toBe(404);
  const lifted = await unban(second, "203.0.112.0");
  expect(lifted).toMatchObject({ status: 200, body: { prefix: wide, state: "withdrawn", reason: "manual unban" } });
  await scene.holds();
});

const HOPS = { s1: "192.0.2.2", s2: "192.0.2.3" } as const;
type NodeName = keyof typeof HOPS;

/** Polls as an agent does until it is stopped. */
function node(name: NodeName, port: number) {
  const leaving = new AbortController();
  const { signal } = leaving;
  const sent = { bans: [] as readonly unknown[] };
  const polling = (async () => {
    let etag = '""';
    while (!signal.aborted) {
      const headers = { authorization: `Bearer ${name}`, "if-none-match": etag };
      const url = `http://127.0.0.1:${port}/api/v1/dataplane/rules?node=${name}`;
      const answer = await fetch(url, { headers, signal }).catch(() => null);
      if (answer?.status === 200) {
        sent.bans = ((await answer.json()) as { bans: unknown[] }).bans;
        etag = answer.headers.get("etag") ?? etag;
      } else await Bun.sleep(50);
    }
  })();
  const stop = () => {
    leaving.abort();
    return polling;
  };
  scene.onEnd(stop);
  return { sent, stop };
}

test("a victim goes to a node, is in every node's document, stays there over a kill, and moves without a gap when its node is lost", async () => {
  const names = ["s1", "s2"] as const;
  const tokens = names.map((name) => ({ name, token_env: `FW_${name}`, role: "agent", node: name }));
  const nodesOf = JSON.stringify(names.map((name) => ({ name, next_hop: HOPS[name] })));
  const config = `${LIVE}${await scene.peer()}mitigation: divert
scrubbing: { communities: ["64500:2"], stale_after_seconds: 3, nodes: ${nodesOf} }
`;
  const api = `tokens: ${JSON.stringify([{ name: "noc", token_env: "FW_noc", role: "operator" }, ...tokens])}`;
  const options = { api, env: { FW_noc: "noc", FW_s1: "s1", FW_s2: "s2" } };
  const service = await scene.start(config, options);
  const nodes = { s1: node("s1", service.port), s2: node("s2", service.port) };
  const alive = async () =>
    (await service.get<{ nodes: Row[] }>("/api/v1/dataplane/nodes", "noc")).body.nodes.filter((node) => node["alive"]);
  await eventually(async () => (await alive()).length === 2, "not both nodes are alive");
  const { body } = await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
  const first = body["node"] as NodeName;
  const second = first === "s1" ? "s2" : "s1";
  expect(body).toMatchObject({ method: "divert", next_hop: HOPS[first], community: "64500:2" });
  await scene.holds(`${PREFIX} ${HOPS[first]}`);
  await eventually(() => Object.values(nodes).every(({ sent }) => sent.bans.length === 1), "a node was sent no ban");
  expect(nodes.s1.sent).toEqual(nodes.s2.sent);

  await service.stop("SIGKILL");
  const next = await scene.start(config, { ...options, port: service.port });
  const only = async () => (await next.get<{ bans: Row[] }>("/api/v1/bans", "noc")).body.bans[0];
  expect(await only()).toMatchObject({ state: "active", node: first });
  const routes = new Set<number>();
  let isWatching = true;
  const watching = (async () => {
    while (isWatching) routes.add(await scene.bird.routeCount());
  })();
  await nodes[first].stop();
  await scene.holds(`${PREFIX} ${HOPS[second]}`);
  isWatching = false;
  await watching;
  expect([...routes]).toEqual([1]);
  expect(await only()).toMatchObject({ state: "active", node: second, next_hop: HOPS[second] });
  await next.post("/api/v1/unban", { ip: VICTIM }, "noc");
  await scene.holds();
  await eventually(() => nodes[second].sent.bans.length === 0, "the node was not sent the end");
});
