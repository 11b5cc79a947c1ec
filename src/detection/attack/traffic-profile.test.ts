import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { FakeProfiles, profileRecord } from "../../../test/fixtures/packets/profile-source.ts";
import { PROFILE_ROW, PROFILED_HOSTS_MAX } from "../../native/constants.ts";
import { addressToBytes } from "../../net/address.ts";
import { partOf, TrafficProfiles } from "./traffic-profile.ts";

const HOST = address("203.0.113.9");

function world() {
  const source = new FakeProfiles();
  const profiles = new TrafficProfiles(source, { of: () => null });
  const restore = (ports: readonly number[], host = HOST) =>
    profiles.restore(
      addressToBytes(host),
      Buffer.concat(ports.map((destinationPort) => profileRecord({ destinationPort }))),
    );
  const portsOf = (host = HOST) => profiles.of(host)?.packets.map(({ header }) => header.ports?.destination);
  return { source, profiles, restore, portsOf };
}

test("a profile has the packets that the counter kept of the host", () => {
  const { source, profiles } = world();
  source.hosts.set(HOST, [
    profileRecord({ source: "198.51.100.7", sourcePort: 40_000, tcpFlags: 0x18, standsFor: 12 }),
  ]);
  const packets = profiles.of(HOST)?.packets ?? [];
  // The source is made when it is read.
  expect(packets.map(({ header }) => header.source)).toEqual([address("198.51.100.7")]);
  expect(packets.map(({ header, ...of }) => ({ header: { ...header }, ...of }))).toEqual([
    {
      header: {
        destination: HOST,
        protocol: 6,
        ports: { source: 40_000, destination: 443 },
        tcpFlags: 0x18,
        fragment: null,
        packetBytes: 100,
      } as (typeof packets)[number]["header"],
      wireBytes: 114,
      standsFor: 12,
    },
  ]);
});

test("of an IPv6 source it has the /64", () => {
  const { source, profiles } = world();
  source.hosts.set(HOST, [profileRecord({ source: "2001:db8:1:2:3:4:5:6" })]);
  expect(profiles.of(HOST)?.packets[0]?.header.source).toBe(address("2001:db8:1:2::"));
});

test("a host of which nothing was kept has none", () => {
  expect(world().portsOf()).toBeUndefined();
});

test("young packets are those of an attack that would be found only later", () => {
  const { source, profiles } = world();
  profiles.configure(1500);
  expect(source.delayMs).toBe(2000);
});

test("what an earlier process kept completes it until the counter has enough", () => {
  const { source, restore, portsOf } = world();
  restore([1, 2, 3]);
  expect(portsOf()).toEqual([1, 2, 3]);
  source.hosts.set(HOST, [profileRecord({ destinationPort: 443 })]);
  expect(portsOf()).toEqual([443, 1, 2, 3]);
  source.hosts.set(HOST, new Array(PROFILE_ROW.recordsMax - 1).fill(profileRecord({ destinationPort: 443 })));
  expect(portsOf()?.filter((port) => port !== 443)).toEqual([1]);
});

test("a host with a full new profile is no longer kept from before", () => {
  const { source, profiles, restore } = world();
  const other = address("203.0.113.10");
  restore([1]);
  restore([2], other);
  source.hosts.set(HOST, new Array(PROFILE_ROW.recordsMax).fill(profileRecord({})));
  source.hosts.set(other, [profileRecord({})]);
  for (const _ of profiles.counted());
  expect([...profiles.restored()].map(({ host }) => host)).toEqual([other]);
});

test("hosts of an earlier process are bounded", () => {
  const { restore } = world();
  const hostAt = (i: number) => address(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  for (let i = 0; i < PROFILED_HOSTS_MAX; i++) restore([1], hostAt(i));
  expect(restore([1], hostAt(PROFILED_HOSTS_MAX))).toBe(false);
  expect(restore([2], hostAt(0))).toBe(true);
});

test("a part of a profile has the packets that a metric counts", () => {
  const { restore, profiles } = world();
  restore([443, 53]);
  const profile = profiles.of(HOST);
  if (profile === null) throw new Error("no profile");
  expect(partOf(profile, ({ ports }) => ports?.destination === 53).packets).toHaveLength(1);
});
