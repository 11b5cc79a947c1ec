/** Floods of the addresses that the service itself needs must not make it cut itself off. The whole service, simulated. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainOrder } from "../../src/mitigation/order/ban-order.ts";
import { address } from "../fixtures/host-rows.ts";
import { simulatedNative } from "../simulation/simulated-counter.ts";
import { SimulatedService } from "../simulation/simulated-service.ts";
import { ASN, SimulatedSpeaker } from "../simulation/simulated-speaker.ts";
import { DecoyTraffic, STEP_MS } from "./decoy-traffic.ts";

const WALL_MS = Date.UTC(2026, 0, 1);
const ROUTER = address("198.18.0.1");
const CUSTOMER = address("198.18.0.7");

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step();
});

function setUp() {
  const directory = mkdtempSync(join(tmpdir(), "floodwall-own-"));
  const traffic = new DecoyTraffic();
  let nowMs = 0;
  const speaker = new SimulatedSpeaker({
    wallMs: () => WALL_MS + nowMs,
    deadline: () => new Promise(() => {}),
    onPath: () => {},
  });
  const process = new SimulatedService({
    directory,
    yaml: yaml(directory, [ROUTER]),
    wallMs: WALL_MS,
    native: simulatedNative(traffic),
    speaker,
    onError: (line) => {
      throw new Error(line);
    },
  });
  undo.push(
    () => rmSync(directory, { recursive: true, force: true }),
    () => process.state.close(),
  );
  const pass = async (ms: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs; ) {
      nowMs += STEP_MS;
      traffic.pass(nowMs, () => false);
      await process.advance(STEP_MS);
    }
  };
  const flood = (ip: typeof ROUTER) =>
    traffic.begin({ ip, pps: 1e6, packetBytes: 64, endsAtMs: nowMs + 60_000, linger: null });
  const neighbors = (...of: (typeof ROUTER)[]) => process.reload(yaml(directory, of));
  return { process, pass, flood, neighbors, isRouted: (ip: string) => speaker.isOut(`${ip}/32`) };
}

function yaml(stateDir: string, neighbors: readonly string[]): string {
  return `
dry_run: false
state_dir: ${stateDir}
networks: [198.18.0.0/24]
capture: { interfaces: [{ name: sim0, mode: mirror }], max_hosts: 1024 }
detection: { window_ms: 1000, tick_ms: ${STEP_MS} }
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 1000 }
samples: { enabled: false }
storage: { driver: none }
bgp:
  local_asn: ${ASN}
  router_id: 10.0.0.9
  next_hop: 10.0.0.1
  neighbors: [${neighbors.map((ip) => `{ address: ${ip}, remote_asn: ${ASN} }`).join(", ")}]
`;
}

test("a flood of a router is shown and its ban refused, by detection and by an operator", async () => {
  const { process, pass, flood, isRouted } = setUp();
  flood(ROUTER);
  flood(CUSTOMER);
  await pass(1000);
  const reason = "own infrastructure: 198.18.0.1 is bgp.neighbors[0].address; to ban it, change that key first";
  const attacks = process.service.attacks().active;
  expect(attacks.find(({ attack }) => attack.target === ROUTER)?.ban).toMatchObject({ state: "rejected", reason });
  expect((await process.service.ban(plainOrder(ROUTER))).ban).toMatchObject({ state: "rejected", reason });
  expect([isRouted(ROUTER), isRouted(CUSTOMER)]).toEqual([false, true]);
});

test("a reload that adds a neighbor ends the ban of its address, and one that removes it bans a flooded one", async () => {
  const { process, pass, flood, neighbors, isRouted } = setUp();
  flood(ROUTER);
  flood(CUSTOMER);
  await pass(1000);
  expect((await neighbors(CUSTOMER)).kind).not.toBe("invalid");
  await pass(1000);
  expect([isRouted(ROUTER), isRouted(CUSTOMER)]).toEqual([true, false]);
  const ended = process.floodwall.bans.all().find(({ target, state }) => target === CUSTOMER && state === "withdrawn");
  expect(ended?.reason).toStartWith("target is own infrastructure: 198.18.0.7 is bgp.neighbors[0].address");
});
