/** Certificates from a real authority, Pebble, which finds another node than the one that ordered. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { OrderEnd } from "../../bench/edge-sim/certificate-order.ts";
import { DocumentShelf } from "../../bench/edge-sim/document-shelf.ts";
import { HttpEdgeChannel } from "../../bench/edge-sim/edge-channel.ts";
import { EdgeNode } from "../../bench/edge-sim/edge-node.ts";
import { systemClock } from "../../src/system/clock.ts";
import { systemTimers } from "../../src/system/timers.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { AcmeClient } from "../fixtures/edge/acme-client.ts";
import { Pebble, pebbleExecutable } from "../fixtures/edge/pebble.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, freePort, type ServiceProcess } from "../fixtures/service.ts";

const ZONE = "shop.example.net";
const NODES = ["e1", "e2", "e3"] as const;
type NodeName = (typeof NODES)[number];
/** Where all names lead. */
const ANSWERING: NodeName = "e2";

const reason = pebbleExecutable === null ? " (pebble is not installed)" : "";

const scene = new Scenario();
/** Challenges that were asked for, and of whom. */
const asked: { readonly node: NodeName; readonly isKnown: boolean }[] = [];
const ends: { readonly node: string; readonly end: OrderEnd }[] = [];

interface World {
  readonly pebble: Pebble;
  readonly service: ServiceProcess;
  readonly nodes: readonly EdgeNode[];
  readonly accounts: readonly AcmeClient[];
}

async function world(): Promise<World> {
  const httpPort = await freePort();
  const pebble = await Pebble.start({ address: addressOf(ANSWERING), httpPort });
  scene.onEnd(() => pebble.stop());
  const zones = { zones: [{ name: ZONE, origins: ["192.0.2.1:443"], acme: { directory: pebble.directory } }] };
  const tokens = NODES.map((name) => ({ name, token_env: `FW_${name}`, role: "agent", node: name }));
  const service = await scene.start(
    `
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 1000 }
edge: { zones_file: ${scene.file("zones.yaml", JSON.stringify(zones))}, nodes: ${JSON.stringify(NODES.map((name) => ({ name })))} }
`,
    {
      api: `tokens: ${JSON.stringify(tokens)}`,
      env: Object.fromEntries(NODES.map((name) => [`FW_${name}`, `secret-of-${name}`])),
    },
  );
  const accounts: AcmeClient[] = [];
  const nodes: EdgeNode[] = [];
  for (const name of NODES) {
    const account = await AcmeClient.register({ directory: pebble.directory, ca: pebble.certificate.cert });
    const node = edgeNode(name, account, service.port);
    const server = answering(name, node, httpPort);
    scene.onEnd(() => server.stop(true));
    scene.onEnd(() => node.stop());
    accounts.push(account);
    nodes.push(node);
  }
  return { pebble, service, nodes, accounts };
}

function addressOf(name: NodeName): string {
  return loopback(20 + NODES.indexOf(name));
}

/** The first and the last order a certificate, both of the same zone and at once. */
function edgeNode(name: NodeName, authority: AcmeClient, port: number): EdgeNode {
  const url = new URL(`http://127.0.0.1:${port}`);
  return new EdgeNode({
    ...{ name, seed: 1, shelf: new DocumentShelf(), cacheDirectory: null, windowSeconds: 10 },
    ...{ isDryRun: false, reportsKept: null, authority, clock: systemClock, timers: systemTimers },
    channel: new HttpEdgeChannel({ url, node: name, secret: `secret-of-${name}`, timers: systemTimers }),
    orders: ({ zones }) => (name === ANSWERING ? [] : zones.map((zone) => zone.name)),
    watcher: {
      polled: () => {},
      reported: () => {},
      slotAwaited: () => {},
      danced: ({ name: node }, _zone, end) => ends.push({ node, end }),
    },
  });
}

/** What a terminator does with the path of RFC 8555, 8.3. */
function answering(name: NodeName, node: EdgeNode, port: number): Bun.Server<undefined> {
  return Bun.serve({
    hostname: addressOf(name),
    port,
    fetch(request) {
      const { hostname, pathname } = new URL(request.url);
      const token = /^\/\.well-known\/acme-challenge\/([\w-]+)$/.exec(pathname)?.[1] ?? "";
      const keyAuthorization = node.keyAuthorizationFor(hostname, token);
      asked.push({ node: name, isKnown: keyAuthorization !== null });
      return keyAuthorization === null ? new Response("", { status: 404 }) : new Response(keyAuthorization);
    },
  });
}

test.skipIf(pebbleExecutable === null)(
  `two nodes that order for one zone at once both get their certificate, by the answers of a third${reason}`,
  async () => {
    const { pebble, service, nodes, accounts } = await world();
    for (const node of nodes) await node.start();
    await eventually(
      () => ends.length === 2,
      () => `${JSON.stringify(ends)}\n${service.output}`,
      90_000,
    );
    expect(ends.map(({ end }) => end)).toMatchObject([
      { kind: "issued", hadSlot: true },
      { kind: "issued", hadSlot: true },
    ]);
    expect(ends.map(({ node }) => node).sort()).toEqual(["e1", "e3"]);
    expect(nodes[0]?.document.zones[0]?.acmeDirectory).toBe(pebble.directory);
    const chains = accounts.flatMap(({ issued }) => issued.map(({ chain }) => chain));
    expect(chains.map((chain) => new X509Certificate(chain).checkHost(ZONE))).toEqual([ZONE, ZONE]);
    expect(asked.length).toBeGreaterThanOrEqual(2);
    expect(asked.filter(({ node, isKnown }) => node !== ANSWERING || !isKnown)).toEqual([]);
    await eventually(() => nodes.every(({ document }) => document.grants.length === 0), "a slot was not given back");
    const told = nodes.flatMap(({ document }) => document.challenges);
    expect(told.length).toBeGreaterThan(0);
    for (const { token, keyAuthorization } of told) {
      await service.says(token.slice(0, 8));
      expect(service.output).not.toContain(token);
      expect(service.output).not.toContain(keyAuthorization);
    }
  },
  120_000,
);
