import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import type { IpAddress } from "../../net/address.ts";
import { BusyProfiles } from "./busy-profiles.ts";
import { MINUTE_HEADERS_MAX, type MinuteHeader, MinuteSample, PASS_HEADERS_MAX } from "./minute-sample.ts";
import { seededDraws } from "./seeded-draws.ts";

const header = (destination: string): MinuteHeader["header"] => ({
  source: address("198.51.100.1"),
  destination: address(destination),
  protocol: 17,
  ports: null,
  tcpFlags: null,
  fragment: null,
  packetBytes: 100,
});
const one = (destination: string, packets = 1): MinuteHeader => ({
  header: header(destination),
  wireBytes: 114,
  packets,
  isAttacked: false,
  verdict: null,
});
const many = (count: number, destination: string, packets = 1) =>
  Array.from({ length: count }, () => one(destination, packets));
const made = () => new MinuteSample(seededDraws(1, "test"));
const weightOf = (headers: readonly MinuteHeader[], of?: string) =>
  headers
    .filter(({ header: { destination } }) => of === undefined || destination === of)
    .reduce((sum, { packets }) => sum + packets, 0);

test("a flooded host does not push out the others, and the weights stay those of all traffic", () => {
  const sample = made();
  sample.add(1000, 1, [...many(900, "192.0.2.1", 10), ...many(5, "192.0.2.2", 10), ...many(3, "192.0.2.3", 10)]);
  const { headers } = sample.read(1000);
  expect(headers.length).toBe(PASS_HEADERS_MAX);
  for (const [host, packets] of [
    ["192.0.2.1", 9000],
    ["192.0.2.2", 50],
    ["192.0.2.3", 30],
  ] as const)
    expect(weightOf(headers, host)).toBeCloseTo(packets, 6);
});

test("of more hosts than places the heavy ones are kept for sure, and the sum is right", () => {
  const sample = made();
  const small = Array.from({ length: 600 }, (_, i) => one(`192.0.${2 + (i >> 8)}.${i & 255}`, 1));
  sample.add(1000, 1, [...small, one("203.0.113.1", 400)]);
  const { headers } = sample.read(1000);
  expect(headers.length).toBe(PASS_HEADERS_MAX);
  expect(weightOf(headers, "203.0.113.1")).toBe(400);
  expect(Math.abs(weightOf(headers) - 1000)).toBeLessThanOrEqual(600 / (PASS_HEADERS_MAX - 1));
});

test("no more than the bound is kept, and nothing older than a minute", () => {
  const sample = made();
  for (let second = 1; second <= 200; second++) sample.add(1000 * second, 1, many(1024, `192.0.2.${second}`));
  const { headers, seconds } = sample.read(200_000);
  expect(headers.length).toBeLessThanOrEqual(MINUTE_HEADERS_MAX);
  expect(headers.length).toBe(60 * PASS_HEADERS_MAX);
  expect(seconds).toBe(60);
  expect(headers.some(({ header: { destination } }) => destination === "192.0.2.140")).toBe(false);
  expect(sample.read(260_000)).toEqual({ headers: [], seconds: 0 });
});

test("what came before an attack was found is of the attack, too", () => {
  const sample = made();
  for (const atMs of [1000, 2000, 3000]) sample.add(atMs, 1, [one("192.0.2.1"), one("192.0.2.2")]);
  sample.attacked((host) => host === "192.0.2.1", 2000);
  expect(sample.read(3000).headers.map(({ isAttacked }) => isAttacked)).toEqual([
    false,
    false,
    true,
    false,
    true,
    false,
  ]);
});

test("it has the headers that the busiest hosts are read from, also of attacked hosts, with the packets that they stand for", () => {
  const headers = new FakeHeaderSamples();
  const frame = (dst: string) => ethernet(ip({ src: "198.51.100.1", dst }, udp()));
  headers.frames = [
    { frame: frame("203.0.113.7"), standsFor: 100, verdict: "drop_rule" },
    { frame: frame("203.0.113.8"), standsFor: 50, ageMs: 200 },
    { frame: frame("203.0.113.9"), standsFor: 50 },
    { frame: frame("198.51.100.2"), standsFor: 50 },
    { frame: frame("203.0.113.8"), standsFor: 50, ageMs: 1000 },
  ];
  const profiles = new BusyProfiles(headers, 1);
  const hosts = {
    isProtected: (host: IpAddress) => host.startsWith("203.0.113."),
    isAttacked: (host: IpAddress) => host === "203.0.113.7",
    isInAttack: (host: IpAddress) => host === "203.0.113.7" || host === "203.0.113.9",
    foundAfterMs: 1000,
  };
  for (const nowMs of [1000, 2000]) profiles.learn(nowMs, hosts);
  const { headers: kept, seconds } = profiles.minute.read(2000);
  expect(seconds).toBe(1);
  const rows = kept.map((each) => [each.header.destination, each.packets, each.isAttacked, each.verdict]);
  expect(rows).toEqual([
    [address("203.0.113.7"), 100, true, "drop_rule"],
    [address("203.0.113.8"), 50, false, null],
    [address("203.0.113.9"), 50, true, null],
  ]);
});
