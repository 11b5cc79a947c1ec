import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { neighborPolicy } from "../../../test/fixtures/bgp/bgp.ts";
import { queue, source } from "../../../test/fixtures/dataplane/capture-views.ts";
import { NO_VERDICTS } from "../../../test/fixtures/dataplane/table-filter.ts";
import { address } from "../../../test/fixtures/host-rows.ts";
import { communitiesOf } from "../../../test/fixtures/networks.ts";
import { NOON, status } from "../../../test/fixtures/views.ts";
import { ANYONE as operator, type Principal } from "../../access/principal.ts";
import type { FilterStatus } from "../../dataplane/kernel-filter.ts";
import { StatusWire, statusToWire, TenantStatusWire, tenantStatus, wholeStatus } from "./status.ts";

const config = {
  speaker: "managed",
  grpc: null,
  instance: null,
  localAsn: 64500,
  routerId: address("192.0.2.250"),
  listen: null,
  nextHop: address("192.0.2.254"),
  nextHop6: address("100::1"),
  communities: communitiesOf("65535:666", "64500:1"),
  localPref: 200,
  policies: [],
  communitiesAt: [],
  neighbors: [],
} as const;

describe("status", () => {
  test("has every field of a service without an announcer, and no others", () => {
    const wire = wholeStatus(status(), operator);
    const { capture: _, ...others } = wire;
    expect(others).toEqual({
      dry_run: true,
      uptime_seconds: 12,
      version: "1.2.3",
      update_available: false,
      role: "operator",
      unscoped: true,
      networks: ["192.0.2.0/24", "2001:db8::/32"],
      active_attacks: 1,
      active_bans: 2,
      thresholds: { pps: 1000, mbps: 10, flows_per_sec: 100 },
      hostgroups: [{ name: "global", calculation: "per_host", mitigation: "blackhole", ban: true }],
      notify: {
        ...{ telegram: false, webhook: true, slack: false, email: false, exec: false },
        ...{ teams: false, pagerduty: false, opsgenie: false, alertmanager: false, syslog: false },
      },
      nodes_total: 2,
      edge_nodes_total: 3,
      storage: { unsaved: 0 },
    });
    expect(Value.Check(StatusWire, wire)).toBe(true);
  });

  test("names a neighbor and the next hops of scrubbing as the configuration does #status-names", () => {
    const at = (text: string) => ({
      address: text,
      remoteAsn: 64501,
      ...{ state: "idle", sinceMs: 0, families: [], advertised: 0, keptBack: 0, fault: null },
    });
    const named = { remoteAsn: 64501, port: 179, passwordEnv: null, multihopTtl: 0 };
    const edge1 = { ...named, address: address("192.0.2.2"), name: "edge1", description: "Border, Frankfurt" };
    const policy = neighborPolicy({ name: "transit" });
    const wire = wholeStatus(
      status({
        bgp: {
          config: {
            ...config,
            neighbors: [
              { ...edge1, policy, dryRun: true },
              { ...named, address: address("192.0.2.3") },
            ],
          },
          ...{ connected: true, gobgpVersion: 4, fault: null },
          neighbors: [at("192.0.2.2"), at("192.0.2.3"), at("192.0.2.4")],
        },
        scrubbing: { nextHop: address("192.0.2.66"), nextHop6: null, communities: [], localPref: 0 },
        scrubbingName: "rack7",
      }),
      operator,
    );
    expect(
      wire.bgp?.neighbors.map(({ name, description, policy: by, dry_run: dry }) => [name, description, by, dry]),
    ).toEqual([
      ["edge1", "Border, Frankfurt", "transit", true],
      [undefined, undefined, undefined, undefined],
      [undefined, undefined, undefined, undefined],
    ]);
    expect(wire.scrubbing).toEqual({ next_hop: "192.0.2.66", next_hop_name: "rack7", community: "" });
    expect(Value.Check(StatusWire, wire)).toBe(true);
  });

  test("shows each neighbor's session as it is now", () => {
    const neighbors = [
      {
        address: "192.0.2.2",
        remoteAsn: 64501,
        state: "established",
        sinceMs: NOON,
        families: ["ipv4-unicast"],
        advertised: 3,
        keptBack: 0,
        fault: null,
      },
      {
        address: "192.0.2.3",
        remoteAsn: 64502,
        state: "idle",
        sinceMs: 0,
        families: [],
        advertised: 0,
        keptBack: 2,
        fault: "gone",
      },
    ];
    const wire = wholeStatus(
      status({ bgp: { config, connected: true, gobgpVersion: 4, fault: null, neighbors } }),
      operator,
    );
    expect(wire.bgp).toEqual({
      local_asn: 64500,
      router_id: "192.0.2.250",
      next_hop: "192.0.2.254",
      next_hop6: "100::1",
      community: "65535:666 64500:1",
      local_pref: 200,
      speaker: "managed",
      connected: true,
      gobgp_version: 4,
      neighbors: [
        {
          address: "192.0.2.2",
          remote_asn: 64501,
          state: "established",
          since: "2026-03-01T12:00:00.000Z",
          families: ["ipv4-unicast"],
          advertised: 3,
        },
        { address: "192.0.2.3", remote_asn: 64502, state: "idle", advertised: 0, kept_back: 2, error: "gone" },
      ],
    });
    expect(Value.Check(StatusWire, wire)).toBe(true);
  });

  test("says why the speaker does not answer", () => {
    const bgp = { config, connected: false, gobgpVersion: null, fault: "gobgpd is not installed", neighbors: [] };
    expect(wholeStatus(status({ bgp }), operator).bgp).toMatchObject({
      connected: false,
      error: "gobgpd is not installed",
    });
  });

  test("dataplane shows where packets are dropped, how many and by what verdict #status-dataplane", () => {
    const filter: FilterStatus = {
      schema: 1,
      origin: "adopted",
      interfaces: [
        { name: "eth0", state: "attached", mode: "native", error: null },
        { name: "eth1", state: "failed", mode: null, error: "eth1 does not exist" },
      ],
      verdicts: { ...NO_VERDICTS, drop_rule: { packets: 3, bytes: 180 } },
      pairs: 2,
      rules: 1,
      maxPairs: 4096,
      maxRules: 4096,
      maxSources: 1024,
      forward: null,
    };
    const dataplane = {
      state: "up",
      filter,
      error: null,
      rulesLeftOut: { max_dynamic_rules: 3, one_destination: 1 },
      filterRulesLeftOut: 3,
    } as const;
    const wire = wholeStatus(status({ dataplane }), operator);
    expect(wire.dataplane).toMatchObject({
      state: "up",
      interfaces: [
        { name: "eth0", state: "attached", mode: "native" },
        { name: "eth1", state: "failed", error: "eth1 does not exist" },
      ],
      pairs: 2,
      rules: 1,
      max_dynamic_rules: 4096,
      rules_left_out: 4,
      rules_left_out_by_limit: { max_dynamic_rules: 3, one_destination: 1 },
      filter_rules_left_out: 3,
      verdicts: { drop_rule: { packets: 3, bytes: 180 }, pass_default: { packets: 0, bytes: 0 } },
    });
    expect(Value.Check(StatusWire, wire)).toBe(true);
    const failed = {
      state: "failed",
      filter: null,
      error: "no permission",
      rulesLeftOut: {},
      filterRulesLeftOut: 0,
    } as const;
    expect(wholeStatus(status({ dataplane: failed }), operator).dataplane).toEqual({
      state: "failed",
      error: "no permission",
      interfaces: [],
    });
    const machineProblems = [
      { about: "interface eth0", level: "warning", found: "LRO is on", remedy: "`ethtool -K eth0 lro off`" },
      { about: "program xdp_filter", level: "error", found: "Linux 6.1 refused the XDP filter", remedy: null },
    ] as const;
    const lacking = wholeStatus(status({ dataplane: failed, machineProblems }), operator);
    expect(lacking.dataplane?.problems).toEqual([
      { about: "interface eth0", level: "warning", found: "LRO is on", remedy: "`ethtool -K eth0 lro off`" },
      { about: "program xdp_filter", level: "error", found: "Linux 6.1 refused the XDP filter" },
    ]);
    expect(Value.Check(StatusWire, lacking)).toBe(true);
    expect(wholeStatus(status({ dataplane, machineProblems: [] }), operator).dataplane?.problems).toEqual([]);
    expect(tenantStatus(status({ dataplane }), operator)).not.toHaveProperty("dataplane");
    expect(wholeStatus(status(), operator)).not.toHaveProperty("dataplane");
  });

  test("capture shows captured, lost and failed by interface and queue #status-capture", () => {
    const first = queue({
      receivedPackets: 10,
      receivedBytes: 640,
      countedPackets: 7,
      untrackedPackets: 1,
      foreignPackets: 2,
      parseErrors: { truncated: 1, not_ip: 0 },
      etherTypes: { "0x0806": 2 },
      droppedRingFull: 1,
      droppedFillEmpty: 2,
      droppedKernel: 3,
    });
    const failed = source({
      name: "eth1",
      state: "failed",
      error: "no such interface",
      queues: [queue({ queue: -1 })],
    });
    const sources = [source({ queues: [first] }), failed];
    const wire = wholeStatus(
      status({ capture: { trackedHosts: 3, maxHosts: 8, linkMbps: 40_000, sources } }),
      operator,
    );
    expect(wire.capture).toMatchObject({ tracked_hosts: 3, max_hosts: 8, link_mbps: 40_000 });
    expect(wire.capture.interfaces[0]?.queues).toEqual([
      {
        queue: 0,
        received_packets: 10,
        received_bytes: 640,
        counted_packets: 7,
        untracked_packets: 1,
        foreign_packets: 2,
        parse_errors: { truncated: 1 },
        ether_types: { "0x0806": 2 },
        dropped_packets: 6,
        dropped_ring_full: 1,
        dropped_fill_empty: 2,
        dropped_kernel: 3,
      },
    ]);
    expect(wire.capture.interfaces[1]).toMatchObject({ name: "eth1", state: "failed", error: "no such interface" });
    expect(wire.capture.interfaces[1]?.queues[0]).not.toHaveProperty("queue");
    expect(Value.Check(StatusWire, wire)).toBe(true);
  });

  describe("of a token with a tenant", () => {
    const tenant: Principal = { kind: "principal", operator: "t", role: "viewer", tenant: "acme", node: null };

    test("has its own fields and no others, whatever is configured", () => {
      const bgp = { config, connected: true, gobgpVersion: 3, fault: null, neighbors: [] };
      const wire = statusToWire(status({ bgp }), tenant);
      expect(wire).toEqual({
        dry_run: true,
        uptime_seconds: 12,
        version: "1.2.3",
        update_available: false,
        role: "viewer",
        unscoped: false,
        active_attacks: 1,
        active_bans: 2,
        hostgroups: [{ name: "global", calculation: "per_host", mitigation: "blackhole", ban: true }],
        nodes_total: 2,
        edge_nodes_total: 3,
      });
      expect(Value.Check(TenantStatusWire, wire)).toBe(true);
    });
  });

  test("shows a newer release: to a tenant only that there is one", () => {
    const update = { latestVersion: "1.3.0", isSecurity: true, latestUrl: "https://example.net/1.3.0" };
    const wire = statusToWire(status({ update }), operator);
    expect(wire).toMatchObject({
      update_available: true,
      latest_version: "1.3.0",
      latest_is_security: true,
      latest_url: "https://example.net/1.3.0",
    });
    expect(Value.Check(StatusWire, wire)).toBe(true);
    const tenant = statusToWire(status({ update }), { ...operator, tenant: "acme" });
    expect(tenant.update_available).toBe(true);
    expect(Value.Check(TenantStatusWire, tenant)).toBe(true);
  });

  test("is whole for an unscoped token, and names the caller's role", () => {
    const viewer: Principal = { ...operator, role: "viewer" };
    const wire = statusToWire(status(), viewer);
    expect(wire).toMatchObject({ role: "viewer", unscoped: true, networks: ["192.0.2.0/24", "2001:db8::/32"] });
    expect(Value.Check(StatusWire, wire)).toBe(true);
  });
});
