import { expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { address } from "../../../test/fixtures/host-rows.ts";
import { attack } from "../../../test/fixtures/views.ts";
import { ActiveAttacks } from "../attack/active-attacks.ts";
import { attackedHosts } from "./attacked-hosts.ts";

const CONFIG = configOf(`networks: [192.0.2.0/24, 203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups: [{ name: web, networks: [192.0.2.128/25] }]
`);

test.each([
  ["none", [], []],
  ["one on a host", [{ target: address("192.0.2.1") }], ["192.0.2.1"]],
  ["one by a host", [{ target: address("192.0.2.1"), direction: "outgoing" as const }], []],
  [
    "one on a prefix",
    [{ target: null, carpet: { prefix: "203.0.113.0/25", hosts: 3 } }],
    ["203.0.113.1", "203.0.113.127"],
  ],
  ["one on a hostgroup", [{ target: null, group: "web" }], ["192.0.2.129"]],
])("of the attacks in progress, %s: the hosts that receive it", (_, attacks, hosts) => {
  const active = new ActiveAttacks();
  for (const [i, fields] of attacks.entries()) active.set(attack({ ...fields, id: String(i) }));
  const isAttacked = attackedHosts(active, CONFIG);
  const all = ["192.0.2.1", "192.0.2.129", "203.0.113.1", "203.0.113.127", "203.0.113.128"];
  expect(all.filter((host) => isAttacked(address(host)))).toEqual(hosts);
});
