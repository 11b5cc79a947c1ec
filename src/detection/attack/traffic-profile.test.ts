import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import { PROFILED_HOSTS_MAX } from "../../limits.ts";
import { partOf, TrafficProfiles } from "./traffic-profile.ts";

const HOST = "203.0.113.9";

function world(outside: string | null = null) {
  const headers = new FakeHeaderSamples();
  const profiles = new TrafficProfiles(headers, () => 0.5);
  const attacked = new Set<string>();
  let nowMs = 0;
  const pass = () => {
    nowMs += 1000;
    profiles.learn(nowMs, {
      isProtected: (host) => host !== outside,
      isAttacked: (host) => attacked.has(host),
      foundAfterMs: 1000,
    });
  };
  pass();
  return {
    profiles,
    attacked,
    /** One second in which these ports of the host each got a packet. */
    second: (ports: readonly number[], dst = HOST) => {
      headers.frames = ports.map((destinationPort) => ({
        frame: ethernet(ip({ src: "198.51.100.1", dst }, udp({ sourcePort: 40_000, destinationPort }))),
      }));
      pass();
    },
    portsOf: (host = HOST) => profiles.of(address(host))?.packets.map(({ header }) => header.ports?.destination),
  };
}

test("a host's packets are learned when no attack was found in the seconds after them", () => {
  const { second, portsOf } = world();
  second([443]);
  second([]);
  expect(portsOf()).toBeUndefined();
  second([]);
  expect(portsOf()).toEqual([443]);
});

test("packets of the seconds before an attack, and of the attack, are not learned", () => {
  const { second, portsOf, attacked } = world();
  for (const ports of [[443], [443], [], [], []]) second(ports);
  second([53]);
  attacked.add(HOST);
  for (const ports of [[53], [53], [53], [53]]) second(ports);
  expect(portsOf()).toEqual([443, 443]);
});

test("hosts outside of the networks have no profile", () => {
  const { second, portsOf } = world("192.0.2.1");
  for (let i = 0; i < 5; i++) second([443], "192.0.2.1");
  expect(portsOf("192.0.2.1")).toBeUndefined();
});

test("the number of hosts is bounded, and the host that was not seen for longest makes room", () => {
  const { second, profiles, portsOf } = world();
  const hostAt = (i: number) => `10.0.${i >> 8}.${i & 255}`;
  const ports = [1, 2, 3, 4];
  for (let i = 0; i <= PROFILED_HOSTS_MAX; i++) second(ports, hostAt(i));
  for (let i = 0; i < 3; i++) second([]);
  expect(profiles.size).toBe(PROFILED_HOSTS_MAX);
  expect(portsOf(hostAt(0))).toBeUndefined();
  expect(portsOf(hostAt(PROFILED_HOSTS_MAX))).toEqual(ports);
});

test("a part of a profile has the packets that a metric counts", () => {
  const { second, profiles } = world();
  for (const ports of [[443, 53], [], [], []]) second(ports);
  const profile = profiles.of(address(HOST));
  if (profile === null) throw new Error("no profile");
  expect(partOf(profile, ({ ports }) => ports?.destination === 53).packets).toHaveLength(1);
});
