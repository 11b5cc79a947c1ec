/** Whose traffic moves with a ban by a wider prefix. */
import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { harness, terms, under, victim } from "../../test/fixtures/mitigation/ban-engine.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import type { Config } from "../config/config.ts";
import type { Ban } from "../mitigation/ban.ts";
import { plainOrder } from "../mitigation/order/ban-order.ts";
import { hostPrefix, type Prefix, parsePrefix } from "../net/prefix.ts";
import { NetworkLookup } from "../traffic/network-lookup.ts";
import { decodeHeader, type PacketHeader } from "../traffic/packet-header.ts";
import { MovingTraffic } from "./moved-along.ts";

const prefix = (text: string) => parsePrefix(text) as Prefix;
const networks = [prefix("192.0.2.0/23")];
const hostgroups = [
  { name: "global", networks: [] },
  { name: "web", networks: [prefix("192.0.2.128/25")] },
  { name: "other", networks: [prefix("192.0.3.0/24")] },
];

function running(isSampled: boolean) {
  const config = { hostgroups, lookup: NetworkLookup.of({ networks, hostgroups }), samples: { enabled: isSampled } };
  const header = (dst: string) => ({
    header: decodeHeader(ethernet(ip({ src: "198.51.100.9", dst }, udp()))) as PacketHeader,
    ...{ wireBytes: 1000, packets: 1000, isAttacked: false, verdict: null },
  });
  const headers = ["192.0.2.1", "192.0.2.9", "192.0.2.130", "192.0.2.130", "192.0.3.1"].map(header);
  const clock = new ManualClock();
  let readings = 0;
  const minute = () => {
    readings++;
    return { headers, seconds: 8 };
  };
  const now = () => ({ monotonicMs: clock.monotonicMs() });
  const moving = new MovingTraffic({ config: config as unknown as Config, now, packetPath: { minute } });
  return { moving, clock, readings: () => readings };
}

async function ban(enclosing: object): Promise<Ban> {
  const { divert } = terms();
  const { engine } = harness(under({ method: "divert", divert: divert && { ...divert, ...enclosing } }));
  await engine.ban(plainOrder(victim), () => 0);
  return engine.active.get(hostPrefix(victim).text) as Ban;
}

test("are the hostgroups of the wider prefix, and the hosts of the last minute beside the ban, the busiest first", async () => {
  const wide = { enclosing: { 4: { length: 24, upTo: 24 } } };
  const busiest = [
    { target: address("192.0.2.130"), mbps: 2 },
    { target: address("192.0.2.9"), mbps: 1 },
  ];
  const { moving } = running(true);
  expect(moving.of(await ban(wide))).toEqual({
    ...{ prefix: prefix("192.0.2.0/24"), hostgroups: ["global", "web"] },
    hosts: { count: 2, busiest },
  });
  expect(running(false).moving.of(await ban(wide))).toMatchObject({ hosts: null });
  expect(moving.of(await ban({}))).toBeNull();
});

test("the headers are read once for all bans that are shown within a second", async () => {
  const { moving, clock, readings } = running(true);
  const shown = await ban({ enclosing: { 4: { length: 24, upTo: 24 } } });
  for (let i = 0; i < 100; i++) moving.of(shown);
  expect(readings()).toBe(1);
  clock.advance(1000);
  moving.of(shown);
  expect(readings()).toBe(2);
});
