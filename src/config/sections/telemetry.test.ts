import { expect, test } from "bun:test";
import { configWith } from "../../../test/fixtures/config/parsed-config.ts";
import { parseAddress } from "../../net/address.ts";
import { keepRestartKeys, restartKeys } from "../reload.ts";
import { configWarnings } from "../warnings/warnings.ts";

const LISTEN = "telemetry:\n  listen: [{port: 6343}]\n";

const warningsOf = (text: string) =>
  configWarnings(configWith(text), () => null)
    .filter(({ path }) => path[0] === "telemetry")
    .map(({ path, rule }) => `${path.join(".")}: ${rule.split(/[:;]/)[0]}`);

test("each key of telemetry is in its place, and it needs no capture", () => {
  const { telemetry, capture } = configWith(`telemetry:
  listen: [{port: 6343}, {address: 192.0.2.9, port: 2055, threads: 2, receive_buffer_mb: 1, cpus: [1, 2]}]
  exporters:
    - {address: 192.0.2.1, name: edge1}
    - {address: "2001:db8::/48", name: edge6, sampling_rate: 1000, direction: both, site: fra1, decapsulate: [gre],
       interfaces: {external: [17, 20-29, "et-0/0/*"], internal: ["xe*"]}, silent_after_seconds: 5,
       fastest_interface_mbps: 400000}
`);
  expect(telemetry?.listen).toEqual([
    { address: parseAddress("::"), port: 6343, threads: 1, receiveBufferBytes: 64 * 1024 * 1024, cpus: [] },
    { address: parseAddress("192.0.2.9"), port: 2055, threads: 2, receiveBufferBytes: 1024 * 1024, cpus: [1, 2] },
  ] as unknown as NonNullable<typeof telemetry>["listen"]);
  const plain = {
    samplingRate: null,
    fastestInterfaceMbps: null,
    direction: "ingress",
    external: null,
    internal: null,
    site: null,
  };
  expect<unknown>(telemetry?.exporters.map(({ prefix, ...rest }) => ({ ...rest, prefix: prefix.text }))).toEqual([
    { ...plain, name: "edge1", prefix: "192.0.2.1/32", decapsulate: [], silentAfterSeconds: 60 },
    {
      ...{ name: "edge6", prefix: "2001:db8::/48", samplingRate: 1000, direction: "both", site: "fra1" },
      fastestInterfaceMbps: 400_000,
      ...{ external: ["17", "20-29", "et-0/0/*"], internal: ["xe*"], decapsulate: ["gre"], silentAfterSeconds: 5 },
    },
  ]);
  expect(capture).toMatchObject({ interfaces: [], pcapFile: null, maxHosts: 1_048_576 });
});

test("capture beside it may say nothing but how many hosts are tracked", () => {
  const text = `${LISTEN}  exporters: [{address: 192.0.2.1, name: edge1}]\ncapture: {max_hosts: 1000}\n`;
  expect(configWith(text).capture).toMatchObject({ interfaces: [], maxHosts: 1000 });
  expect(warningsOf(text)).toEqual([]);
});

test("exporters are put in force by a reload; where they are received, or whether at all, needs a restart", () => {
  const one = configWith(`${LISTEN}  exporters: [{address: 192.0.2.1, name: edge1}]\n`);
  const other = configWith(`${LISTEN}  exporters: [{address: 192.0.2.2, name: edge2}]\n`);
  const moved = configWith(`telemetry: {listen: [{port: 2055}], exporters: [{address: 192.0.2.2, name: edge2}]}\n`);
  const none = configWith("");
  expect(restartKeys(one, other)).toEqual([]);
  expect(keepRestartKeys(one, other).telemetry).toEqual(other.telemetry);
  expect(restartKeys(one, moved)).toEqual(["telemetry.listen"]);
  expect(keepRestartKeys(one, moved).telemetry).toEqual(other.telemetry);
  for (const [running, next] of [
    [one, none],
    [none, one],
  ] as const) {
    expect(restartKeys(running, next)).toEqual(["telemetry"]);
    expect(keepRestartKeys(running, next).telemetry).toEqual(running.telemetry);
  }
});

test("what counts a packet twice, or lets others send, is warned of", () => {
  const exporters = (...lines: string[]) =>
    `${LISTEN}  exporters:\n${lines.map((line) => `    - {${line}}\n`).join("")}`;
  expect(warningsOf(exporters("address: 192.0.2.1, name: edge1"))).toEqual([]);
  expect(warningsOf(exporters("address: 192.0.2.1, name: edge1", "address: 192.0.2.2, name: edge2"))).toEqual([
    "telemetry.exporters: several have neither interfaces nor a site",
  ]);
  const roles = "interfaces: {external: [1]}";
  const named = exporters(`address: 192.0.2.1, name: edge1, ${roles}`, `address: 10.0.0.0/8, name: edge2, ${roles}`);
  expect(warningsOf(named)).toEqual(["telemetry.exporters.1.address: 10.0.0.0/8 is wide"]);
  expect(warningsOf(exporters("address: 192.0.2.1, name: edge1, direction: both, site: fra1"))).toEqual([
    "telemetry.exporters.0.direction: both without interfaces",
    "telemetry.exporters.0.site: fra1 has no other exporter",
  ]);
  expect(
    warningsOf(`${exporters("address: 192.0.2.1, name: edge1")}capture: {interfaces: [{name: eth1, mode: inline}]}\n`),
  ).toEqual(["telemetry: is beside capture"]);
});
