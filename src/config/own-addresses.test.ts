/** Every key of the configuration that can hold an address is own infrastructure, or is stated here not to be. */

import { describe, expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { type Prefix, parsePrefix } from "../net/prefix.ts";
import { pathText } from "../schema/problem.ts";
import { FORMAT_PREFIX } from "../schema/schema-forms.ts";
import { ownText } from "../traffic/own-infrastructure.ts";
import { ownAddresses, serverNames } from "./own-addresses.ts";
import { ConfigFile } from "./sections/schema.ts";

/** Texts without an address in them. */
const OTHER_FORMS =
  /^(.*Name|.*Path|path|.*[rR]ange.*|community|countryCode|hexBytes|interfacePattern|macAddress|mailAddress)$/;
const NOT_OWN: Readonly<Record<string, string>> = {
  "networks[]": "what is protected",
  "protected_whitelist[]": "is not banned for another reason",
  "hostgroups[].networks[]": "what is protected",
  "dataplane.allowlist[]": "sources that are not dropped",
  "dataplane.tunnels[].networks[]": "what is protected",
  "prefix_sets[].accept": "the checksum of a file",
  "filter_rules[].destinations[]": "what the rule is for",
  "filter_rules[].source": "sources that the rule is for",
  "notify.telegram.chat_id": "a number",
  "notify.targets[].telegram.chat_id": "a number",
  "notify.time_zone": "a name",
  "notify.routes[].time_zone": "a name",
  "notify.routes[].hours": "a part of the day",
  "notify.routes[].quiet[].hours": "a part of the day",
  "notify.targets[].template": "words for people",
  "notify.tenant_targets.hosts[]": "of receivers of tenants",
  "notify.tenant_targets.private_networks[]": "where receivers of tenants may be",
  "notify.tenant_targets.tenants[].hosts[]": "of receivers of tenants",
  "notify.tenant_targets.tenants[].private_networks[]": "where receivers of tenants may be",
  "notify.tenant_targets.nat64_prefixes[]": "of translators, whose addresses are in no packet here",
  "order_templates[].rules[].source": "sources that the rule is for",
  "order_templates[].neighbors[]": "names of neighbors, whose addresses are own already",
  "order_templates[].reason": "words for people",
  "maintenance[].prefixes[]": "what the window is for",
  "maintenance[].reason": "words for people",
  "maintenance[].from": "a time",
  "maintenance[].until": "a time",
  "maintenance[].weekly.at": "a time",
  "maintenance[].weekly.time_zone": "a name",
  "cluster.etcd.prefix": "names of keys",
  "cluster.etcd.user": "a name",
  "api.oidc.roles[].value": "a value of a claim",
  "notify.page_url": "a link for people, of this service",
  "bgp.neighbors[].description": "words for people",
  "bgp.policies[].description": "words for people",
  "scrubbing.nodes[].description": "words for people",
  "hostgroups[].contacts[]": "words for people",
};

/** Keys of texts, each once, with `[]` for the items of lists. */
function* textKeys(schema: TSchema, path = ""): Generator<string> {
  if (schema["sameKeysAs"] !== undefined) return;
  const { anyOf = [], type, items, properties = {}, format = FORMAT_PREFIX } = schema;
  for (const option of anyOf as TSchema[]) yield* textKeys(option, path);
  const form = String(format).slice(FORMAT_PREFIX.length);
  if (type === "string" && schema["const"] === undefined && !OTHER_FORMS.test(form)) yield path;
  if (items !== undefined) yield* textKeys(items as TSchema, `${path}[]`);
  for (const [key, inner] of Object.entries(properties as Record<string, TSchema>)) {
    yield* textKeys(inner, path === "" ? key : `${path}.${key}`);
  }
}

/** Each key has an address of its own. */
const CONFIG = `
networks: [10.0.0.0/8, "2001:db8::/32"]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
api: { listen: "10.0.1.8:8080", token_env: TOKEN, oidc: { issuer: "https://10.0.1.9/", client_id: f, public_url: "https://10.0.1.10", roles: [{ value: noc, role: viewer }] } }
capture:
  interfaces: [{ name: eth0, mode: mirror }]
  tunnels: [{ address: 10.0.5.1, from: [10.0.5.2/32, 10.0.6.0/24, 10.16.0.0/12] }]
telemetry:
  listen: [{ address: 10.0.3.1, port: 6343 }, { port: 2055 }]
  exporters:
    - { address: 10.0.3.2, name: edge1 }
    - { address: 10.0.4.0/28, name: access }
    - { address: 10.32.0.0/11, name: anyone }
hostgroups:
  - name: web
    networks: [10.0.2.0/24]
    bgp: { next_hop: 10.0.1.66, next_hop6: "2001:db8::66" }
    flowspec: { redirect: 10.0.1.74 }
flowspec: { action: redirect, redirect: 10.0.1.73 }
scrubbing:
  nodes: [{ name: s1, next_hop: 10.0.1.21, next_hop6: "2001:db8::21" }, { name: s2 }]
dataplane:
  interfaces: [eth1]
  forward: redirect
  tunnels: [{ networks: [10.0.2.0/25], type: gre, local: 10.0.7.1, remote: 10.0.7.2 }]
storage: { driver: clickhouse, clickhouse: { url: "http://10.0.8.1:8123" } }
notify:
  email: { host: 10.0.8.2, from: a@example.net, to: [b@example.net] }
  targets:
    - { name: mail, email: { host: 10.0.8.3, from: a@example.net, to: [b@example.net] } }
    - { name: alerts, alertmanager: { url: "http://10.0.8.4:9093" } }
    - { name: log, syslog: { host: 10.0.8.5 } }
    - { name: call, pagerduty: { key_env: KEY, url: "http://10.0.8.6" } }
    - { name: other-call, opsgenie: { key_env: KEY, url: "http://10.0.8.7" } }
cluster:
  name: brain1
  listen: "10.0.9.1:8443"
  certificate: /etc/floodwall/cluster/brain1.pem
  key: /etc/floodwall/cluster/brain1.key
  authority: /etc/floodwall/cluster/ca.pem
  brains: [{ name: brain2, address: "10.0.9.2:8443" }]
  etcd: { endpoints: ["https://10.0.9.3:2379"] }
update_check: { enabled: true, url: "https://[2001:db8::83]/floodwall.json" }
bgp:
  speaker: external
  grpc: "10.0.1.9:50051"
  local_asn: 64500
  router_id: 10.0.1.1
  next_hop: 10.0.1.65
  next_hop6: "2001:db8::65"
  neighbors: [{ address: 10.0.1.3, remote_asn: 64500, source_address: 10.0.1.4 }]
`;
/** With the keys that are not allowed beside `grpc` and nodes. */
const OTHER = CONFIG.replace("speaker: external", "speaker: managed")
  .replace('grpc: "10.0.1.9:50051"', 'listen: "10.0.1.2:179"')
  .replace(
    /^bgp:$/m,
    'bgp:\n  policies: [{ name: p, blackhole: { next_hop: 10.0.1.71, next_hop6: "2001:db8::71" }, divert: { next_hop: 10.0.1.72, next_hop6: "2001:db8::72" } }]',
  )
  .replace(/ {2}nodes: .*/, '  next_hop: 10.0.1.20\n  next_hop6: "2001:db8::20"')
  .replace(/ {4}bgp: .*/, '    scrubbing: { next_hop: 10.0.1.22, next_hop6: "2001:db8::22" }');

describe("the own addresses of a configuration", () => {
  test("are in every key that can hold an address, or the key is stated not to be own", () => {
    const own = [CONFIG, OTHER].flatMap((text) => ownAddresses(configOf(text)));
    const returned = new Set(own.map(({ path }) => pathText(path).replaceAll(/\[\d+\]/g, "[]")));
    const missing = [...new Set(textKeys(ConfigFile))].filter((key) => !(key in NOT_OWN) && !returned.has(key));
    // One key is an address or a list of such; its items are named by the key.
    expect(missing).toEqual(["bgp.listen[]"]);
  });

  test("of servers by their names are those of the service's own", () => {
    const named = CONFIG.replace("http://10.0.8.1:8123", "http://db.example.net:8123")
      .replace("https://10.0.9.3:2379", "https://etcd.example.net:2379")
      .replace("syslog: { host: 10.0.8.5 }", "syslog: { host: log.example.net }")
      .replace("http://10.0.8.6", "https://events.example.net");
    expect(serverNames(configOf(named)).toSorted()).toEqual(["db.example.net", "etcd.example.net", "log.example.net"]);
  });

  test("are no senders in a prefix that may be all of the networks", () => {
    const own = ownAddresses(configOf(CONFIG)).map(ownText);
    expect(own).toEqual(expect.arrayContaining(["10.0.5.2", "10.0.6.0/24", "10.0.3.2", "10.0.4.0/28"]));
    expect(own).not.toContain("10.16.0.0/12");
    expect(own).not.toContain("10.32.0.0/11");
  });

  test.each([
    ["10.0.3.1", "telemetry.listen[0].address"],
    ["10.0.3.2", "telemetry.exporters[0].address"],
    ["10.0.5.1", "capture.tunnels[0].address"],
    ["10.0.5.2", "capture.tunnels[0].from[0]"],
    ["10.0.7.1", "dataplane.tunnels[0].local"],
    ["10.0.7.2", "dataplane.tunnels[0].remote"],
    ["10.0.8.1", "storage.clickhouse.url"],
    ["10.0.8.2", "notify.email.host"],
    ["10.0.9.1", "cluster.listen"],
    ["10.0.9.2", "cluster.brains[0].address"],
    ["10.0.9.3", "cluster.etcd.endpoints[0]"],
    ["2001:db8::83", "update_check.url"],
    ["10.0.1.9", "bgp.grpc"],
  ])("are not banned: %s is %s", (own, key) => {
    const address = parsePrefix(own.includes(":") ? `${own}/128` : `${own}/32`) as Prefix;
    const refusal = `own infrastructure: ${own} is ${key}; to ban it, change that key first` as const;
    expect(configOf(CONFIG).own.refusalOf(address.address)).toBe(refusal);
  });

  test("are not banned as part of a prefix of senders, nor is a prefix inside of it", () => {
    const own = configOf(CONFIG).own;
    const refusal =
      "own infrastructure: 10.0.4.0/28 is telemetry.exporters[1].address; to ban it, change that key first";
    expect(own.refusalOf((parsePrefix("10.0.4.9/32") as Prefix).address)).toBe(refusal);
    expect(own.refusalIn(parsePrefix("10.0.4.8/29") as Prefix)).toBe(refusal);
    expect(own.refusalIn(parsePrefix("10.0.4.0/24") as Prefix)).toBe(refusal);
    expect(own.refusalIn(parsePrefix("10.0.4.16/28") as Prefix)).toBeNull();
  });
});
