/**
 * Every field of every resource (docs/interface.md#resources), over a real listener, by the schemas themselves: a field
 * that is required is in each state of the resource, one that is not is in some and not in others. What a field's value
 * is made of is in src/http/wire.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Kind, OptionalKind, type TObject, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { AUDIT_ACTIONS, type AuditEvent } from "../../src/audit/audit-event.ts";
import { buildScrub } from "../../src/config/sections/scrub.ts";
import { DROP_CAUSES, type DropCause } from "../../src/detection/attack/attack-volume.ts";
import { explain } from "../../src/detection/attack/reason.ts";
import { VECTORS } from "../../src/detection/attack/vector.ts";
import { AttackWire } from "../../src/http/wire/attack.ts";
import { VolumeWire } from "../../src/http/wire/attack-volume.ts";
import { AuditEventWire, AuditWire } from "../../src/http/wire/audit.ts";
import { BanWire } from "../../src/http/wire/ban.ts";
import { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { StatusWire, TenantStatusWire } from "../../src/http/wire/status.ts";
import { ClassificationWire } from "../../src/http/wire/traffic/classification.ts";
import { HostWire } from "../../src/http/wire/traffic/host.ts";
import { RatesWire } from "../../src/http/wire/traffic/rates.ts";
import { SampleWire } from "../../src/http/wire/traffic/sample.ts";
import { DROP_REASONS } from "../../src/mitigation/scrub/scrub-rules.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { countStates } from "../../src/telemetry/exporters.ts";
import { METRICS } from "../../src/traffic/rates.ts";
import { address, thresholds } from "../fixtures/host-rows.ts";
import { admitCallers, as, type Caller, OTHER_HOST, UNOWNED_HOST } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";
import { communitiesOf, prefix } from "../fixtures/networks.ts";
import { divertedBan } from "../fixtures/scrub/scrubbing.ts";
import * as views from "../fixtures/views.ts";
import { ROOT } from "../source-tree.ts";
import { topicsOf } from "../statements.ts";

type Wire = Record<string, unknown>;

const { attack, ban, classification, host, NOON, sourceBlock, status, udpRules } = views;
let server: TestServer;

async function read(path: string, caller: Caller = "viewer"): Promise<Wire> {
  const answer = await fetch(`${server.base}/api/v1/${path}`, { headers: as(caller) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Wire;
}

const listed = async (path: string, list = path) => (await read(path))[list] as Wire[];

type Changes<T extends (...args: never) => unknown> = Parameters<T>[0];
const view = (changes: Changes<typeof attack> = {}, its: Changes<typeof ban> | null = null) => ({
  attack: attack(changes),
  ban: its === null ? null : ban(its),
});

async function attacksOnWire(...attacks: readonly ReturnType<typeof view>[]): Promise<Wire[]> {
  const { active = [], recent = [] } = Object.groupBy(attacks, (each) =>
    each.attack.endedAt === null ? "active" : "recent",
  );
  server.backend.attacksView = { active, recent };
  const wire = await read("attacks");
  return [...(wire["active"] as Wire[]), ...(wire["recent"] as Wire[])];
}

const SHARE = { key: "198.51.100.1", packets: 7, bytes: 700 };
const SAMPLE = {
  ...{ totalPackets: 7, topSources: [SHARE], protocols: [SHARE], flows: [], origins: null },
  ...{ topSourcePorts: [SHARE], topDestinationPorts: [SHARE] },
};
const FLOW = {
  ...{ source: address("198.51.100.1"), destination: address("192.0.2.1"), protocol: "udp", bytes: 100 },
  ...{ sourcePort: 53, destinationPort: 443, tcpFlags: null },
};
const INTERFACES = [{ exporter: "edge1", interface: 17, name: "xe-0/0/1", packets: 7, bytes: 700, share: 1 }];
const ERROR = { pps: 0.1, mbps: 0.12 };
const ORIGINS = { bySource: {}, topAsns: [SHARE], topCountries: [SHARE] };
const CARPET = { scope: "group", target: null, group: "web", carpet: { prefix: "192.0.2.0/25", hosts: 100 } } as const;
const PARTS = [
  { type: "syn_flood", share: 0.6, sourcePort: null },
  { type: "ntp_amplification", share: 0.4, sourcePort: 123 },
] as const;
const MIXED = classification({ type: "syn_flood", confidence: 0.6, sourcePort: null, parts: PARTS });
const CAUSES = Object.fromEntries(DROP_CAUSES.map((cause) => [cause, { packets: 10, bits: 80 }])) as Record<
  DropCause,
  { packets: number; bits: number }
>;
const VOLUME = {
  ...{ beganAt: NOON, durationMs: 200, packets: 40_000, bits: 320e6, dropped: null },
  ...{ peakPps: 200_400.1234, peakBps: 1.6e9, peakOverMs: 100 },
};
const SAMPLED = { ...VOLUME, peakError: 0.1234 };
const LIMIT = { normal: 500.1234, factor: 3, floor: 100, ceiling: 2000 };
const LEARNED = {
  baseline: LIMIT,
  baselineConfigured: true,
  warmupRemainingSeconds: null,
  normalOf: "hour_of_week",
} as const;
const WARMING = { baseline: null, normalOf: "recent", baselineConfigured: true, warmupRemainingSeconds: 12.2 } as const;
const REASONS = [attack().reason, explain([1600], LEARNED), explain([1600], WARMING)];
const EVENT: AuditEvent = {
  ...{ wallMs: NOON + 1234, action: "ban", result: "active", operator: "noc", role: "operator", tenant: "acme" },
  ...{
    target: "192.0.2.1",
    targetType: "host",
    reason: "whitelisted",
    source: "api",
    banState: "active",
    dryRun: true,
  },
};
const BGP_CONFIG = {
  ...{ speaker: "managed", localAsn: 64500, routerId: "192.0.2.1", nextHop: "192.0.2.9", nextHop6: "100::1" },
  ...{ communities: communitiesOf("65535:666"), localPref: 0 },
};
const GROUP = { name: "web", calculation: "per_host", mitigation: "blackhole", ban: true } as const;
const WHOLE_STATUS = status({
  hostgroups: [{ ...GROUP, dryRunDirections: ["incoming"] }],
  bgp: { config: BGP_CONFIG, connected: true, gobgpVersion: 4, fault: null, neighbors: [] } as never,
  update: { latestVersion: "1.3.0", isSecurity: true, latestUrl: "https://example.net/1.3.0" },
  scrubbing: {
    nextHop: "192.0.2.67" as IpAddress,
    nextHop6: null,
    communities: communitiesOf("64500:2"),
    localPref: 0,
  },
  telemetry: countStates([]),
  dataplane: { state: "failed", filter: null, error: "no permission", rulesLeftOut: {}, filterRulesLeftOut: 0 },
  cluster: { brains: [], faults: [] } as never,
  files: [{ key: "api.tls", kind: "tls", error: "absent", effect: "the API is closed", sinceMs: NOON }],
});

/** An order that neither the disk nor the other brain has taken. */
const UNSETTLED = { isSaved: false, kept: { isShared: false, unconfirmedBy: ["brain2"] } };
const SEPARABILITY = { verdict: "no", usersAtRisk: 0.2, estimatedBy: "profile" } as const;
const ATTACKS = [
  { ...view(), calm: { seconds: 1, ofSeconds: 2 }, endsAfterSeconds: 2 },
  view({ target: address(UNOWNED_HOST), rates: thresholds({}), sample: SAMPLE }),
  view({ ...CARPET, lastingRise: true, direction: "outgoing", volume: SAMPLED }),
  view({ volume: { ...VOLUME, dropped: { packets: 10_000, bits: 80e6 }, notCounted: [{ fromMs: 0, toMs: 1 }] } }),
  view({ volume: { ...VOLUME, dropped: { packets: 10_000, bits: 80e6, by: CAUSES } } }),
  view({ volume: { ...VOLUME, dropped: { packets: 10_000, bits: 80e6, challenged: 7000, validated: 31 } } }),
  view({ endedAt: NOON + 1, incident: "i1", sample: { ...SAMPLE, flows: [FLOW], origins: ORIGINS } }, {}),
  view({ samplingError: ERROR, sample: { ...SAMPLE, topPrefixes: [SHARE], topInterfaces: INTERFACES } }),
  view({ classification: MIXED }, { method: "flowspec", measure: udpRules() }),
  view({}, { method: "flowspec", measure: { ...udpRules(), separability: SEPARABILITY } }),
  view({ rates: thresholds(Object.fromEntries(METRICS.map((metric) => [metric, 3]))) }),
  ...VECTORS.map((type) => view({ classification: classification({ type }) })),
  ...REASONS.map((reason) => view({ reason })),
];

async function bans(): Promise<Wire[]> {
  const manual = { manual: true, attackId: null, metric: null, rate: 0, threshold: 0 } as const;
  const BY = { operator: "noc", reason: "over" };
  const held = { repeat: 1, holdUntil: NOON + 1000, fallback: "refused" } as const;
  const ladder = { escalation: [{ afterSeconds: 0, action: "flowspec" }], step: 0 } as const;
  const all = { method: "flowspec", measure: { ...udpRules(), matchesAll: true } } as const;
  const refused = { kind: "failed", cause: "bad next hop" } as const;
  const byReason = Object.fromEntries(DROP_REASONS.map((reason) => [reason, 1]));
  const states = [
    { ban: ban({ ...held, route: views.route("192.0.2.1", { localPref: 200 }) }), dropped: { packets: 3, bytes: 180 } },
    {
      ban: ban({ measure: { kind: "scrub", rules: udpRules(), filter: buildScrub({ tcp: "reset" }, []) } }),
      dropped: { packets: 3, bytes: 180, byReason, challenged: 7, validated: 1 },
    },
    {
      ban: ban({ measure: { kind: "scrub", rules: udpRules(), filter: buildScrub({ dry_run: true }, []) } }),
      dropped: { packets: 3, bytes: 180 },
    },
    { ban: ban({ ...manual, ...ladder, ...all, operator: "noc" }) },
    {
      ban: {
        ...ban({ manual: true }),
        ordered: { method: "blackhole" as const },
        orderReason: "ticket 7",
        endedBy: BY,
      },
    },
    { ban: ban({ method: "flowspec", measure: { ...udpRules(), separability: SEPARABILITY }, retiring: [RETIRING] }) },
    { ban: ban({ method: "flowspec", measure: { ...udpRules(), neighborRules: [AT_NEIGHBOR] } }) },
    {
      ban: divertedBan({ node: "s1" }),
      routeState: {
        ...{ kind: "announced" as const, missingAt: [MISSING], keptFrom: [MISSING] },
        ...{ sentTo: ["192.0.2.249"], maybeInvalidAt: ["192.0.2.249"] },
        limitedAt: [{ neighbor: "192.0.2.249", leftOut: 1, cause: "no room" }],
      },
      leftOutRules: 2,
      isNodeIdle: true,
      refusing: [{ node: "s2", fault: { kind: "refused", reason: "no" } } as const],
    },
    {
      ban: ban({ measure: { kind: "blackhole", route: views.route("192.0.2.1"), enclosing: WIDER } }),
      movesWith: { prefix: WIDER.prefix, hostgroups: ["web"], hosts: null },
    },
    {
      ban: ban({
        measure: { kind: "blackhole", route: { ...RETIRING, notEnclosed: "192.0.2.0/24 is not announced" } },
      }),
    },
    {
      ban: ban({ state: "withdrawn", withdrawnAt: NOON + 1000, reason: "ttl expired", route: null }),
      settled: UNSETTLED,
    },
    { ban: ban({ state: "rejected", reason: "whitelisted" }) },
  ];
  server.backend.banViews = states.map((view) => ({ routeState: refused, ...view }));
  return listed("bans");
}

const AT_NEIGHBOR = { support: "", neighbors: ["192.0.2.249"], rules: [], leftOut: 1 };
const RETIRING = views.route("192.0.2.1");
const WIDER = { ...RETIRING, prefix: prefix("192.0.2.0/24") };
const MISSING = { neighbor: "192.0.2.250", cause: "no session" };

async function hosts(): Promise<Wire[]> {
  const attacked = { metric: "tcp_syn_pps", direction: "outgoing" } as const;
  const learned = { baseline: [100.1234, 2, 3], baselineOut: [0, 0, 0], ratesOut: thresholds({ pps: 4 }) } as const;
  server.backend.hostViews = [
    host(),
    host({ attack: attacked, ...learned }),
    host({ samplingError: ERROR, samplingErrorOut: ERROR }),
  ];
  return listed("hosts");
}

async function statuses(): Promise<Wire[]> {
  const plain = await read("status");
  server.backend.statusView = WHOLE_STATUS;
  return [plain, await read("status")];
}

async function auditEvents(): Promise<Wire[]> {
  const events = AUDIT_ACTIONS.map((action) => ({ ...EVENT, action, dryRun: action === "ban" }));
  server.backend.onAudit = () => ({ available: true, events });
  return listed("audit", "events");
}

async function sourceBlocks(): Promise<Wire[]> {
  const [missing, dropped] = [
    { isInstalled: false, settled: UNSETTLED },
    { isInstalled: true, dropped: { packets: 3, bytes: 180 } },
  ];
  server.backend.sourceBlockViews = [missing, dropped].map((each) => ({ ...sourceBlock(), ...each }));
  return listed("dataplane/sources", "sources");
}

const attacks = () => attacksOnWire(...ATTACKS);
const partsOf = (field: string) => async () =>
  (await attacks()).flatMap((each) => (each[field] === undefined ? [] : [each[field] as Wire]));
const RESOURCES: readonly [string, TObject, () => Promise<Wire[]>][] = [
  ["status", StatusWire, statuses],
  ["attack", AttackWire, attacks],
  ["volume", VolumeWire, partsOf("volume")],
  ["rates", RatesWire, partsOf("rates")],
  ["sample", SampleWire, partsOf("sample")],
  ["classification", ClassificationWire, partsOf("classification")],
  ["reason", AttackWire.properties.reason, partsOf("reason")],
  ["host", HostWire, hosts],
  ["ban", BanWire, bans],
  ["audit", AuditEventWire, auditEvents],
  ["source block", SourceBlockWire, sourceBlocks],
];
const wires = new Map<string, Wire[]>();

beforeAll(async () => {
  server = TestServer.started();
  admitCallers(server);
  for (const [resource, , states] of RESOURCES) wires.set(resource, await states());
});
afterAll(() => server.http.stop());

const PAGE = readFileSync(join(ROOT, "docs/interface.md"), "utf8");
const STATEMENTS = new Set(topicsOf(PAGE).flatMap(({ statements }) => statements));

/** Of the statement about the field, which may be about several: `ban-dropped` is about all that begin with `dropped`. */
function tagOf(resource: string, field: string): string {
  const [words, all] = [resource.split(" "), [...resource.split(" "), ...field.split("_")]];
  for (let count = all.length; count > words.length; count--) {
    const anchor = all.slice(0, count).join("-");
    if (STATEMENTS.has(anchor)) return ` #${anchor}`;
  }
  return "";
}

describe.each(RESOURCES)("%s", (resource, schema) => {
  const states = () => wires.get(resource) ?? [];
  const fields = Object.entries<TSchema>(schema.properties);

  for (const [field, { [OptionalKind]: optional }] of fields) {
    test(`${field} is where its schema says${tagOf(resource, field)}`, () => {
      const has = states().map((state) => Object.hasOwn(state, field));
      expect([has.includes(true), has.includes(false)]).toEqual([true, optional !== undefined]);
    });
  }

  test("is in each of its states as its schema says, with every value of a choice", () => {
    for (const state of states()) expect([...Value.Errors(schema, state)]).toEqual([]);
    const choices = fields.filter(([name, each]) => /^(type|action)$/.test(name) && each[Kind] === "Union");
    for (const [name, choice] of choices) {
      const values = (choice["anyOf"] as TSchema[]).map((each) => each["const"]);
      expect(new Set(states().map((state) => state[name]))).toEqual(new Set(values));
    }
  });
});

test("an attack on a group has no target, and the tenant of the group; one on a host has the host's #attack-scope-group", async () => {
  const [group, owned] = await attacksOnWire(view(CARPET), view({ target: address(OTHER_HOST) }));
  expect(group).toMatchObject({ scope: "group", group: "web", tenant: "acme", prefix: "192.0.2.0/25", hosts: 100 });
  expect(group).not.toHaveProperty("target");
  expect(owned).toMatchObject({ tenant: "other" });
});

test("the rate of an attack is read again on every request while the attack lasts #attack-rate", async () => {
  for (const pps of [2000, 3000.5])
    expect(await attacksOnWire(view({ rates: thresholds({ pps }) }))).toMatchObject([{ rate: pps }]);
});

test("an attack that ends moves from the active to the recent list, and its rate stays #attack-that-ends", async () => {
  await attacksOnWire(view(), view({ rates: thresholds({ pps: 1800 }), endedAt: NOON + 5000 }));
  const over = { rate: 1800, active: false, ended_at: expect.any(String) };
  expect(await read("attacks")).toMatchObject({ active: [{ active: true }], recent: [over] });
});

test("classification confidence is from 0 to 1, and parts are those of a multi-vector attack alone #classification-confidence", async () => {
  const shown = await attacksOnWire(view({ classification: classification() }), view({ classification: MIXED }));
  const [syn, ntp] = [
    { type: "syn_flood", share: 0.6 },
    { type: "ntp_amplification", share: 0.4, src_port: 123 },
  ];
  expect(shown.map((each) => each["classification"])).toEqual([
    { type: "dns_amplification", confidence: 0.9, src_port: 53 },
    { type: "syn_flood", confidence: 0.6, parts: [syn, ntp] },
  ]);
});

test("reason says where the threshold came from", async () => {
  const [, learned, warming] = await attacksOnWire(...REASONS.map((reason) => view({ reason })));
  const common = { shares: expect.any(Object), dominant_share_gate: 0.5, baseline_configured: true };
  const baseline = { ...LIMIT, normal: 500.123 };
  const source = { threshold_source: "baseline", baseline, normal_of: "hour_of_week" };
  const left = { threshold_source: "static", warming_up: true, warmup_remaining_seconds: 13 };
  expect([learned?.["reason"], warming?.["reason"]]).toEqual([
    { ...common, ...source },
    { ...common, ...left },
  ]);
});

test("host baseline and baseline_out are the learned normal of each direction #host-baseline", () => {
  const [baseline, baseline_out] = [
    { pps: 100.123, mbps: 2, flows_per_sec: 3 },
    { pps: 0, mbps: 0, flows_per_sec: 0 },
  ];
  expect(wires.get("host")?.[1]).toMatchObject({ baseline, baseline_out, rates_out: { pps: 4 } });
});

test("an audit event is as recorded, with a time that is not RFC 3339 and a number for a boolean", async () => {
  server.backend.onAudit = () => ({ available: true, events: [EVENT] });
  const { wallMs: _, targetType, banState, dryRun: __, ...same } = EVENT;
  const wire = { ...same, event_time: "2026-03-01 12:00:01", target_type: targetType, ban_state: banState, dry_run: 1 };
  expect(await read("audit")).toEqual({ available: true, events: [wire] });
});

test("available and events are the two fields of the audit answer, also with storage off #audit-available", async () => {
  server.backend.onAudit = () => ({ available: false });
  expect(await read("audit")).toEqual({ available: false, events: [] });
  expect(Object.keys(AuditWire.properties)).toEqual(["available", "events"]);
});

test("the status of a tenant's token is its own part and nothing else, with counts of its own #status-of-a-tenants-token", async () => {
  server.backend.status = (tenant: string | null = null) => ({
    ...WHOLE_STATUS,
    activeBans: tenant === "acme" ? 2 : 7,
  });
  const own = await read("status", "tenantViewer");
  expect(Object.keys(own).toSorted()).toEqual(Object.keys(TenantStatusWire.properties).toSorted());
  expect([own["active_bans"], (await read("status"))["active_bans"]]).toEqual([2, 7]);
});
