import { describe, expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { ownText } from "../traffic/own-infrastructure.ts";
import type { Config } from "./config.ts";
import { keepRestartKeys, restartKeys } from "./reload.ts";

const BASE = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
capture: {interfaces: [{name: eth1, mode: mirror}]}
bgp:
  local_asn: 64500
  router_id: 192.0.2.10
  next_hop: 192.0.2.66
  neighbors: [{address: 192.0.2.1, remote_asn: 64501}]
`;

function changedBase(from: string, to: string): Config {
  const changed = BASE.replace(from, to);
  if (changed === BASE) throw new Error(`${from} is not in the base`);
  return configOf(changed);
}

test("the same file again needs no restart", () => {
  expect(restartKeys(configOf(BASE), configOf(BASE))).toEqual([]);
});

describe("a restart is needed for", () => {
  test.each([
    ["name: eth1", "name: eth2", ["capture.interfaces"]],
    ["{name: eth1, mode: mirror}", "{name: eth1, mode: mirror, cpus: [1]}", ["capture.interfaces"]],
    ["capture: {", "capture: {max_hosts: 1000, ", ["capture.max_hosts"]],
    ["interfaces: [{name: eth1, mode: mirror}]", "pcap_file: a.pcap", ["capture.interfaces", "capture.pcap_file"]],
    ["capture: {interfaces: [{name: eth1, mode: mirror}]}", "", ["capture"]],
    ["capture", "detection: {window_ms: 2000}\ncapture", ["detection.window_ms"]],
    ["capture", "detection: {tick_ms: 50}\ncapture", ["detection.tick_ms"]],
    ["capture", "state_dir: /srv/floodwall\ncapture", ["state_dir"]],
    ["capture: {", "capture: {vxlan_ports: [4789, 8472], ", ["capture.vxlan_ports"]],
    ["capture", 'api: {listen: "[::1]:8080"}\ncapture', ["api.listen"]],
    ["capture", "api: {listen: 127.0.0.1:8081}\ncapture", ["api.listen"]],
    ["capture", "dataplane: {interfaces: [eth0]}\ncapture", ["dataplane"]],
    [
      "capture",
      'cluster: {name: a, listen: "192.0.2.1:1", certificate: /a, key: /a, authority: /a, brains: [{name: b, address: "192.0.2.2:1"}]}\ncapture',
      ["cluster"],
    ],
    ["capture", "storage: {driver: none}\ncapture", ["storage.driver"]],
    ["capture", "storage: {path: /srv/history.sqlite}\ncapture", ["storage.path"]],
    ["capture", "storage: {max_bytes: 16777216}\ncapture", ["storage.max_bytes"]],
    [
      "capture",
      'storage: {driver: clickhouse, clickhouse: {url: "http://127.0.0.1:8123"}}\ncapture',
      ["storage.driver", "storage.clickhouse"],
    ],
    ["capture", "storage: {retention_days: 1}\ncapture", ["storage.retention_days"]],
    ["capture", "storage: {traffic_interval_seconds: 1}\ncapture", ["storage.traffic_interval_seconds"]],
    ["bgp:", "bgp:\n  speaker: external\n  grpc: /run/gobgp.sock", ["bgp.speaker", "bgp.grpc"]],
    ["bgp:", "bgp:\n  instance: 7", ["bgp.instance"]],
    ["local_asn: 64500", "local_asn: 64499", ["bgp.local_asn"]],
    ["router_id: 192.0.2.10", "router_id: 192.0.2.11", ["bgp.router_id"]],
    ["router_id: 192.0.2.10", "router_id: 192.0.2.10\n  listen: 192.0.2.10:179", ["bgp.listen"]],
  ])("%s → %s, and until then the running value is kept", (from, to, keys) => {
    const [running, next] = [configOf(BASE), changedBase(from, to)];
    expect(restartKeys(running, next)).toEqual(keys);
    expect(restartKeys(running, keepRestartKeys(running, next))).toEqual([]);
  });

  test("another size of the history in ClickHouse, by its own key", () => {
    const clickhouse = `${BASE}storage: {driver: clickhouse, clickhouse: {url: "http://127.0.0.1:8123"}}\n`;
    const smaller = clickhouse.replace("driver:", "max_bytes: 16777216, driver:");
    expect(restartKeys(configOf(clickhouse), configOf(smaller))).toEqual(["storage.max_bytes"]);
  });

  test("a section that comes or goes, named once", () => {
    const without = configOf(BASE.slice(0, BASE.indexOf("bgp:")));
    expect(restartKeys(configOf(BASE), without)).toEqual(["bgp"]);
    expect(restartKeys(without, configOf(BASE))).toEqual(["bgp"]);
  });
});

describe("a reload applies", () => {
  test.each([
    ["192.0.2.0/24", "192.0.2.0/24, 198.51.100.0/24"],
    ["pps: 100000", "pps: 5"],
    ["capture", "dry_run: false\ncapture"],
    ["capture", "protected_whitelist: [192.0.2.1]\ncapture"],
    ["capture", "hostgroups: [{name: web, networks: [192.0.2.0/25]}]\ncapture"],
    ["capture", "ban: {ttl_seconds: 1, unban_hysteresis_seconds: 1, max_active_bans: 1}\ncapture"],
    ["capture", "detection: {sustain_ms: 100}\ncapture"],
    ["capture", "samples: {enabled: false}\ncapture"],
    ["capture: {", "capture: {link_mbps: 40000, "],
    ["next_hop: 192.0.2.66", "next_hop: 192.0.2.67\n  communities: [no-export]\n  local_pref: 1"],
    ["remote_asn: 64501", "remote_asn: 64502, port: 1790"],
  ])("%s → %s", (from, to) => {
    expect(restartKeys(configOf(BASE), changedBase(from, to))).toEqual([]);
  });
});

test("the capacity of the links is shown again at once", () => {
  const [running, next] = [configOf(BASE), changedBase("capture: {", "capture: {link_mbps: 40000, ")];
  expect(keepRestartKeys(running, next).capture).toMatchObject({
    maxHosts: running.capture?.maxHosts,
    linkMbps: 40_000,
  });
  expect(keepRestartKeys(next, running).capture).toEqual(running.capture);
});

test("keys that need a restart keep their running values, all others are taken over", () => {
  const running = configOf(`${BASE}state_dir: /var/lib/one\ndetection: {tick_ms: 50}`);
  const next = configOf(
    `${BASE.replace("asn: 64500", "asn: 64600\n  local_pref: 5")}state_dir: /var/lib/two\nstorage: {driver: none}\ndetection: {sustain_ms: 7}`,
  );
  const kept = keepRestartKeys(running, next);
  expect(restartKeys(running, next)).toEqual(["detection.tick_ms", "state_dir", "bgp.local_asn", "storage.driver"]);
  expect(kept).toMatchObject({
    stateDir: "/var/lib/one",
    storage: running.storage,
    detection: { tickMs: 50, sustainMs: 7 },
  });
  expect(kept.bgp).toMatchObject({ localAsn: 64500, localPref: 5 });
  expect(restartKeys(running, kept)).toEqual([]);
});

test("a speaker that stays until the restart keeps its blackholes, and one that comes with it brings them then", () => {
  const without = configOf(BASE.slice(0, BASE.indexOf("bgp:")));
  const kept = keepRestartKeys(configOf(BASE), without);
  expect(kept.mitigations[0]?.blackhole).toMatchObject({ nextHop: "192.0.2.66" });
  expect(keepRestartKeys(without, configOf(BASE)).mitigations[0]?.blackhole).toBeNull();
  const moved = configOf(BASE.replace("192.0.2.66", "192.0.2.67"));
  expect(keepRestartKeys(configOf(BASE), moved).mitigations[0]?.blackhole).toMatchObject({ nextHop: "192.0.2.67" });
});

test("what hosts send is counted from the start of the process: thresholds for it come with a restart, and go live", () => {
  const counting = configOf(`${BASE}thresholds_outgoing: {pps: 7}`);
  expect(restartKeys(configOf(BASE), counting)).toEqual(["thresholds_outgoing"]);
  const kept = keepRestartKeys(configOf(BASE), counting);
  expect(kept.hostgroups.map(({ thresholdsOutgoing }) => thresholdsOutgoing)).toEqual([null]);
  expect(restartKeys(counting, configOf(BASE))).toEqual([]);
  const ended = keepRestartKeys(counting, configOf(BASE));
  expect(ended.hostgroups[0]?.thresholdsOutgoing).toBeNull();
  // It is still counted, so that thresholds may come back.
  expect(restartKeys(ended, counting)).toEqual([]);
});

test("an API on a routable address is not opened: its tokens stay until the address changes", () => {
  const closed = (host: string) => configOf(`${BASE}api: {listen: "${host}:8080", token_env: API_TOKEN}`);
  const open = configOf(BASE);
  expect(restartKeys(closed("192.0.2.9"), open)).toEqual(["api.listen", "api.tokens"]);
  const kept = keepRestartKeys(closed("192.0.2.9"), open);
  expect(kept.api).toEqual(closed("192.0.2.9").api);
  expect(restartKeys(closed("127.0.0.1"), open)).toEqual([]);
  expect(keepRestartKeys(closed("127.0.0.1"), open).api.tokens).toEqual([]);
});

describe("the data plane", () => {
  const filtering = (keys: string, rest = "") => configOf(`${BASE}dataplane: {interfaces: [eth0]${keys}}\n${rest}`);

  test.each([
    [", interfaces: [eth7]", "dataplane.interfaces"],
    [", enabled: false", "dataplane.enabled"],
    [", xdp_mode: generic", "dataplane.xdp_mode"],
    [", pin_path: /sys/fs/bpf/other", "dataplane.pin_path"],
    [", forward: redirect", "dataplane.forward"],
    [", limits: {max_dynamic_rules: 400}", "dataplane.limits.max_dynamic_rules"],
  ])("needs a restart for %s", (keys, name) => {
    const next = keys.includes("interfaces") ? configOf(`${BASE}dataplane: {${keys.slice(2)}}`) : filtering(keys);
    expect(restartKeys(filtering(""), next)).toEqual([name]);
    expect(keepRestartKeys(filtering(""), next).dataplane).toEqual(filtering("").dataplane);
  });

  test("takes over its allowlist and what becomes of it at the end", () => {
    const next = filtering(", allowlist: [203.0.113.9], on_exit: detach");
    expect(restartKeys(filtering(""), next)).toEqual([]);
    expect(keepRestartKeys(filtering(""), next).dataplane).toMatchObject({ onExit: "detach", allowlist: [{}] });
  });

  test("that comes or goes waits for the restart", () => {
    expect(keepRestartKeys(configOf(BASE), filtering("")).dataplane).toBeNull();
    expect(keepRestartKeys(filtering(""), configOf(BASE)).dataplane).toEqual(filtering("").dataplane);
  });

  test("keeps the bound of bans that it has slots for until it has more", () => {
    const running = filtering(", limits: {max_dynamic_rules: 480}", "ban: {max_active_bans: 60}");
    const more = filtering(", limits: {max_dynamic_rules: 488}", "ban: {max_active_bans: 61, ttl_seconds: 7}");
    expect(restartKeys(running, more)).toEqual(["dataplane.limits.max_dynamic_rules", "ban.max_active_bans"]);
    const kept = keepRestartKeys(running, more);
    expect(kept.ban.maxActiveBans).toBe(60);
    expect(kept.mitigations[0]?.ban.ttlSeconds).toBe(7);
    expect(restartKeys(running, filtering("", "ban: {max_active_bans: 60}"))).toEqual([
      "dataplane.limits.max_dynamic_rules",
    ]);
  });

  test("counts for each ban the rules of what it scrubs by", () => {
    const running = filtering(", limits: {max_dynamic_rules: 500}", "ban: {max_active_bans: 50}\nmitigation: scrub");
    const more = filtering(", limits: {max_dynamic_rules: 510}", "ban: {max_active_bans: 51}\nmitigation: scrub");
    expect(keepRestartKeys(running, more).ban.maxActiveBans).toBe(50);
  });
});

test("own addresses are those of the keys that wait for a restart, and new ones of all others", () => {
  const next = configOf(
    BASE.replace("router_id: 192.0.2.10", "router_id: 192.0.2.11").replace("192.0.2.1,", "192.0.2.2,"),
  );
  const named = ({ own }: Config) => own.addresses().map(ownText);
  expect(named(next)).toEqual(["192.0.2.11", "192.0.2.2", "192.0.2.66", "100::1"]);
  expect(named(keepRestartKeys(configOf(BASE), next))).toEqual(["192.0.2.10", "192.0.2.2", "192.0.2.66", "100::1"]);
});
