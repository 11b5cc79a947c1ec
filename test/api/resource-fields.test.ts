/**
 * Every field of every resource (docs/interface.md#resources), over a real listener, by the schemas themselves: a field
 * that is required is in each state of the resource, one that is not is in some and not in others. What a field's value
 * is made of is in src/http/wire.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Kind, OptionalKind, type TObject, type TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { AUDIT_ACTIONS, type AuditEvent } from "../../src/audit/audit-event.ts";
import { explain } from "../../src/detection/attack/reason.ts";
import { VECTORS } from "../../src/detection/attack/vector.ts";
import { AttackWire } from "../../src/http/wire/attack.ts";
import { AuditEventWire, AuditWire } from "../../src/http/wire/audit.ts";
import { BanWire } from "../../src/http/wire/ban.ts";
import { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { StatusWire, TenantStatusWire } from "../../src/http/wire/status.ts";
import { ClassificationWire } from "../../src/http/wire/traffic/classification.ts";
import { HostWire } from "../../src/http/wire/traffic/host.ts";
import { RatesWire } from "../../src/http/wire/traffic/rates.ts";
import { SampleWire } from "../../src/http/wire/traffic/sample.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { METRICS } from "../../src/traffic/rates.ts";
import {
  attack,
  ban,
  classification,
  host,
  NOON,
  route,
  sourceBlock,
  status,
  udpRules,
} from "../fixtures/browser/views.ts";
import { address, thresholds } from "../fixtures/host-rows.ts";
import { admitCallers, as, type Caller, OTHER_HOST, UNOWNED_HOST } from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";
import { divertedBan } from "../fixtures/scrub/scrubbing.ts";

type Wire = Record<string, unknown>;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

async function read(path: string, caller: Caller = "viewer"): Promise<Wire> {
  const answer = await fetch(`${server.base}/api/v1/${path}`, { headers: as(caller) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Wire;
}

async function listed(path: string, list = path): Promise<Wire[]> {
  return (await read(path))[list] as Wire[];
}

/** The only attack that there is. */
async function attackOnWire(
  changes: Parameters<typeof attack>[0] = {},
  itsBan: Parameters<typeof ban>[0] | null = null,
): Promise<Wire> {
  const view = { attack: attack(changes), ban: itsBan === null ? null : ban(itsBan) };
  const isOver = view.attack.endedAt !== null;
  server.backend.attacksView = isOver ? { active: [], recent: [view] } : { active: [view], recent: [] };
  return (await listed("attacks", isOver ? "recent" : "active"))[0] ?? {};
}

const SHARE = { key: "198.51.100.1", packets: 7, bytes: 700 };
const SAMPLE = {
  ...{ totalPackets: 7, topSources: [SHARE], protocols: [{ ...SHARE, key: "udp" }], flows: [], origins: null },
  ...{ topSourcePorts: [{ ...SHARE, key: "53" }], topDestinationPorts: [{ ...SHARE, key: "443" }] },
};
const FULL_SAMPLE = {
  ...SAMPLE,
  flows: [
    {
      ...{ source: address("198.51.100.1"), destination: address("192.0.2.1"), protocol: "udp", bytes: 100 },
      ...{ sourcePort: 53, destinationPort: 443, tcpFlags: null },
    },
  ],
  origins: { bySource: {}, topAsns: [{ ...SHARE, key: "AS64500" }], topCountries: [{ ...SHARE, key: "DE" }] },
};
const CARPET = { scope: "group", target: null, group: "web", carpet: { prefix: "192.0.2.0/25", hosts: 100 } } as const;
const PARTS = [
  { type: "syn_flood", share: 0.6, sourcePort: null },
  { type: "ntp_amplification", share: 0.4, sourcePort: 123 },
] as const;
const LIMIT = { normal: 500.1234, factor: 3, floor: 100, ceiling: 2000 };
const LEARNED = { baseline: LIMIT, baselineConfigured: true, warmupRemainingSeconds: null };
const WARMING = { baseline: null, normalOf: "recent", baselineConfigured: true, warmupRemainingSeconds: 12.2 } as const;
const REASONS = [attack().reason, explain([1600], { ...LEARNED, normalOf: "hour_of_week" }), explain([1600], WARMING)];
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
const BGP = {
  config: {
    ...{ speaker: "managed", localAsn: 64500, routerId: "192.0.2.1", nextHop: "192.0.2.9", nextHop6: "100::1" },
    ...{ communities: ["65535:666"], localPref: 0 },
  },
  ...{ connected: true, gobgpVersion: 4, fault: null, neighbors: [] },
} as never;
const WHOLE_STATUS = status({
  bgp: BGP,
  update: { latestVersion: "1.3.0", isSecurity: true, latestUrl: "https://example.net/1.3.0" },
  scrubbing: { nextHop: "192.0.2.67" as IpAddress, nextHop6: null, communities: ["64500:2"], localPref: 0 },
  dataplane: { state: "failed", filter: null, error: "no permission", rulesLeftOut: 0 },
});

const attacks = () =>
  Promise.all(
    [
      () => attackOnWire({ target: address(UNOWNED_HOST) }),
      () => attackOnWire({ ...CARPET, lastingRise: true, direction: "outgoing" }),
      () => attackOnWire({ endedAt: NOON + 1, sample: SAMPLE, classification: classification() }, {}),
      () => attackOnWire({}, { method: "flowspec", measure: udpRules() }),
      () => attackOnWire({}, { method: "flowspec", measure: { ...udpRules(), isInseparable: true } }),
    ].map(inOrder()),
  );

/** One after the other: each fills the same service. */
function inOrder(): (state: () => Promise<Wire>) => Promise<Wire> {
  let last: Promise<unknown> = Promise.resolve();
  return (state) => {
    const next = last.then(state);
    last = next;
    return next;
  };
}

async function partsOfAttacks(field: string, changes: readonly Parameters<typeof attack>[0][]): Promise<Wire[]> {
  const wires: Wire[] = [];
  for (const each of changes) wires.push((await attackOnWire(each))[field] as Wire);
  return wires;
}

async function bans(): Promise<Wire[]> {
  const manual = { manual: true, attackId: null, metric: null, rate: 0, threshold: 0 } as const;
  const held = { repeat: 1, holdUntil: NOON + 1000, fallback: "refused" } as const;
  const ladder = { escalation: [{ afterSeconds: 0, action: "flowspec" }], step: 0 } as const;
  const over = { state: "withdrawn", withdrawnAt: NOON + 1000, reason: "ttl expired" } as const;
  const views = [
    { ban: ban({ ...held, route: route("192.0.2.1", { localPref: 200 }) }), dropped: { packets: 3, bytes: 180 } },
    { ban: ban({ ...manual, ...ladder, method: "flowspec", measure: { ...udpRules(), matchesAll: true } }) },
    { ban: divertedBan({ node: "s1" }), leftOutRules: 2 },
    { ban: ban({ ...over, route: null }) },
    { ban: ban({ state: "rejected", reason: "whitelisted" }) },
  ];
  server.backend.banViews = views.map((view) => ({ routeState: { kind: "failed", cause: "bad next hop" }, ...view }));
  return listed("bans");
}

async function hosts(): Promise<Wire[]> {
  const attacked = {
    attack: { metric: "tcp_syn_pps", direction: "outgoing" },
    ratesOut: thresholds({ pps: 4 }),
  } as const;
  server.backend.hostViews = [host(), host({ ...attacked, baseline: [100.1234, 2, 3], baselineOut: [0, 0, 0] })];
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
  const missing = { ...sourceBlock(), isInstalled: false };
  server.backend.sourceBlockViews = [
    missing,
    { ...sourceBlock(), dropped: { packets: 3, bytes: 180 } } as typeof missing,
  ];
  return listed("dataplane/sources", "sources");
}

const allRates = thresholds(Object.fromEntries(METRICS.map((metric) => [metric, 3])));
const RESOURCES: readonly [string, TObject, () => Promise<Wire[]>][] = [
  ["status", StatusWire, statuses],
  ["attack", AttackWire, attacks],
  ["rates", RatesWire, () => partsOfAttacks("rates", [{ rates: thresholds({}) }, { rates: allRates }])],
  ["sample", SampleWire, () => partsOfAttacks("sample", [{ sample: SAMPLE }, { sample: FULL_SAMPLE }])],
  [
    "classification",
    ClassificationWire,
    () =>
      partsOfAttacks("classification", [
        ...VECTORS.map((type) => ({ classification: classification({ type }) })),
        { classification: classification({ type: "syn_flood", sourcePort: null, parts: PARTS }) },
      ]),
  ],
  [
    "reason",
    AttackWire.properties.reason,
    () =>
      partsOfAttacks(
        "reason",
        REASONS.map((reason) => ({ reason })),
      ),
  ],
  ["host", HostWire, hosts],
  ["ban", BanWire, bans],
  ["audit", AuditEventWire, auditEvents],
  ["source block", SourceBlockWire, sourceBlocks],
];

describe.each(RESOURCES)("%s", (_, schema, states) => {
  let known: Wire[] | null = null;
  const wiresOf = async () => {
    known ??= await states();
    return known;
  };
  const fields = Object.entries<TSchema>(schema.properties);

  test.each(fields)("%s is where its schema says", async (field, { [OptionalKind]: optional }) => {
    const has = (await wiresOf()).map((state) => Object.hasOwn(state, field));
    expect(has).toContain(true);
    expect(has.includes(false)).toBe(optional !== undefined);
  });

  test("is in each of its states as its schema says, with every value of a choice", async () => {
    const wires = await wiresOf();
    for (const wire of wires) expect([...Value.Errors(schema, wire)]).toEqual([]);
    const [, choice] = fields.find(([name]) => name === "type" || name === "action") ?? [];
    const values = choice?.[Kind] === "Union" ? (choice["anyOf"] as TSchema[]).map((each) => each["const"]) : [];
    const [name = ""] = fields.find(([, each]) => each === choice) ?? [];
    expect(new Set(wires.map((wire) => wire[name]))).toEqual(new Set(values.length > 0 ? values : [undefined]));
  });
});

test("attack tenant is that of the group that owns the target, and of the group that is attacked", async () => {
  expect(await attackOnWire({ target: address(OTHER_HOST) })).toMatchObject({ tenant: "other" });
  const wire = await attackOnWire(CARPET);
  expect(wire).toMatchObject({ scope: "group", group: "web", tenant: "acme", prefix: "192.0.2.0/25", hosts: 100 });
});

test("attack scope group has no target", async () => {
  expect(await attackOnWire(CARPET)).not.toHaveProperty("target");
});

test("attack rate is read anew on every request while the attack lasts, and stands still after", async () => {
  for (const pps of [2000, 3000.5])
    expect(await attackOnWire({ rates: thresholds({ pps }) })).toMatchObject({ rate: pps });
  const over = await attackOnWire({ rates: thresholds({ pps: 1800 }), endedAt: NOON + 5000 });
  expect(over).toMatchObject({ rate: 1800, active: false });
});

test("rates pps, mbps and flows_per_sec are always there, all others only when nonzero", async () => {
  const trio = { pps: 0, mbps: 0, flows_per_sec: 0 };
  const rates = await partsOfAttacks("rates", [
    { rates: thresholds({}) },
    { rates: thresholds({ frag_mbps: 0.25 }) },
    { rates: allRates },
  ]);
  const all = Object.fromEntries(METRICS.map((metric) => [metric, 3]));
  expect(rates).toEqual([trio, { ...trio, frag_mbps: 0.25 }, all]);
});

test("sample flows are what was kept of single packets", async () => {
  const [sample] = await partsOfAttacks("sample", [{ sample: FULL_SAMPLE }]);
  const ports = { src_port: 53, dst_port: 443 };
  expect(sample?.["flows"]).toEqual([{ src: "198.51.100.1", dst: "192.0.2.1", proto: "udp", ...ports, bytes: 100 }]);
});

test("classification confidence is from 0 to 1, and parts are those of a multi-vector attack alone", async () => {
  const several = classification({ type: "syn_flood", confidence: 0.6, sourcePort: null, parts: PARTS });
  const [one, two] = await partsOfAttacks("classification", [
    { classification: classification() },
    { classification: several },
  ]);
  expect(one).toEqual({ type: "dns_amplification", confidence: 0.9, src_port: 53 });
  expect(two).toEqual({
    type: "syn_flood",
    confidence: 0.6,
    parts: [
      { type: "syn_flood", share: 0.6 },
      { type: "ntp_amplification", share: 0.4, src_port: 123 },
    ],
  });
});

test("reason says where the threshold came from", async () => {
  const reasons = await partsOfAttacks(
    "reason",
    REASONS.map((reason) => ({ reason })),
  );
  const [fixed, learned, warming] = reasons.map(({ shares, dominant_share_gate, ...others }) => {
    expect(shares).toBeObject();
    expect(dominant_share_gate).toBe(0.5);
    return others;
  });
  expect(fixed).toEqual({ threshold_source: "static" });
  const baseline = { ...LIMIT, normal: 500.123 };
  expect(learned).toEqual({
    threshold_source: "baseline",
    baseline,
    normal_of: "hour_of_week",
    baseline_configured: true,
  });
  const left = { warming_up: true, warmup_remaining_seconds: 13 };
  expect(warming).toEqual({ threshold_source: "static", baseline_configured: true, ...left });
});

test("host baseline and baseline_out are the learned normal of each direction", async () => {
  const [, learned] = await hosts();
  expect(learned).toMatchObject({
    baseline: { pps: 100.123, mbps: 2, flows_per_sec: 3 },
    baseline_out: { pps: 0, mbps: 0, flows_per_sec: 0 },
    rates_out: { pps: 4 },
  });
});

test("ban left_out_rules are shown to callers who may see the nodes, also in the answers of commands", async () => {
  const view = { ban: divertedBan({ node: "s1" }), routeState: null, leftOutRules: 2 };
  server.backend.banViews = [view];
  server.backend.onBan = () => view;
  const answerTo = async (caller: Caller) => {
    const headers = { ...as(caller), "content-type": "application/json" };
    const body = JSON.stringify({ ip: view.ban.target });
    return (await fetch(`${server.base}/api/v1/ban`, { method: "POST", headers, body })).json() as Promise<Wire>;
  };
  for (const [caller, commander, expected] of [
    ["viewer", "operator", 2],
    ["tenantViewer", "tenantOperator", undefined],
  ] as const) {
    const [row] = (await read("bans", caller))["bans"] as Wire[];
    expect([row?.["node"], row?.["left_out_rules"]]).toEqual(["s1", expected]);
    expect((await answerTo(commander))["left_out_rules"]).toBe(expected);
  }
  server.backend.banViews = [{ ...view, leftOutRules: 0 }];
  expect((await listed("bans"))[0]).not.toHaveProperty("left_out_rules");
});

test("audit event is as recorded, with a time that is not RFC 3339 and a number for a boolean", async () => {
  server.backend.onAudit = () => ({ available: true, events: [EVENT] });
  const { wallMs: _, targetType, banState, dryRun: __, ...same } = EVENT;
  const wire = { ...same, event_time: "2026-03-01 12:00:01", target_type: targetType, ban_state: banState, dry_run: 1 };
  expect(await listed("audit", "events")).toEqual([wire]);
});

test("audit available and events are the answer's two fields", async () => {
  for (const available of [true, false]) {
    server.backend.onAudit = () => (available ? { available, events: [] } : { available });
    expect(await read("audit")).toEqual({ available, events: [] });
  }
  expect(Object.keys(AuditWire.properties)).toEqual(["available", "events"]);
});

test("status of a tenant's token is its own part and nothing else, whatever is configured", async () => {
  server.backend.statusView = WHOLE_STATUS;
  expect(Object.keys(await read("status", "tenantViewer")).toSorted()).toEqual(
    Object.keys(TenantStatusWire.properties).toSorted(),
  );
});

test.each([
  ["viewer", "viewer", true],
  ["operator", "operator", true],
  ["tenantViewer", "viewer", false],
  ["tenantOperator", "operator", false],
] as const)("status role and unscoped are of the calling token: %s", async (caller, role, unscoped) => {
  expect(await read("status", caller)).toMatchObject({ role, unscoped, version: "1.2.3", uptime_seconds: 12 });
});

test("status active_attacks and active_bans are counts, those of the caller's tenant where it has one", async () => {
  server.backend.status = (tenant: string | null = null) =>
    status(tenant === "acme" ? { activeAttacks: 1, activeBans: 2 } : { activeAttacks: 5, activeBans: 7 });
  expect(await read("status")).toMatchObject({ active_attacks: 5, active_bans: 7 });
  expect(await read("status", "tenantViewer")).toMatchObject({ active_attacks: 1, active_bans: 2 });
});
