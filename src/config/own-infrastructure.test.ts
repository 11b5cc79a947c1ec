import { describe, expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { unbannableFor, withdrawnAs } from "../mitigation/admission.ts";
import { mitigationPolicy } from "../mitigation/policy.ts";
import { type Prefix, parsePrefix } from "../net/prefix.ts";
import { sourceBlockPolicy } from "../sourceblock/policy.ts";
import { ownText } from "../traffic/own-infrastructure.ts";
import type { Config } from "./config.ts";
import { ownAddresses } from "./own-addresses.ts";

const CONFIG = `
networks: [10.0.0.0/16, "2001:db8::/32"]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
protected_whitelist: [10.0.9.53]
api: { listen: "10.0.1.8:8080", token_env: TOKEN }
hostgroups:
  - { name: web, networks: [10.0.2.0/24], bgp: { next_hop: 10.0.1.66 }, scrubbing: { communities: ["64500:9"] } }
carpet: { thresholds: { pps: 5000 }, mitigation: blackhole }
scrubbing:
  next_hop: 10.0.1.20
  nodes: [{ name: s1, next_hop: 10.0.1.21, next_hop6: "2001:db8::21" }, { name: s2 }]
bgp:
  local_asn: 64500
  router_id: 10.0.1.1
  listen: 10.0.1.2:179
  next_hop: 10.0.1.65
  neighbors: [{ address: 10.0.1.3, remote_asn: 64500 }, { address: 203.0.113.3, remote_asn: 64501 }]
`;

const prefix = (text: string) => parsePrefix(text) as Prefix;
const refusalOf = (text: string, config: Config) => unbannableFor(prefix(text), mitigationPolicy(config));

describe("own infrastructure", () => {
  const config = configOf(CONFIG);

  test.each([
    ["10.0.1.1/32", "bgp.router_id"],
    ["10.0.1.2/32", "bgp.listen"],
    ["10.0.1.3/32", "bgp.neighbors[0].address"],
    ["10.0.1.65/32", "bgp.next_hop"],
    ["10.0.1.66/32", "hostgroups[0].bgp.next_hop"],
    ["10.0.1.20/32", "scrubbing.next_hop"],
    ["10.0.1.21/32", "scrubbing.nodes[0].next_hop"],
    ["2001:db8::21/128", "scrubbing.nodes[0].next_hop6"],
    ["10.0.1.8/32", "api.listen"],
  ])("is not banned: %s is %s", (own, key) => {
    const address = prefix(own).address;
    const refusal = `own infrastructure: ${address} is ${key}; to ban it, change that key first` as const;
    expect(refusalOf(own, config)).toBe(refusal);
    expect(withdrawnAs(refusal)).toBe(`target is ${refusal}`);
    expect(sourceBlockPolicy(config).isOwn(address)).toBe(true);
  });

  test("keeps every prefix that contains it from being banned, and no other", () => {
    expect(refusalOf("10.0.1.0/24", config)).toContain("own infrastructure: 10.0.1.");
    expect(refusalOf("2001:db8::/48", config)).toContain("own infrastructure: 2001:db8::21 ");
    expect(refusalOf("10.0.2.0/24", config)).toBeNull();
    expect(refusalOf("10.0.1.4/32", config)).toBeNull();
  });

  test("does not change the reason outside the networks, nor of the whitelist", () => {
    expect(refusalOf("203.0.113.3/32", config)).toBe("outside configured networks");
    const whitelisted = configOf(CONFIG.replace("[10.0.9.53]", "[10.0.1.0/24]"));
    expect(refusalOf("10.0.1.1/32", whitelisted)).toBe("whitelisted");
  });

  test("is each address once, without loopback and unspecified ones", () => {
    const open = CONFIG.replace("10.0.1.8:8080", "0.0.0.0:8080").replace("10.0.1.2:179", "127.0.0.1:179");
    const addresses = ownAddresses(configOf(open)).map(ownText);
    expect(addresses).toEqual([
      ...["10.0.1.1", "10.0.1.3", "203.0.113.3", "10.0.1.65", "100::1"],
      ...["10.0.1.20", "10.0.1.66", "10.0.1.21", "2001:db8::21"],
    ]);
  });
});
