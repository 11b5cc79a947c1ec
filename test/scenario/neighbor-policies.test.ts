/** Bans as neighbors with different policies hold them: real BIRDs behind a gobgpd that the service manages. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, freePort, type ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;
const NAMES = ["all", "ports", "ten", "hole"] as const;
type Name = (typeof NAMES)[number];
const HOLE = "(4200000000, 666, 0)";
const POLICIES = `policies:
    - { name: ports, methods: [flowspec], flowspec: { match: [protocol, source_port, destination_port], lists: false } }
    - { name: ten, methods: [flowspec], flowspec: { rules: 10, communities: [] } }
    - name: hole
      families: [ipv4-unicast, ipv6-unicast]
      methods: [blackhole]
      blackhole: { communities: ["4200000000:666:0"], next_hop: 192.0.2.66 }
`;
const BASE = `
networks: [203.0.112.0/22]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1, ttl_seconds: 3600 }
dry_run: false
`;
setDefaultTimeout(120_000);

const scene = new PeeredScenario();
type Birds = Readonly<Record<Name, Bird>>;
type Held = Readonly<Record<Name, readonly string[]>>;
type Row = Readonly<Record<string, unknown>>;

/** A BIRD of each name, and the section `bgp` for them. `keys`: more of a neighbor's, by name. */
async function peered(): Promise<{ birds: Birds; bgp: (keys?: Partial<Record<Name, string>>) => string }> {
  const port = await freePort();
  const sessions = [{ name: "floodwall", address: loopback(1), asn: ASN, port }];
  const started = NAMES.map(async (name, i) => {
    const bird = await startBird({ address: loopback(i + 2), port, asn: ASN, sessions });
    scene.onEnd(() => bird.stop());
    return [name, bird] as const;
  });
  const birds = Object.fromEntries(await Promise.all(started)) as Birds;
  scene.onEnd(() => {
    if (scene.gobgpdPid !== null) process.kill(scene.gobgpdPid, "SIGKILL");
  });
  const bgp = (keys: Partial<Record<Name, string>> = {}) => {
    const neighbors = NAMES.map((name, i) => {
      const policy = name === "all" ? "" : `, policy: ${name}`;
      const at = `address: ${loopback(i + 2)}, remote_asn: ${ASN}, port: ${port}, multihop_ttl: 4`;
      return `    - { ${at}, name: ${name}${policy}${keys[name] ?? ""} }\n`;
    });
    const own = `  local_asn: ${ASN}\n  router_id: ${loopback(1)}\n  listen: "${loopback(1)}:${port}"\n  next_hop: 192.0.2.1\n`;
    return `bgp:\n${own}  ${POLICIES}  neighbors:\n${neighbors.join("")}`;
  };
  return { birds, bgp };
}

/** Matches of rules, and routes as `203.0.113.7/32 192.0.2.1 COMMUNITIES`. */
async function heldBy(bird: Bird): Promise<readonly string[]> {
  const routes = (await bird.routes()).map(({ prefix, nextHop, communities, large = [] }) =>
    [prefix, nextHop, ...communities, ...large].join(" "),
  );
  return [...routes, ...(await bird.flowMatches())].sort();
}

/** Each holds exactly this. */
async function holds(birds: Birds, expected: Held): Promise<void> {
  let held: Partial<Held> = {};
  const isSo = async () => {
    held = Object.fromEntries(await Promise.all(NAMES.map(async (name) => [name, await heldBy(birds[name])])));
    return Bun.deepEquals(held, Object.fromEntries(NAMES.map((name) => [name, [...expected[name]].sort()])));
  };
  await eventually(isSo, () => `held is ${JSON.stringify(held)} and not ${JSON.stringify(expected)}`, 30_000);
}

const bansOf = async (service: ServiceProcess) => (await service.get<{ bans: Row[] }>("/api/v1/bans")).body.bans;
const victim = (i: number) => `203.0.113.${i}`;
const rule = (i: number) => `dst ${victim(i)}/32`;
const rules = (...numbers: readonly number[]) => numbers.map(rule);
const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

test("each holds what its policy says through bans, room that is full, a killed speaker, a killed service and a dry run", async () => {
  const { birds, bgp } = await peered();
  const config = (keys?: Partial<Record<Name, string>>) => `${BASE}${bgp(keys)}mitigation: flowspec\n`;
  const first = await scene.start(config());
  for (const i of upTo(12)) expect((await first.post("/api/v1/ban", { ip: victim(i) })).status).toBe(200);
  const all = rules(...upTo(12));
  const ten = (await eventuallyTen(birds.ten)).filter((match) => all.includes(match));
  expect(ten).toHaveLength(10);
  await holds(birds, { all, ports: all, ten, hole: [] });
  expect((await birds.all.flows()).map(({ communities }) => communities.join())).toEqual(all.map(() => "65535:65281"));
  expect((await birds.ten.flows()).map(({ communities }) => communities.join())).toEqual(ten.map(() => ""));
  const missing = [{ neighbor: loopback(4), cause: "its policy has room for 10 rules" }];
  const kept = [{ neighbor: loopback(5), cause: "its policy hole takes no flowspec routes" }];
  const isReported = async () =>
    (await bansOf(first)).filter(({ missing_at: at }) => Bun.deepEquals(at, missing)).length === 2;
  await eventually(isReported, "the bans beyond the room do not say so");
  for (const ban of await bansOf(first)) expect(ban).toMatchObject({ announced: true, kept_from: kept });

  // Room for one more: the best of those that wait.
  const [gone = ""] = ten;
  await first.post("/api/v1/unban", { ip: gone.slice("dst ".length).replace("/32", "") });
  const left = all.filter((match) => match !== gone);
  let tenLeft: readonly string[] = [];
  const isUsed = async () => {
    tenLeft = await birds.ten.flowMatches();
    return tenLeft.length === 10 && !tenLeft.includes(gone);
  };
  await eventually(isUsed, "the room is not used again");
  await holds(birds, { all: left, ports: left, ten: tenLeft, hole: [] });

  process.kill(scene.gobgpdPid ?? 0, "SIGKILL");
  await eventually(() => scene.gobgpdPid !== null, "gobgpd is not started again");
  await holds(birds, { all: left, ports: left, ten: tenLeft, hole: [] });

  await first.stop("SIGKILL");
  const second = await scene.start(config({ ports: ", dry_run: true" }));
  await holds(birds, { all: left, ports: [], ten: tenLeft, hole: [] });
  const isDry = async () => JSON.stringify(await bansOf(second)).includes("it is in dry run");
  await eventually(isDry, "the bans do not name the neighbor in dry run");
  for (const match of left) await second.post("/api/v1/unban", { ip: match.slice("dst ".length).replace("/32", "") });
  await holds(birds, { all: [], ports: [], ten: [], hole: [] });
});

async function eventuallyTen(bird: Bird): Promise<readonly string[]> {
  await eventually(async () => (await bird.flowCount()) === 10, "not ten rules");
  return bird.flowMatches();
}

const PPS = 4000;
const ANSWER_BYTES = 400;

test("rules of an attack are in the words of each, and the ladder's blackhole is at those that take one", async () => {
  const { birds, bgp } = await peered();
  const payload = new Uint8Array(ANSWER_BYTES);
  const frames = [20_000, 20_001].map((destinationPort) =>
    ethernet(ip({ src: "198.51.100.9", dst: victim(7) }, udp({ sourcePort: 53, destinationPort, payload }))),
  );
  const flood = Array.from({ length: 25 * PPS }, (_, i) => frames[i % 2] as Uint8Array);
  const packets = scene.capture(evenly(flood, { startMs: 1_700_000_000_000, stepMs: 1000 / PPS }));
  const ladder = "escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 6, action: blackhole }]\n";
  const service = await scene.start(`${BASE}${bgp()}${packets}${ladder}`);
  const precise = `${rule(7)}; proto 17; sport 53; length ${28 + ANSWER_BYTES}`;
  await holds(birds, { all: [precise], ports: [`${rule(7)}; proto 17; sport 53`], ten: [precise], hole: [] });
  const own = { neighbors: [loopback(3)], rules: [`dst ${victim(7)}/32 proto udp src-port 53 discard`], left_out: 0 };
  expect(await bansOf(service)).toMatchObject([{ method: "flowspec", neighbor_rules: [own] }]);
  const prefix = `${victim(7)}/32`;
  const hole = [`${prefix} 192.0.2.66 ${HOLE}`];
  await holds(birds, { all: [`${prefix} 192.0.2.1 65535:666`], ports: [], ten: [], hole });
  const kept = ["ports", "ten"].map((name, i) => ({
    neighbor: loopback(3 + i),
    cause: `its policy ${name} takes no blackhole routes`,
  }));
  let bans: readonly Row[] = [];
  const isSaid = async () => {
    bans = await bansOf(service);
    return Bun.deepEquals(bans[0]?.["kept_from"], kept);
  };
  await eventually(isSaid, () => `no ban that says who takes no blackhole: ${JSON.stringify(bans)}`);
});

test("a neighbor that takes no /32 holds the enclosing /24, until its last ban ends, and a divert is that /24 everywhere", async () => {
  const { birds, bgp } = await peered();
  const short = bgp().replace("methods: [blackhole]\n", "methods: [blackhole, divert]\n      ipv4_lengths: 8-24\n");
  const config = (more: string) => `${BASE}${short}${more}`;
  const wide = "203.0.113.0/24";
  const narrow = (...hosts: readonly number[]) => hosts.map((i) => `${victim(i)}/32 192.0.2.1 65535:666`);
  const hole = [`${wide} 192.0.2.66 ${HOLE}`];
  const first = await scene.start(config("").replace("bgp:\n", "bgp:\n  announce_v4: 24\n"));
  for (const i of [7, 8]) expect((await first.post("/api/v1/ban", { ip: victim(i) })).status).toBe(200);
  await holds(birds, { all: narrow(7, 8), ports: [], ten: [], hole });
  let bans: readonly Row[] = [];
  const isSaid = async () => {
    bans = await bansOf(first);
    return bans.every(
      (ban) => (ban["sent_to"] as string[] | undefined)?.sort().join() === [loopback(2), loopback(5)].join(),
    );
  };
  await eventually(isSaid, () => `not at both neighbors: ${JSON.stringify(bans)}`);
  expect(await bansOf(first)).toMatchObject(
    [7, 8].map(() => ({ announced_prefix: wide, moves_with: { hostgroups: ["global"] } })),
  );
  await first.post("/api/v1/unban", { ip: victim(7) });
  await holds(birds, { all: narrow(8), ports: [], ten: [], hole });

  // A kill leaves it to the next one, whose file spares an address there.
  await first.stop("SIGKILL");
  const spared = "protected_whitelist: [203.0.113.200]\n";
  const second = await scene.start(`${config(spared).replace("bgp:\n", "bgp:\n  announce_v4: 24\n")}`);
  await holds(birds, { all: narrow(8), ports: [], ten: [], hole: [] });
  const refusal = `${wide} is not announced: 203.0.113.200/32 of protected_whitelist would move with it`;
  expect(await bansOf(second)).toContainEqual(expect.objectContaining({ state: "active", not_announced: refusal }));
  const order = { prefix: `${victim(8)}/32`, method: "divert" };
  await second.stop();

  const divert = "scrubbing: { next_hop: 192.0.2.5, communities: [], announce_v4: 24 }\n";
  const third = await scene.start(config(`${spared}${divert}`));
  const refused = await third.post<Row>("/api/v1/ban", order);
  expect({ status: refused.status, reason: refused.body["reason"] }).toEqual({
    status: 409,
    reason: `order: ${refusal}`,
  });
  await third.stop();
  const fourth = await scene.start(config(divert));
  for (const i of [8, 9]) await fourth.post("/api/v1/ban", { prefix: `${victim(i)}/32`, method: "divert" });
  const diverted = [`${wide} 192.0.2.5`];
  await holds(birds, { all: diverted, ports: [], ten: [], hole: diverted });
  for (const i of [8, 9]) await fourth.post("/api/v1/unban", { ip: victim(i) });
  await holds(birds, { all: [], ports: [], ten: [], hole: [] });
});
