/** Bans ordered by hand with all that an operator may say (docs/interface.md#ban-command), by the whole service. */
import { expect, test } from "bun:test";
import { FreshService } from "../fixtures/fresh-service.ts";
import { agent } from "../fixtures/http/node-channel.ts";

const CONFIG = `
dry_run: false
networks: [203.0.113.0/24, 198.51.100.0/24, 192.0.2.0/25, 2001:db8::/32]
protected_whitelist: [203.0.113.53]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25], tenant: acme, mitigation: flowspec }
  - { name: mail, networks: [203.0.113.128/25], tenant: acme }
  - { name: voice, networks: [198.51.100.128/25] }
ban: { max_active_bans: 6 }
bgp:
  { speaker: external, grpc: /nowhere/gobgp.sock, local_asn: 64500, router_id: 192.0.2.10, next_hop: 192.0.2.66,
    neighbors: [{ address: 192.0.2.1, name: edge1, remote_asn: 64501 }] }
order_templates:
  - { name: no-chargen, rules: [{ protocol: udp, source_ports: ["19"] }], rate_mbps: 10, reason: chargen }
`;
const TENANT = { ...agent("acme-noc"), role: "operator", tenant: "acme" } as const;
const TOKENS = [{ ...agent("noc"), role: "operator" } as const, TENANT];

type Row = Readonly<Record<string, unknown>>;

const fresh = new FreshService(CONFIG, TOKENS);

const post = (path: string, body: object, secret = "noc") => fresh.running.post<Row>(path, body, secret);
const order = (body: object, secret = "noc") => post("/api/v1/ban", body, secret);
const bans = async () => (await fresh.running.get<{ bans: Row[] }>("/api/v1/bans", "noc")).bans;
const active = async () => (await bans()).filter(({ state }) => state === "active");

const RULES = [{ protocol: "udp", source_ports: ["53", "123"] }];

test("an order says what is done, for how long and why, in the ban and the audit row, and outlasts a restart #ban-command-order-is-kept #ban-ordered #ban-order-reason", async () => {
  const given = { prefix: "203.0.113.64/26", rules: RULES, rate_mbps: 50, ttl_seconds: 3600, neighbors: ["edge1"] };
  const { status, body } = await order({ ...given, communities: ["64500:7"], reason: "ticket 7" });
  expect([status, body]).toMatchObject([
    200,
    {
      prefix: "203.0.113.64/26",
      method: "flowspec",
      operator: "noc",
      order_reason: "ticket 7",
      dry_run: false,
      ordered: { method: "flowspec", rate_mbps: 50, communities: "64500:7", neighbors: ["edge1"] },
      flowspec: [{ dst: "203.0.113.64/26", action: "rate_limit", rate_bytes: 6_250_000 }],
    },
  ]);
  expect(Date.parse(String(body["expires_at"])) - Date.parse(String(body["started_at"]))).toBe(3_600_000);
  const reason = expect.stringMatching(/^203\.0\.113\.64\/26: flowspec .*at 50 Mbit\/s.* for 3600 s: ticket 7$/);
  const row = { action: "ban", operator: "noc", target: "203.0.113.64", targetType: "prefix", reason };
  expect(fresh.running.audited).toMatchObject([row]);
  await fresh.restart();
  expect(await active()).toMatchObject([
    { prefix: "203.0.113.64/26", order_reason: "ticket 7", ordered: body["ordered"] },
  ]);
  const ended = await post("/api/v1/unban", { prefix: "203.0.113.64/26", reason: "ticket 7 is over" });
  expect(ended.body).toMatchObject({ state: "withdrawn", ended_by: "noc", end_reason: "ticket 7 is over" });
});

test("a template says it by its name, and the order's own fields go before #ban-command-template", async () => {
  const { body } = await order({ ip: "203.0.113.7", template: "no-chargen", rate_mbps: 0 });
  const ordered = { method: "flowspec", rules: ["proto udp src-port 19"], rate_mbps: 0 };
  expect(body).toMatchObject({ ordered, order_reason: "chargen", flowspec: [{ action: "discard" }] });
});

const BAD: readonly (readonly [name: string, body: object, status: number, says: string, secret?: string])[] = [
  ["a whitelisted address", { ip: "203.0.113.53", ttl_seconds: 60 }, 409, "remove it from protected_whitelist"],
  [
    "a prefix with one",
    { prefix: "203.0.113.32/27", method: "blackhole" },
    409,
    "203.0.113.53/32 is in protected_whitelist: order prefixes",
  ],
  ["a prefix with own infrastructure", { prefix: "192.0.2.0/25", method: "blackhole" }, 409, "own infrastructure"],
  ["a prefix outside", { prefix: "100.64.0.0/24", method: "blackhole" }, 409, "add it there"],
  [
    "a prefix of two hostgroups",
    { prefix: "198.51.100.0/24", method: "blackhole" },
    409,
    "it has addresses of global, voice: order the part of each by itself",
  ],
  ["a prefix that is too wide", { prefix: "2001:db8::/40", method: "blackhole" }, 409, "ban.order_widest_v6"],
  ["a prefix without a method", { prefix: "198.51.100.0/26" }, 409, "needs a method"],
  ["an unknown method", { ip: "198.51.100.7", method: "pray" }, 400, "blackhole"],
  ["a method without its section", { ip: "198.51.100.7", method: "divert" }, 409, "needs the section scrubbing"],
  ["an unknown neighbor", { ip: "198.51.100.7", method: "blackhole", neighbors: ["edge9"] }, 409, "192.0.2.1"],
  ["an unknown template", { ip: "198.51.100.7", template: "none" }, 400, "no-chargen"],
  [
    "a rate of a blackhole",
    { ip: "198.51.100.7", method: "blackhole", rate_mbps: 1 },
    400,
    "goes with method flowspec",
  ],
  ["rules of a blackhole", { ip: "198.51.100.7", method: "blackhole", rules: RULES }, 400, "go with method flowspec"],
  ["a rule for everything", { ip: "198.51.100.7", rules: [{}] }, 400, "matches all traffic"],
  ["a rule of another family", { ip: "198.51.100.7", rules: [{ source: "2001:db8::/64" }] }, 400, "another family"],
  ["a field that FlowSpec lacks", { ip: "198.51.100.7", rules: [{ ttl: "1-5" }] }, 400, "ttl"],
  ["no time at all", { ip: "198.51.100.7", ttl_seconds: 0 }, 400, "ttl_seconds"],
  ["too long a time", { ip: "198.51.100.7", ttl_seconds: 2_592_001 }, 400, "ttl_seconds"],
  ["host bits", { prefix: "198.51.100.7/24", method: "blackhole" }, 400, "without host bits"],
  ["both targets", { ip: "198.51.100.7", prefix: "198.51.100.0/26" }, 400, "ip goes without prefix"],
  ["a foreign address", { ip: "198.51.100.7", ttl_seconds: 60 }, 403, "outside your tenant", "acme-noc"],
  ["a foreign prefix", { prefix: "198.51.100.0/26", method: "blackhole" }, 403, "outside your tenant", "acme-noc"],
  ["a method not open to tenants", { ip: "203.0.113.7", method: "blackhole" }, 409, "order flowspec", "acme-noc"],
  [
    "communities of a tenant",
    { ip: "203.0.113.7", rules: RULES, communities: ["1:1"] },
    409,
    "leave them out",
    "acme-noc",
  ],
];

test.each(BAD.map(([name, ...given]) => [name, given] as const))(
  "%s is refused with the remedy, and nothing else changes #ban-command-bad-order",
  async (_, [body, status, says, secret]) => {
    await order({ ip: "203.0.113.99" });
    const before = await bans();
    const refused = await order(body, secret);
    expect(refused.status).toBe(status);
    expect(JSON.stringify(refused.body)).toContain(says);
    expect(await bans()).toEqual(before);
    const last = fresh.running.audited.at(-1);
    expect(last).toMatchObject({ action: "ban", result: status === 400 ? "error" : "rejected" });
  },
);

test("a tenant orders what its hostgroup allows, up to its share, and sees no neighbors #ban-command-tenant", async () => {
  const mine = (last: number) => order({ ip: `203.0.113.${last}`, rules: RULES, reason: "mine" }, "acme-noc");
  expect((await mine(1)).body).toMatchObject({ state: "active", order_reason: "mine" });
  const statuses = [await mine(2), await mine(3), await mine(4)].map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 409]);
  await order({ ip: "203.0.113.8", method: "blackhole", neighbors: ["edge1"], reason: "internal" });
  const { bans: seen } = await fresh.running.get<{ bans: Row[] }>("/api/v1/bans", "acme-noc");
  const theirs = seen.find(({ target }) => target === "203.0.113.8");
  expect(theirs).toMatchObject({ ordered: { method: "blackhole" } });
  expect(theirs?.["ordered"]).not.toHaveProperty("neighbors");
  expect(theirs).not.toHaveProperty("order_reason");
});

test("many at once are all done, or none #many-bans-all-or-none", async () => {
  const ban = [
    { ip: "198.51.100.1", reason: "a" },
    { prefix: "198.51.100.64/26", method: "blackhole" },
  ];
  const { status, body } = await post("/api/v1/bans", { ban });
  expect([status, body["bans"]]).toMatchObject([200, [{ state: "active" }, { prefix: "198.51.100.64/26" }]]);
  const refused = await post("/api/v1/bans", { ban: [{ ip: "198.51.100.2" }, { ip: "203.0.113.53" }] });
  expect([refused.status, refused.body["bans"]]).toMatchObject([409, [{ state: "active" }, { state: "rejected" }]]);
  const missing = await post("/api/v1/bans", { unban: [{ ip: "198.51.100.1" }, { ip: "198.51.100.3" }] });
  expect([missing.status, (await active()).length]).toEqual([404, 2]);
  const swap = { ban: [{ ip: "198.51.100.5" }], unban: [{ ip: "198.51.100.1" }, { prefix: "198.51.100.64/26" }] };
  expect((await post("/api/v1/bans", { ...swap })).status).toBe(200);
  expect((await active()).map(({ target }) => target)).toEqual(["198.51.100.5"]);
  const rows = fresh.running.audited.map(({ action, target, result }) => `${action} ${target} ${result}`);
  expect(rows.slice(-3)).toEqual([
    "ban 198.51.100.5 active",
    "unban 198.51.100.1 withdrawn",
    "unban 198.51.100.64 withdrawn",
  ]);
});

test("at the cap, orders take the places of those that the same request ends #many-bans-all-or-none", async () => {
  const six = (from: number) => Array.from({ length: 6 }, (_, i) => ({ ip: `198.51.100.${from + i}` }));
  const [first, second] = [six(0), six(10)];
  expect((await post("/api/v1/bans", { ban: first })).status).toBe(200);
  const swapped = await post("/api/v1/bans", { ban: second, unban: first });
  expect(swapped.status).toBe(200);
  expect((await active()).map(({ target }) => target)).toEqual(second.map(({ ip }) => ip));
  const beyond = await post("/api/v1/bans", { ban: first, unban: second.slice(1) });
  expect(beyond.status).toBe(409);
  expect((await active()).map(({ target }) => target)).toEqual(second.map(({ ip }) => ip));
});

test("a preview says what each neighbor would get, and does nothing #ban-preview-of-an-order", async () => {
  const given = { prefix: "203.0.113.64/26", rules: RULES, rate_mbps: 50, reason: "ticket 7" };
  const { status, body } = await post("/api/v1/bans/preview", given);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ban: { state: "active", method: "flowspec", order_reason: "ticket 7" },
    hostgroup: "web",
    refresh: false,
    effect: { available: false },
    neighbors: [{ neighbor: "192.0.2.1", name: "edge1", routes: [expect.stringContaining("rate-limit")] }],
  });
  expect(await bans()).toEqual([]);
  expect((await post("/api/v1/bans/preview", given, "acme-noc")).body).not.toHaveProperty("neighbors");
});

test("many at once that name one ban in two ways are refused, with both names, and nothing is done", async () => {
  await order({ prefix: "203.0.113.64/26", rules: RULES });
  const twice: readonly (readonly [object, string])[] = [
    [
      { unban: [{ prefix: "203.0.113.64/26" }, { ip: "203.0.113.64" }] },
      "203.0.113.64/26 and 203.0.113.64 name the same ban",
    ],
    [
      { ban: [{ prefix: "203.0.113.64/26", ttl_seconds: 60 }], unban: [{ ip: "203.0.113.64" }] },
      "203.0.113.64/26 and 203.0.113.64 name the same ban",
    ],
    [{ ban: [{ ip: "203.0.113.9" }, { prefix: "203.0.113.9/32" }] }, "203.0.113.9/32 is named twice"],
  ];
  for (const [body, error] of twice) {
    const answer = await post("/api/v1/bans", body);
    expect({ status: answer.status, error: answer.body["error"] }).toEqual({
      status: 400,
      error: expect.stringContaining(error),
    });
  }
  expect(await active()).toHaveLength(1);
  // The address has a ban of its own: that is another one.
  await order({ ip: "203.0.113.64" });
  const both = await post("/api/v1/bans", { unban: [{ prefix: "203.0.113.64/26" }, { ip: "203.0.113.64" }] });
  expect(both.status).toBe(200);
  expect(await active()).toEqual([]);
});
