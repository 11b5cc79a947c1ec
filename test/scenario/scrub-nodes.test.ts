/** Diverted victims and the scrub nodes that take them, by the whole service and as a real BIRD sees it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../src/bgp/gobgpd-process.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;
const VICTIM = "203.0.113.7";
const PREFIX = `${VICTIM}/32`;
const BLACKHOLE = "192.0.2.1";
const HOPS: Readonly<Record<string, string>> = { s1: "192.0.2.2", s2: "192.0.2.3" };
const ENV = { FW_NOC: "noc", FW_S1: "s1", FW_S2: "s2" };
const API = `tokens: [{name: noc, token_env: FW_NOC, role: operator},
  {name: s1, token_env: FW_S1, role: agent, node: s1}, {name: s2, token_env: FW_S2, role: agent, node: s2}]`;

let directory: string;
let bgpPort: number;
let bird: Bird;
const services: ServiceProcess[] = [];
const nodes: Node[] = [];

interface Document {
  readonly bans: readonly Record<string, unknown>[];
}

/** Polls as an agent does, until it is stopped. */
class Node {
  readonly #leaving = new AbortController();
  readonly #polling: Promise<void>;
  document: Document = { bans: [] };

  constructor(
    readonly name: string,
    readonly port: number,
  ) {
    nodes.push(this);
    this.#polling = this.#poll();
  }

  async stop(): Promise<void> {
    this.#leaving.abort();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    const { signal } = this.#leaving;
    let etag = '""';
    while (!signal.aborted) {
      const headers = { authorization: `Bearer ${this.name}`, "if-none-match": etag };
      const url = `http://127.0.0.1:${this.port}/api/v1/dataplane/rules?node=${this.name}`;
      const answer = await fetch(url, { headers, signal }).catch(() => null);
      if (answer?.status === 200) {
        this.document = (await answer.json()) as Document;
        etag = answer.headers.get("etag") ?? etag;
      } else await Bun.sleep(50);
    }
  }
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-scenario-${process.pid}-`));
  bgpPort = await freePort();
  const session = { name: "floodwall", address: loopback(1), asn: ASN, port: bgpPort, takesFlowspec: true };
  bird = await startBird({ address: loopback(2), port: bgpPort, asn: ASN, sessions: [session] });
});

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  for (const service of services.splice(0)) await service.remove();
  const pid = findGobgpd(join(directory, "state/gobgpd/run"));
  if (pid !== null) process.kill(pid, "SIGKILL");
  await bird.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function started({ onAllNodesLost = "withdraw", staleSeconds = 1, port = 0 } = {}): Promise<ServiceProcess> {
  const config = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
mitigation: divert
bgp:
  local_asn: ${ASN}
  router_id: ${loopback(1)}
  listen: "${loopback(1)}:${bgpPort}"
  next_hop: ${BLACKHOLE}
  neighbors: [{ address: ${loopback(2)}, remote_asn: ${ASN}, port: ${bgpPort}, multihop_ttl: 4 }]
scrubbing:
  communities: ["64500:2"]
  stale_after_seconds: ${staleSeconds}
  on_all_nodes_lost: ${onAllNodesLost}
  nodes: [{ name: s1, next_hop: ${HOPS["s1"]} }, { name: s2, next_hop: ${HOPS["s2"]} }]
`;
  const at = port === 0 ? {} : { port };
  const service = await ServiceProcess.start({ config, api: API, env: ENV, directory, ...at });
  services.push(service);
  return service;
}

const routes = async () => (await bird.routes()).map(({ prefix, nextHop }) => `${prefix} ${nextHop}`);
const inPeer = (...expected: readonly string[]) =>
  eventually(
    async () => (await routes()).join() === expected.join(),
    () => `the peer does not have ${expected.join()}`,
    20_000,
  );
const banOf = async (service: ServiceProcess) =>
  (await service.get<{ bans: Record<string, unknown>[] }>("/api/v1/bans", "noc")).body.bans[0] ?? {};
const alive = (service: ServiceProcess, ...names: readonly string[]) =>
  eventually(async () => {
    const { body } = await service.get<{ nodes: { name: string; alive: boolean }[] }>("/api/v1/dataplane/nodes", "noc");
    return body.nodes.flatMap(({ name, alive }) => (alive ? [name] : [])).join() === names.join();
  }, `the nodes that are alive are not ${names.join()}`);

test("a victim goes to a node, is in every node's document, and moves without a gap when its node is lost", async () => {
  const service = await started();
  const all = { s1: new Node("s1", service.port), s2: new Node("s2", service.port) };
  await alive(service, "s1", "s2");
  const { body } = await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
  const first = String(body["node"]) as "s1" | "s2";
  const second = first === "s1" ? "s2" : "s1";
  expect(body).toMatchObject({ method: "divert", next_hop: HOPS[first], community: "64500:2" });
  await inPeer(`${PREFIX} ${HOPS[first]}`);
  for (const node of nodes) await eventually(() => node.document.bans.length === 1, "a node was not told");
  expect(nodes.map(({ document }) => document.bans)).toEqual([all.s1.document.bans, all.s1.document.bans]);
  const gaps: number[] = [];
  let isWatching = true;
  const watching = (async () => {
    while (isWatching) gaps.push((await routes()).length);
  })();
  await all[first].stop();
  await inPeer(`${PREFIX} ${HOPS[second]}`);
  isWatching = false;
  await watching;
  expect([...new Set(gaps)]).toEqual([1]);
  expect(await banOf(service)).toMatchObject({ state: "active", node: second, next_hop: HOPS[second] });
  await service.post("/api/v1/unban", { ip: VICTIM }, "noc");
  await inPeer();
  await eventually(() => all[second].document.bans.length === 0, "the node was not told of the end");
}, 60_000);

test("kill -9 keeps the frozen node: the next process leaves the victim where it is, and moves it when nobody comes", async () => {
  const service = await started();
  const all = { s1: new Node("s1", service.port), s2: new Node("s2", service.port) };
  await alive(service, "s1", "s2");
  const { body } = await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
  const first = String(body["node"]) as "s1" | "s2";
  const second = first === "s1" ? "s2" : "s1";
  await inPeer(`${PREFIX} ${HOPS[first]}`);
  await service.stop("SIGKILL");
  await all[first].stop();
  const next = await started({ port: service.port, staleSeconds: 5 });
  expect(await banOf(next)).toMatchObject({ state: "active", node: first });
  await inPeer(`${PREFIX} ${HOPS[second]}`);
  expect(await banOf(next)).toMatchObject({ state: "active", node: second });
}, 60_000);

test.each([
  ["withdraw", []],
  ["blackhole", [`${PREFIX} ${BLACKHOLE}`]],
])(
  "with all nodes lost, on_all_nodes_lost %s",
  async (onAllNodesLost, expected) => {
    const service = await started({ onAllNodesLost });
    const node = new Node("s1", service.port);
    await alive(service, "s1");
    await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
    await inPeer(`${PREFIX} ${HOPS["s1"]}`);
    await node.stop();
    await inPeer(...expected);
    const lost = "all scrubbing nodes lost";
    const isOver = onAllNodesLost === "withdraw";
    expect(await banOf(service)).toMatchObject(
      isOver ? { state: "withdrawn", reason: lost } : { state: "active", method: "blackhole", fallback: lost },
    );
    const again = await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
    expect([again.status, again.body["reason"]]).toEqual(isOver ? [409, lost] : [200, undefined]);
    void new Node("s2", service.port);
    await alive(service, "s2");
    if (isOver) await service.post("/api/v1/ban", { ip: VICTIM }, "noc");
    await inPeer(`${PREFIX} ${HOPS["s2"]}`);
  },
  60_000,
);
