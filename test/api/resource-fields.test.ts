/** Every field of an attack, a host, a ban and their parts (docs/interface.md#resources), over a real listener. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { explain } from "../../src/detection/attack/reason.ts";
import { VECTORS } from "../../src/detection/attack/vector.ts";
import { AttackWire } from "../../src/http/wire/attack.ts";
import { BanWire } from "../../src/http/wire/ban.ts";
import { HostWire } from "../../src/http/wire/host.ts";
import { attack, ban, classification, host, NOON, route, udpRules } from "../fixtures/browser/views.ts";
import { address, thresholds } from "../fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, OTHER_HOST, UNOWNED_HOST } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

type Wire = Record<string, unknown>;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

async function read(path: string): Promise<Record<string, Wire[]>> {
  const answer = await fetch(server.base + path, { headers: as("viewer") });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, Wire[]>;
}

/** The only attack that there is, as it is on the wire. */
async function attackOnWire(
  changes: Parameters<typeof attack>[0] = {},
  itsBan: Parameters<typeof ban>[0] | null = null,
): Promise<Wire> {
  const view = { attack: attack(changes), ban: itsBan === null ? null : ban(itsBan) };
  const isOver = view.attack.endedAt !== null;
  server.service.attacksView = isOver ? { active: [], recent: [view] } : { active: [view], recent: [] };
  const { active = [], recent = [] } = await read("/api/v1/attacks");
  const [wire = {}] = isOver ? recent : active;
  expect([...Value.Errors(AttackWire, wire)]).toEqual([]);
  return wire;
}

async function hostOnWire(changes: Parameters<typeof host>[0] = {}): Promise<Wire> {
  server.service.hostViews = [host(changes)];
  // The hosts are read anew once a second.
  server.clock.advance(1000);
  const [wire = {}] = (await read("/api/v1/hosts"))["hosts"] ?? [];
  expect([...Value.Errors(HostWire, wire)]).toEqual([]);
  return wire;
}

async function banOnWire(changes: Parameters<typeof ban>[0] = {}): Promise<Wire> {
  server.service.banViews = [{ ban: ban(changes), routeState: null }];
  const [wire = {}] = (await read("/api/v1/bans"))["bans"] ?? [];
  expect([...Value.Errors(BanWire, wire)]).toEqual([]);
  return wire;
}

const SHARE = { key: "198.51.100.1", packets: 7, bytes: 700 };
const SAMPLE = {
  totalPackets: 7,
  topSources: [SHARE],
  topSourcePorts: [{ ...SHARE, key: "53" }],
  topDestinationPorts: [{ ...SHARE, key: "443" }],
  protocols: [{ ...SHARE, key: "udp" }],
  flows: [],
  origins: null,
};
const FLOW = {
  source: address("198.51.100.1"),
  destination: address(ACME_HOST),
  protocol: "udp",
  sourcePort: 53,
  destinationPort: 443,
  tcpFlags: null,
  bytes: 100,
};
const MANUAL = { manual: true, attackId: null, metric: null, rate: 0, threshold: 0 } as const;

test.each([
  ["scope", "host"],
  ["target", "192.0.2.1"],
  ["group", "global"],
  ["direction", "incoming"],
  ["metric", "pps"],
  ["threshold", 1000],
  ["rate", 1500.123],
  ["active", true],
  ["started_at", "2026-03-01T12:00:00.000Z"],
])("attack %s is there: %p", async (field, value) => {
  expect(await attackOnWire()).toMatchObject({ [field]: value });
});

test.each([
  [ACME_HOST, "acme"],
  [OTHER_HOST, "other"],
  [UNOWNED_HOST, undefined],
])("attack tenant is that of the group that owns %s: %p", async (target, tenant) => {
  expect((await attackOnWire({ target: address(target) }))["tenant"]).toBe(tenant as string);
});

test("attack scope group has no target, and the tenant of its group", async () => {
  const wire = await attackOnWire({ scope: "group", target: null, group: "web" });
  expect(wire).toMatchObject({ scope: "group", group: "web", tenant: "acme" });
  expect(wire).not.toHaveProperty("target");
});

test("attack scope group has prefix and hosts when the attack is spread over a part of it", async () => {
  const carpet = { prefix: "192.0.2.0/25", hosts: 100 };
  const wire = await attackOnWire({ scope: "group", target: null, group: "web", carpet });
  expect(wire).toMatchObject({ scope: "group", group: "web", tenant: "acme", ...carpet });
  for (const field of ["prefix", "hosts"]) expect(await attackOnWire()).not.toHaveProperty(field);
});

test("attack direction is outgoing for what a host sends", async () => {
  expect(await attackOnWire({ direction: "outgoing" })).toMatchObject({ direction: "outgoing" });
});

test("attack rates are all rates of the attack, in the one shape of rates", async () => {
  expect(await attackOnWire()).toMatchObject({ rates: { pps: 1500.123, mbps: 20, flows_per_sec: 0, udp_pps: 1200 } });
});

test("attack rate is read anew on every request while the attack lasts, and stands still after", async () => {
  for (const pps of [2000, 3000.5])
    expect(await attackOnWire({ rates: thresholds({ pps }) })).toMatchObject({ rate: pps });
  const over = await attackOnWire({ rates: thresholds({ pps: 1800 }), endedAt: NOON + 5000 });
  expect(over).toMatchObject({ rate: 1800, active: false });
});

test.each(["active", "withdrawn", "rejected"] as const)("attack ban_state is that of its ban: %s", async (state) => {
  expect(await attackOnWire({}, { state })).toMatchObject({ ban_state: state, method: "blackhole" });
});

test.each(["ban_state", "method", "route", "flowspec"])("attack %s is omitted when there is no ban", async (field) => {
  expect(await attackOnWire()).not.toHaveProperty(field);
});

test("attack route is the ban's route string", async () => {
  const route = "192.0.2.1/32 next-hop 192.0.2.254 community 65535:666";
  expect(await attackOnWire({}, {})).toMatchObject({ route });
});

test("attack flowspec has the rules when that is the method", async () => {
  const wire = await attackOnWire({}, { method: "flowspec", measure: udpRules() });
  expect(wire).toMatchObject({ method: "flowspec", flowspec: [{ dst: "192.0.2.1/32", proto: 17, action: "discard" }] });
});

test("attack flowspec is absent when the method is another", async () => {
  expect(await attackOnWire({}, {})).not.toHaveProperty("flowspec");
});

test.each([true, false])("attack dry_run tells whether the ban is virtual: %p", async (dryRun) => {
  expect(await attackOnWire({}, { dryRun })).toMatchObject({ dry_run: dryRun });
});

test("attack ended_at is there when the attack is over, and omitted while it lasts", async () => {
  expect(await attackOnWire()).not.toHaveProperty("ended_at");
  expect(await attackOnWire({ endedAt: NOON + 1 })).toMatchObject({ ended_at: "2026-03-01T12:00:00.001Z" });
});

test("attack sample is there once it was taken, and omitted before and without sampling", async () => {
  expect(await attackOnWire()).not.toHaveProperty("sample");
  expect(await attackOnWire({ sample: SAMPLE })).toHaveProperty("sample");
});

test("attack classification is there once it can be told, and omitted when unclassified", async () => {
  expect(await attackOnWire()).not.toHaveProperty("classification");
  expect(await attackOnWire({ classification: classification() })).toHaveProperty("classification");
});

test("attack reason is there from the start", async () => {
  expect(await attackOnWire()).toHaveProperty("reason");
});

test("rates pps, mbps and flows_per_sec are always there, all others only when nonzero", async () => {
  expect((await hostOnWire({ rates: thresholds({}) }))["rates"]).toEqual({ pps: 0, mbps: 0, flows_per_sec: 0 });
});

test.each(["tcp", "udp", "icmp", "tcp_syn", "frag"])("rates %s_pps and _mbps are added when nonzero", async (name) => {
  const rates = { [`${name}_pps`]: 3, [`${name}_mbps`]: 0.25 };
  expect((await hostOnWire({ rates: thresholds(rates) }))["rates"]).toEqual({
    pps: 0,
    mbps: 0,
    flows_per_sec: 0,
    ...rates,
  });
});

test.each([
  ["top_sources", [SHARE]],
  ["top_src_ports", [{ ...SHARE, key: "53" }]],
  ["top_dst_ports", [{ ...SHARE, key: "443" }]],
  ["protocols", [{ ...SHARE, key: "udp" }]],
  ["total_packets", 7],
])("sample %s is there", async (field, value) => {
  expect((await attackOnWire({ sample: SAMPLE }))["sample"]).toMatchObject({ [field]: value });
});

test("sample flows are there where some were kept, and no such field otherwise", async () => {
  expect((await attackOnWire({ sample: SAMPLE }))["sample"]).not.toHaveProperty("flows");
  expect((await attackOnWire({ sample: { ...SAMPLE, flows: [FLOW] } }))["sample"]).toMatchObject({
    flows: [{ src: "198.51.100.1", dst: ACME_HOST, proto: "udp", src_port: 53, dst_port: 443, bytes: 100 }],
  });
});

test.each(VECTORS.map((vector) => [vector]))("classification type: %s", async (type) => {
  const wire = await attackOnWire({ classification: classification({ type }) });
  expect(wire["classification"]).toMatchObject({ type });
});

test("classification confidence is from 0 to 1, and src_port of amplification vectors", async () => {
  const wire = await attackOnWire({ classification: classification() });
  expect(wire["classification"]).toEqual({ type: "dns_amplification", confidence: 0.9, src_port: 53 });
  const flood = classification({ type: "syn_flood", confidence: 1, sourcePort: null });
  expect((await attackOnWire({ classification: flood }))["classification"]).toEqual({
    type: "syn_flood",
    confidence: 1,
  });
});

test("classification parts are those of a multi-vector attack, and no such field otherwise", async () => {
  const parts = [
    { type: "syn_flood", share: 0.6, sourcePort: null },
    { type: "ntp_amplification", share: 0.4, sourcePort: 123 },
  ] as const;
  const several = classification({ type: "syn_flood", confidence: 0.6, sourcePort: null, parts });
  expect((await attackOnWire({ classification: several }))["classification"]).toEqual({
    type: "syn_flood",
    confidence: 0.6,
    parts: [
      { type: "syn_flood", share: 0.6 },
      { type: "ntp_amplification", share: 0.4, src_port: 123 },
    ],
  });
  const one = classification({ parts: parts.slice(0, 1) });
  expect((await attackOnWire({ classification: one }))["classification"]).not.toHaveProperty("parts");
});

test("reason threshold_source is static without a baseline", async () => {
  const { reason } = await attackOnWire();
  expect(reason).toMatchObject({ threshold_source: "static" });
  for (const field of ["baseline", "baseline_configured", "warming_up", "warmup_remaining_seconds"]) {
    expect(reason).not.toHaveProperty(field);
  }
});

test("reason baseline says how the limit came about, and is the threshold_source", async () => {
  const limit = { normal: 500.1234, factor: 3, floor: 100, ceiling: 2000 };
  const learned = { baseline: limit, baselineConfigured: true, warmupRemainingSeconds: null };
  const reasonOf = async (normalOf: "recent" | "hour_of_week") =>
    (await attackOnWire({ reason: explain([1600], { ...learned, normalOf }) }))["reason"] as Record<string, unknown>;
  const reason = await reasonOf("recent");
  expect(reason).toMatchObject({ threshold_source: "baseline", baseline_configured: true });
  // These fields and no more.
  expect(reason["baseline"]).toEqual({ ...limit, normal: 500.123 });
  for (const field of ["normal_of", "warming_up", "warmup_remaining_seconds"]) expect(reason).not.toHaveProperty(field);
  expect(await reasonOf("hour_of_week")).toEqual({ ...reason, normal_of: "hour_of_week" });
});

test("reason warming_up and warmup_remaining_seconds are there while a baseline is not believed yet", async () => {
  const { reason } = await attackOnWire({
    reason: explain([1600], {
      baseline: null,
      normalOf: "recent",
      baselineConfigured: true,
      warmupRemainingSeconds: 12.2,
    }),
  });
  expect(reason).toMatchObject({
    threshold_source: "static",
    baseline_configured: true,
    warming_up: true,
    warmup_remaining_seconds: 13,
  });
  expect(reason).not.toHaveProperty("baseline");
});

test("reason shares are of udp, syn, tcp, icmp and frag, beside the dominant_share_gate", async () => {
  expect((await attackOnWire())["reason"]).toMatchObject({
    shares: { udp: 0.7999, syn: 0, tcp: 0, icmp: 0, frag: 0 },
    dominant_share_gate: 0.5,
  });
});

test.each([
  ["target", "192.0.2.1"],
  ["group", "global"],
  ["rates", { pps: 10, mbps: 0.5, flows_per_sec: 1 }],
  ["in_attack", false],
])("host %s is there: %p", async (field, value) => {
  expect(await hostOnWire()).toMatchObject({ [field]: value });
});

test("host rates_out are the outgoing rates, zero where those are not counted", async () => {
  expect(await hostOnWire()).toMatchObject({ rates_out: { pps: 0, mbps: 0, flows_per_sec: 0 } });
  expect(await hostOnWire({ ratesOut: thresholds({ pps: 4 }) })).toMatchObject({ rates_out: { pps: 4 } });
});

test("host in_attack, metric and direction are those of the active attack, the latter omitted without one", async () => {
  const calm = await hostOnWire();
  for (const field of ["metric", "direction"]) expect(calm).not.toHaveProperty(field);
  expect(await hostOnWire({ attack: { metric: "tcp_syn_pps", direction: "outgoing" } })).toMatchObject({
    in_attack: true,
    metric: "tcp_syn_pps",
    direction: "outgoing",
  });
});

test("host baseline and baseline_out are the learned normal of each direction", async () => {
  expect(await hostOnWire({ baseline: [100.1234, 2, 3], baselineOut: [0, 0, 0] })).toMatchObject({
    baseline: { pps: 100.123, mbps: 2, flows_per_sec: 3 },
    baseline_out: { pps: 0, mbps: 0, flows_per_sec: 0 },
  });
});

test("host baseline and baseline_out are absent where no baseline is configured", async () => {
  const wire = await hostOnWire();
  for (const field of ["baseline", "baseline_out"]) expect(wire).not.toHaveProperty(field);
});

test.each([
  ["target", "192.0.2.1"],
  ["prefix", "192.0.2.1/32"],
  ["metric", "pps"],
  ["rate", 1500.123],
  ["threshold", 1000],
  ["next_hop", "192.0.2.254"],
  ["community", "65535:666"],
  ["route", "192.0.2.1/32 next-hop 192.0.2.254 community 65535:666"],
  ["state", "active"],
  ["dry_run", false],
  ["manual", false],
  ["started_at", "2026-03-01T12:00:00.000Z"],
  ["expires_at", "2026-03-01T12:10:00.000Z"],
  ["method", "blackhole"],
])("ban %s is there: %p", async (field, value) => {
  expect(await banOnWire()).toMatchObject({ [field]: value });
});

test("ban prefix of an IPv6 address is a /128", async () => {
  expect(await banOnWire({ target: "2001:db8::1" })).toMatchObject({ prefix: "2001:db8::1/128" });
});

test.each(["metric", "rate", "threshold"])("ban %s is omitted for manual bans", async (field) => {
  const wire = await banOnWire(MANUAL);
  expect(wire).toMatchObject({ manual: true });
  expect(wire).not.toHaveProperty(field);
});

test("ban community is space-joined when there are several", async () => {
  const two = route("192.0.2.1", { communities: ["65535:666", "64500:1"] });
  expect(await banOnWire({ route: two })).toMatchObject({ community: "65535:666 64500:1" });
});

test("ban local_pref is omitted when zero", async () => {
  expect(await banOnWire()).not.toHaveProperty("local_pref");
  expect(await banOnWire({ route: route("192.0.2.1", { localPref: 200 }) })).toMatchObject({ local_pref: 200 });
});

test.each(["active", "withdrawn", "rejected"] as const)("ban state may be %s", async (state) => {
  expect(await banOnWire({ state })).toMatchObject({ state });
});

test("ban dry_run is true of a virtual ban", async () => {
  expect(await banOnWire({ dryRun: true })).toMatchObject({ dry_run: true });
});

test("ban withdrawn_at is omitted while active", async () => {
  expect(await banOnWire()).not.toHaveProperty("withdrawn_at");
  const withdrawn = { state: "withdrawn", withdrawnAt: NOON + 1000, reason: "ttl expired" } as const;
  expect(await banOnWire(withdrawn)).toMatchObject({ withdrawn_at: "2026-03-01T12:00:01.000Z" });
});

test.each(["whitelisted", "attack ended"])("ban reason says why rejected or withdrawn: %s", async (reason) => {
  expect(await banOnWire({ state: "rejected", reason })).toMatchObject({ reason });
  expect(await banOnWire()).not.toHaveProperty("reason");
});

test("ban method, flowspec and route of a ban by FlowSpec are its rules and their summary", async () => {
  expect(await banOnWire({ method: "flowspec", measure: udpRules() })).toMatchObject({
    method: "flowspec",
    flowspec: [{ dst: "192.0.2.1/32", proto: 17, action: "discard" }],
    route: "dst 192.0.2.1/32 proto udp discard",
  });
});

test("ban escalation and escalation_step are the configured ladder and the rung", async () => {
  const wire = await banOnWire({ escalation: [{ afterSeconds: 0, action: "blackhole" }], step: 0 });
  expect(wire).toMatchObject({ escalation: [{ after_seconds: 0, action: "blackhole" }], escalation_step: 0 });
});

test.each(["node", "flowspec", "escalation", "escalation_step"])(
  "ban %s is omitted of a blackhole without a ladder",
  async (field) => {
    expect(await banOnWire()).not.toHaveProperty(field);
  },
);
