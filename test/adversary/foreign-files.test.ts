/** Files of others that are damaged, cut, empty or gone: the service starts and runs without them, and says so. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PrefixSetWire } from "../../src/http/wire/prefix-set.ts";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { selfSigned } from "../fixtures/edge/certificate.ts";
import { Receiver } from "../fixtures/notify/notify.ts";
import { ASN_FILE, COUNTRY_FILE } from "../fixtures/origin-file.ts";
import { datagram } from "../fixtures/replay-command.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

setDefaultTimeout(120_000);
const scene = new Scenario();

const NETWORK = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const NOC = "{ name: noc, token_env: FW_NOC, role: operator }";
const API = `tokens: [${NOC}, { name: e1, token_env: FW_E1, role: agent, node: e1 }]`;
const ENV = { FW_NOC: "noc", FW_E1: "e1" };

interface Faulty {
  readonly kind: string;
  readonly error: string;
  readonly effect: string;
}

async function faultyOf(service: ServiceProcess, secret = "noc"): Promise<readonly Faulty[]> {
  const { body } = await service.get<{ faulty_files?: Faulty[] }>("/api/v1/status", secret);
  return body.faulty_files ?? [];
}

async function setsOf(service: ServiceProcess): Promise<readonly PrefixSetWire[]> {
  return (await service.get<{ prefix_sets: PrefixSetWire[] }>("/api/v1/prefix-sets", "noc")).body.prefix_sets;
}

const reload = (service: ServiceProcess) => service.post("/api/v1/config/reload", {}, "noc");

test("a start with every file of others gone, empty or of another kind has what was last good of each", async () => {
  const receiver = new Receiver();
  scene.onEnd(() => receiver.stop());
  const events = () => receiver.received.map(({ body }) => JSON.parse(body) as object);
  const files = {
    list: scene.file("drop.txt", "192.0.2.0/24\n198.51.100.7\n"),
    country: scene.file("country.mmdb", COUNTRY_FILE()),
    asn: scene.file("asn.mmdb", ASN_FILE()),
    zones: scene.file("zones.yaml", "zones: [{ name: www.example.net, origins: ['192.0.2.10:443'] }]\n"),
  };
  const config = `${NETWORK}
prefix_sets:
  - { name: drop, file: ${files.list} }
  - { name: abroad, mmdb: ${files.country}, countries: [DE, NL] }
samples: { asn_file: ${files.asn} }
edge: { zones_file: ${files.zones}, nodes: [{ name: e1 }] }
notify: { webhook: { url_env: FW_HOOK } }
`;
  const env = { ...ENV, FW_HOOK: receiver.url };
  const first = await scene.start(config, { api: API, env });
  expect(await faultyOf(first)).toEqual([]);
  const before = (await first.get("/api/v1/edge/zones?node=e1", "e1")).body;
  const kept = join(scene.directory, "state/kept");
  await eventually(() => readdirSync(join(kept, "zones")).includes("zones.kept"), "the zones were not kept", 5000);
  expect(await first.stop()).toBe(0);
  rmSync(files.list);
  writeFileSync(files.country, "<html>502 Bad Gateway</html>\n");
  writeFileSync(files.asn, "");
  rmSync(files.zones);

  const second = await scene.start(config, { api: API, env, port: first.port });
  expect((await setsOf(second)).map(({ prefixes, error }) => [prefixes, typeof error])).toEqual([
    [2, "string"],
    [2, "string"],
  ]);
  expect((await second.get("/api/v1/edge/zones?node=e1", "e1")).body).toEqual(before);
  expect((await faultyOf(second)).map(({ kind }) => kind).sort()).toEqual([
    "origins",
    "prefix_sets",
    "prefix_sets",
    "zones",
  ]);
  const metrics = await (await fetch(`http://127.0.0.1:${second.port}/metrics`)).text();
  expect(metrics).toContain('svc_faulty_files{kind="prefix_sets"} 2');
  expect(metrics).toContain('svc_faulty_files{kind="zones"} 1');
  expect(metrics).toContain('svc_faulty_files{kind="origins"} 1');
  const alarms = () => events().filter((event) => Bun.deepMatch({ event: "file_fault" }, event));
  await eventually(
    () => alarms().length === 4,
    () => `not four notifications: ${JSON.stringify(events())}`,
  );
  expect(second.output).toContain("a file that the configuration names cannot be used");

  // Other keys can be changed meanwhile, but for zones, which a reload takes from their file.
  scene.file("zones.yaml", "zones: [{ name: www.example.net, origins: ['192.0.2.10:443'] }]\n");
  second.writeConfig(config.replace("pps: 1000", "pps: 2000"));
  expect((await reload(second)).status).toBe(200);
  expect((await faultyOf(second)).map(({ kind }) => kind)).not.toContain("zones");
  scene.file("drop.txt", "192.0.2.0/24\n198.51.100.7\n");
  scene.file("country.mmdb", COUNTRY_FILE());
  scene.file("asn.mmdb", ASN_FILE());
  expect((await reload(second)).status).toBe(200);
  expect(await faultyOf(second)).toEqual([]);
});

test("after a start without anything good sets are not in force, and edge nodes keep what they have #edge-zones-unknown", async () => {
  const config = `${NETWORK}
prefix_sets: [{ name: drop, file: ${scene.directory}/absent.txt }]
samples: { country_file: ${scene.directory}/absent.mmdb }
edge: { zones_file: ${scene.directory}/absent.yaml, nodes: [{ name: e1 }] }
`;
  const service = await scene.start(config, { api: API, env: ENV });
  expect(await setsOf(service)).toEqual([
    { name: "drop", kind: "list", file: `${scene.directory}/absent.txt`, prefixes: 0, error: expect.any(String) },
  ]);
  const polled = await service.get("/api/v1/edge/zones?node=e1", "e1");
  expect([polled.status, polled.body["error"]]).toEqual([503, expect.stringContaining("the zones file")]);
  expect(await faultyOf(service)).toHaveLength(3);
  scene.file("absent.yaml", "zones: []\n");
  expect((await reload(service)).status).toBe(200);
  expect((await service.get("/api/v1/edge/zones?node=e1", "e1")).status).toBe(200);
});

test("a start without a certificate keeps the port closed, and opens it with TLS when there is one", async () => {
  const config = `${NETWORK}api: { listen: "127.0.0.1:PORT", tls: { cert_file: ${scene.directory}/cert, key_file: ${scene.directory}/key } }
state_dir: ${scene.directory}/state
`;
  const port = await freePort();
  const options = {
    config: config.replace("PORT", String(port)),
    isWholeConfig: true,
    directory: scene.directory,
    port,
  };
  const service = await ServiceProcess.spawn(options);
  scene.onEnd(() => service.remove());
  await service.says("floodwall is up");
  const refused = () => "refused";
  expect(await fetch(`http://127.0.0.1:${port}/healthz`).catch(refused)).toBe("refused");
  const { cert, key } = selfSigned();
  scene.file("cert", cert);
  scene.file("key", key);
  const ask = () =>
    fetch(`https://localhost:${port}/healthz`, { tls: { ca: cert } }).then(({ status }) => status, refused);
  await eventually(
    async () => (await ask()) === 200,
    () => service.output,
    15_000,
  );
  expect(await fetch(`http://127.0.0.1:${port}/healthz`).catch(refused)).toBe("refused");
});

test("a start with damaged clearance masters moves them aside and challenges visitors once more", async () => {
  const state = join(scene.directory, "state");
  mkdirSync(state);
  writeFileSync(join(state, "clearance-masters"), "another form\n");
  const service = await scene.start(`${NETWORK}edge: { nodes: [{ name: e1 }] }\n`, { api: API, env: ENV });
  expect(await faultyOf(service)).toMatchObject([{ kind: "clearance_masters" }]);
  expect(readdirSync(state)).toContain("clearance-masters.damaged");
});

test("a start whose env file is gone leaves sessions of neighbors as they are", async () => {
  const config = `${NETWORK}
bgp:
  local_asn: 64512
  router_id: 10.0.0.9
  next_hop: 10.0.0.1
  neighbors: [{ address: 127.0.0.2, remote_asn: 64513, password_env: FW_MD5 }]
`;
  const service = await scene.start(config, { api: `env_file: ${scene.directory}/absent.env` });
  expect(await faultyOf(service)).toMatchObject([{ kind: "secrets", error: expect.stringContaining("FW_MD5") }]);
});

test("a list that lost many of its lines is refused, the last good one stays, and an operator may accept it", async () => {
  const linesOf = (count: number) => Array.from({ length: count }, (_, i) => `10.0.${i}.0/24\n`).join("");
  const list = scene.file("drop.txt", linesOf(100));
  const config = `${NETWORK}prefix_sets: [{ name: drop, file: ${list} }]\n`;
  const service = await scene.start(config, { api: `tokens: [${NOC}]`, env: ENV });
  scene.file("drop.txt", linesOf(40));
  expect((await reload(service)).status).toBe(200);
  const [refused] = await setsOf(service);
  // Before the look at it, by which Bun puts the matcher into the place of the text.
  const accepted = /accept: ([0-9a-f]{64})/.exec(refused?.error ?? "")?.[1];
  expect(refused).toMatchObject({ prefixes: 100, error: expect.stringContaining("shrank from 100 to 40") });
  expect(await faultyOf(service)).toMatchObject([{ kind: "prefix_sets" }]);
  service.writeConfig(config.replace("file:", `accept: ${accepted}, file:`));
  expect((await reload(service)).status).toBe(200);
  expect((await setsOf(service))[0]).toMatchObject({ prefixes: 40 });
});

test("a list that would take in the users of the last minute is not used without a command of the operator", async () => {
  const packets = Array.from({ length: 5000 }, (_, i) => datagram("203.0.113.9", `192.0.2.${1 + (i % 40)}`));
  const [before, after] = ["198.51.100.0/24\n", "198.51.100.0/24\n192.0.2.0/24\n"];
  const config = `${NETWORK}prefix_sets: [{ name: drop, file: ${scene.file("drop.txt", before)} }]
${scene.capture(evenly(packets, { stepMs: 10 }))}`;
  const service = await scene.start(config, { api: `tokens: [${NOC}]`, env: ENV });
  // Users are known after some seconds.
  const isRefused = async () => {
    scene.file("drop.txt", after);
    await reload(service);
    const [set] = await setsOf(service);
    if (set?.error?.includes("takes in 40 of the 40 users") === true) return true;
    scene.file("drop.txt", before);
    await reload(service);
    // Users that are known only since then hold the wider list in place: the way back is to be accepted too.
    const accepted = /accept: ([0-9a-f]{64})/.exec((await setsOf(service))[0]?.error ?? "")?.[1];
    if (accepted === undefined) return false;
    service.writeConfig(config.replace("file:", `accept: ${accepted}, file:`));
    await reload(service);
    return false;
  };
  await eventually(isRefused, () => service.output, 45_000, 500);
  expect((await setsOf(service))[0]).toMatchObject({ prefixes: 1 });
});
