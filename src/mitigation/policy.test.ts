/** The configuration as the ban engine sees it. */

import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import type { Prefix } from "../net/prefix.ts";
import { notAnnounced } from "./enclosing.ts";
import { isFor, type Subject } from "./maintenance/window.ts";
import { plainOrder } from "./order/ban-order.ts";
import { buildOrder } from "./order/order-file.ts";
import { mitigationPolicy } from "./policy.ts";
import { NOTHING_CHOSEN } from "./protection/chosen-prefixes.ts";

const WIDE = prefix("192.0.2.0/24");
const [LIVE, DRY] = [prefix("192.0.2.1/32"), prefix("192.0.2.200/32")];

const real = (own: Prefix) => ({ prefix: own, dryRun: false });

function config(dryRun: string) {
  return configOf(`
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
hostgroups:
  - { name: live, networks: [192.0.2.0/25] }
  - { name: dry, networks: [192.0.2.128/25], dry_run_directions: [${dryRun}] }
`);
}

const refusal = notAnnounced(WIDE, "hostgroup dry, which is in dry run or only watched, would move with it");

test("a wider prefix with a hostgroup in dry run is not announced for a real ban #announce-spared", () => {
  const policy = mitigationPolicy(config("incoming"));
  expect(policy.enclosingRefusal(WIDE, real(LIVE), null)).toBe(refusal);
  // The virtual ban there shows what a real one would do.
  expect(policy.enclosingRefusal(WIDE, { prefix: DRY, dryRun: true }, null)).toBeNull();
  expect(mitigationPolicy(config("outgoing")).enclosingRefusal(WIDE, real(LIVE), null)).toBeNull();
});

test("a tenant orders no ban whose substitute, when all scrub nodes are lost, would drop the addresses of others", () => {
  const policyOf = (instead: string) =>
    mitigationPolicy(
      configOf(`
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
mitigation: divert
ban: { fallback: none }
bgp: { router_id: 192.0.2.1, local_asn: 64500, next_hop: 192.0.2.1, announce_v4: 24, policies: [{ name: transit, methods: [blackhole], ipv4_lengths: 8-24 }], neighbors: [{ address: 192.0.2.2, remote_asn: 64501, policy: transit }] }
scrubbing: { on_all_nodes_lost: ${instead}, nodes: [{ name: s1, next_hop: 198.51.100.67 }] }
hostgroups: [{ name: theirs, networks: [192.0.2.0/25], tenant: theirs }]
`),
    );
  const order = plainOrder(LIVE.address);
  const by = { operator: "noc", tenant: "theirs" };
  const fault = policyOf("blackhole").orders.faultOf(order, by);
  expect(fault).toContain("192.0.2.0/24 would be announced for it");
  expect(policyOf("withdraw").orders.faultOf(order, by)).toBeNull();
});

test("nor one with addresses of others for a ban that a tenant ordered, as by a reload that adds it #announce-tenant", () => {
  const policy = mitigationPolicy(
    configOf(`
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups: [{ name: theirs, networks: [192.0.2.0/25], tenant: theirs }]
`),
  );
  expect(policy.enclosingRefusal(WIDE, real(LIVE), null)).toBeNull();
  expect(policy.enclosingRefusal(prefix("192.0.2.0/25"), real(LIVE), "theirs")).toBeNull();
  expect(policy.enclosingRefusal(WIDE, real(LIVE), "theirs")).toContain("a tenant ordered the ban");
});

test("nor one with a hostgroup that is only watched, as long as that lasts", () => {
  const times = { kind: "once", fromMs: 0, untilMs: 1 } as const;
  const window = { name: "w", reason: "", times, hostgroups: [], watchOnly: true, quiet: false, thresholdFactor: 1 };
  const parts = {
    isWatchOnly: (subject: Subject) => isFor({ ...window, prefixes: [prefix("192.0.2.64/26")] }, subject),
  };
  expect(mitigationPolicy(config(""), NOTHING_CHOSEN, parts).enclosingRefusal(WIDE, real(LIVE), null)).toContain(
    "only watched",
  );
  let isOpen = true;
  const windows = { isWatchOnly: ({ group }: { group: string }) => isOpen && group === "dry" };
  const policy = mitigationPolicy(config(""), NOTHING_CHOSEN, windows);
  expect(policy.enclosingRefusal(WIDE, real(LIVE), null)).toBe(refusal);
  isOpen = false;
  expect(policy.enclosingRefusal(WIDE, real(LIVE), null)).toBeNull();
});

test("nor for a ban by hand that is real in a window, or of an attack in a direction that is not in dry run #announce-spared", () => {
  const both = { isWatchOnly: () => true };
  const policy = mitigationPolicy(config(""), NOTHING_CHOSEN, both);
  expect(policy.enclosingRefusal(WIDE, real(LIVE), null)).toBe(refusal);
  expect(policy.enclosingRefusal(WIDE, { prefix: LIVE, dryRun: true }, null)).toBeNull();
  const own = { isWatchOnly: ({ group }: { group: string }) => group === "live" };
  expect(mitigationPolicy(config(""), NOTHING_CHOSEN, own).enclosingRefusal(WIDE, real(LIVE), null)).toBeNull();
  const outgoing = configOf(`
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
hostgroups:
  - { name: live, networks: [192.0.2.0/25], dry_run_directions: [incoming] }
  - { name: dry, networks: [192.0.2.128/25], dry_run_directions: [incoming] }
`);
  expect(mitigationPolicy(outgoing).enclosingRefusal(WIDE, real(LIVE), null)).toBe(refusal);
});

test("a neighbor that an order or a template names by its address is known in each form of that", () => {
  const { orders } = mitigationPolicy(
    configOf(`
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
bgp: { router_id: 192.0.2.1, local_asn: 64500, next_hop: 192.0.2.1, neighbors: [{ address: "2001:DB8::2", remote_asn: 64501 }] }
order_templates: [{ name: one, method: blackhole, neighbors: ["2001:db8:0::2"] }]
`),
  );
  for (const neighbor of ["2001:DB8::2", "2001:db8::2", "2001:db8:0::2"]) {
    const order = { prefix: LIVE, ...buildOrder({ method: "blackhole", neighbors: [neighbor] }) };
    expect(orders.faultOf(order, { operator: "noc", tenant: null })).toBeNull();
  }
});
