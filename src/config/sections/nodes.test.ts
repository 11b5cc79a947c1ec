import { describe, expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { nextHopFor, type ScrubNodeConfig } from "../../scrub/scrubbing-config.ts";
import type { Config } from "../config.ts";

const BASE = "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n";

function scrubbingOf(scrubbing: string): Config["scrubbing"] {
  const groups = "hostgroups: [{name: web, networks: [192.0.2.0/25]}]\n";
  return configOf(`${BASE}${groups}scrubbing: ${scrubbing}\n`).scrubbing;
}

function nodeOf(scrubbing: string): ScrubNodeConfig {
  const [node] = scrubbingOf(scrubbing)?.nodes ?? [];
  if (node === undefined) throw new Error("the test has no node");
  return node;
}

test("scrubbing goes by affinity, withdraws with its last node, and misses a node after 15 s", () => {
  expect<unknown>(scrubbingOf("{nodes: [{name: s1}]}")).toEqual({
    nodes: [{ name: "s1", nextHop: null, nextHop6: null, capacityMbps: null, hostgroups: null }],
    selection: "affinity",
    onAllNodesLost: "withdraw",
    staleAfterSeconds: 15,
  });
});

test("scrubbing has all its keys", () => {
  const node = "{name: s1, next_hop: 192.0.2.66, next_hop6: '2001:db8::66', capacity_mbps: 2.5, hostgroups: [web]}";
  const keys = "node_selection: least_loaded, on_all_nodes_lost: flowspec, stale_after_seconds: 60";
  expect<unknown>(scrubbingOf(`{${keys}, nodes: [${node}]}`)).toEqual({
    nodes: [{ name: "s1", nextHop: "192.0.2.66", nextHop6: "2001:db8::66", capacityMbps: 2.5, hostgroups: ["web"] }],
    selection: "least_loaded",
    onAllNodesLost: "flowspec",
    staleAfterSeconds: 60,
  });
});

test("scrubbing and its nodes have names and descriptions for people, on one line each", () => {
  const section = `{next_hop: 192.0.2.66, next_hop_name: rack7, nodes: [{name: s1, description: "Frankfurt, rack 7"}]}`;
  expect(scrubbingOf(section)).toMatchObject({
    nextHopName: "rack7",
    nodes: [{ name: "s1", description: "Frankfurt, rack 7" }],
  });
  const described = (text: string) => () => scrubbingOf(`{nodes: [{name: s1, description: ${JSON.stringify(text)}}]}`);
  for (const length of [1, 199, 200]) expect(described("ü".repeat(length))).not.toThrow();
  for (const wrong of ["", "x".repeat(201), "two\nlines", "\u202etxet"]) {
    expect(described(wrong)).toThrow("must be 1 to 200 characters on one line");
  }
});

describe("a scrub node", () => {
  const section = (node: string) => `{next_hop: 192.0.2.1, next_hop6: "2001:db8::1", nodes: [${node}]}`;

  test("without a next hop of its own is where scrubbing is", () => {
    expect(nodeOf(section("{name: s1}"))).toMatchObject({ nextHop: "192.0.2.1", nextHop6: "2001:db8::1" });
  });

  test("with one takes that family alone", () => {
    const node = nodeOf(section("{name: s1, next_hop6: '2001:db8::66'}"));
    expect(node).toMatchObject({ nextHop: null, nextHop6: "2001:db8::66" });
  });

  test("takes the traffic of all hostgroups, or of its own alone", () => {
    const [all, web] = [nodeOf(section("{name: s1}")), nodeOf(section("{name: s1, hostgroups: [web]}"))];
    const hops = (node: ScrubNodeConfig) => ["web", "global"].map((group) => nextHopFor(node, group, 4) as string);
    expect(hops(all)).toEqual(["192.0.2.1", "192.0.2.1"]);
    expect(hops(web)).toEqual(["192.0.2.1", null as never]);
    expect(nextHopFor(web, "web", 6) as string).toBe("2001:db8::1");
  });
});
