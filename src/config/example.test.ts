/** deploy/floodwall.yaml is the first thing that an operator reads: it must load, and say the truth about defaults. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import type { Config } from "./config.ts";
import { parseConfig } from "./load/load.ts";
import { describeProblem } from "./load/problem.ts";
import { ConfigFile } from "./sections/schema.ts";

const EXAMPLE = readFileSync(join(import.meta.dir, "../../deploy/floodwall.yaml"), "utf8");
/** With the keys that are off turned on. */
const FULL_EXAMPLE = EXAMPLE.replace(/^#(?=\w| {2})/gm, "");

function configOf(text: string): Config {
  const loaded = parseConfig(new TextEncoder().encode(text));
  if (loaded.kind === "valid") return loaded.config;
  throw new Error(loaded.problems.map((problem) => describeProblem("", problem)).join("\n"));
}

test("the example shows the defaults", () => {
  const example = configOf(EXAMPLE);
  const minimal = configOf(`networks: [${example.networks.map(({ text }) => text).join()}]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 50000}`);
  expect(example).toEqual(minimal);
});

test("the example shows the defaults of the sections that are off as well", () => {
  const { capture, hostgroups, carpet, bgp, dataplane, scrubbing, edge, notify } = configOf(FULL_EXAMPLE);
  const minimal = configOf(`networks: [192.0.2.0/24]
thresholds: {pps: 1, mbps: 1, flows_per_sec: 1}
capture: {interfaces: [{name: eth1, mode: mirror}]}
thresholds_outgoing: {pps: 100000}
baseline: {floor: {pps: 10000, mbps: 100, flows_per_sec: 5000}}
carpet: {thresholds: {pps: 300000, mbps: 3000}}
bgp:
  local_asn: 64500
  router_id: 192.0.2.10
  listen: 192.0.2.10:179
  next_hop: 192.0.2.66
  neighbors: [{address: 192.0.2.254, remote_asn: 64501}]
dataplane: {interfaces: [eth0]}
scrubbing: {next_hop: 192.0.2.67, next_hop6: "2001:db8::67", nodes: [{name: scrub1}]}
notify:
  webhook: {url_env: FLOODWALL_WEBHOOK_URL}
  slack: {url_env: FLOODWALL_SLACK_URL}
  telegram: {token_env: FLOODWALL_TELEGRAM_TOKEN, chat_id: "-1000"}
  email: {host: mail.example.net, from: floodwall@example.net, to: [noc@example.net]}
  exec: {command: /usr/local/bin/floodwall-event}`);
  const { capture: minimalCapture, bgp: minimalBgp } = minimal;
  expect({ capture, bgp, scrubbing, notify }).toEqual({
    capture: minimalCapture,
    bgp: minimalBgp,
    scrubbing: minimal.scrubbing,
    notify: minimal.notify,
  });
  const learnedAndSent = (groups: Config["hostgroups"]) =>
    groups.map(({ baseline, thresholdsOutgoing }) => ({ baseline, thresholdsOutgoing }));
  expect(learnedAndSent(hostgroups)).toEqual(learnedAndSent(minimal.hostgroups));
  expect(carpet).toEqual(minimal.carpet);
  expect(dataplane).toEqual(minimal.dataplane);
  expect(edge).toEqual({
    nodes: [{ name: "edge1", hostgroups: ["global"] }],
    zonesFile: "/etc/floodwall/zones.yaml",
    zones: [],
    staleAfterSeconds: 15,
  });
});

test("the example names every key", () => {
  const missing = keysOf(ConfigFile).filter((key) => !new RegExp(`\\b${key}:`).test(EXAMPLE));
  // It goes with speaker external, and is named there.
  expect(missing).toEqual(["grpc"]);
  expect(EXAMPLE).toContain("grpc says where");
});

function keysOf(schema: TSchema): string[] {
  const properties = (schema["properties"] ?? {}) as Record<string, TSchema>;
  const items = schema["items"] as TSchema | undefined;
  const own = Object.entries(properties).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
  return items === undefined ? own : [...own, ...keysOf(items)];
}
