/** One tenant against the others: whatever its tokens order, the others and the administrator have their room. */
import { describe, expect, test } from "bun:test";
import { sharesOf } from "../../src/access/shares.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { VICTIMS_PER_SOURCE } from "../../src/limits.ts";
import { OVER_SHARE } from "../../src/mitigation/admission.ts";
import { FreshService } from "../fixtures/fresh-service.ts";
import { agent } from "../fixtures/http/node-channel.ts";

/** Each has rules of its own in the kernel: more than what is kept free for bans. */
const MAIL = Array.from({ length: 16 }, (_, i) => `203.0.113.${128 + 8 * i}/29`);
const CONFIG = `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
api:
  tokens:
    - { name: noc, token_env: NOC, role: operator }
    - { name: acme, token_env: ACME, role: operator, tenant: acme }
    - { name: acme2, token_env: ACME2, role: operator, tenant: acme }
    - { name: other, token_env: OTHER, role: operator, tenant: other }
ban: { max_active_bans: 8 }
dataplane: { interfaces: [fw-absent0], limits: { max_dynamic_rules: 256 } }
hostgroups:
  - name: web
    networks: [203.0.113.0/25]
    tenant: acme
    scrub: { selectable_profiles: [web], selectable_always: true }
  - name: mail
    networks: [${MAIL.join(", ")}]
    tenant: other
    scrub: { profile: web, always: true, selectable_profiles: [web], selectable_always: true }
`;
const TOKENS = [
  { ...agent("noc"), role: "operator" },
  { ...agent("acme"), role: "operator", tenant: "acme" },
  { ...agent("acme2"), role: "operator", tenant: "acme" },
  { ...agent("other"), role: "operator", tenant: "other" },
] as const;
type Caller = (typeof TOKENS)[number]["name"];

const fresh = new FreshService(CONFIG, TOKENS);

const block = (source: string, victim: string, caller: Caller) =>
  fresh.running.post<{ error?: string }>("/api/v1/dataplane/sources", { source, victim, ttl_seconds: 600 }, caller);
const ban = (ip: string, caller: Caller) => fresh.running.post<BanWire>("/api/v1/ban", { ip }, caller);
const protect = (prefix: string, caller: Caller) =>
  fresh.running.order<{ error?: string }>(
    "PUT",
    `/api/v1/protection/${encodeURIComponent(prefix)}`,
    { profile: "web", always: true },
    caller,
  );

/** Until the caller is refused; returns how many were taken, and the last answer. */
async function fill(order: (i: number) => Promise<{ status: number; body: unknown }>, most = 300) {
  for (let i = 0; i < most; i++) {
    const { status, body } = await order(i);
    if (status !== 200) return { taken: i, status, body };
  }
  throw new Error(`${most} were taken`);
}

const source = (i: number) => `198.51.${100 + (i >> 8)}.${i & 255}`;

describe("source block refused", () => {
  test("a tenant takes no more than its share of slots, and the others still block #source-block-refused-slots-share", async () => {
    const first = await fill((i) => block(source(i), "203.0.113.1", "acme"));
    expect(first).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("your share of policy slots") },
    });
    const second = await fill((i) => block(source(i), "203.0.113.2", "acme2"));
    expect(second.taken).toBeLessThanOrEqual(first.taken);
    expect((await block("198.51.100.9", "203.0.113.129", "other")).status).toBe(200);
    expect((await block("198.51.100.9", "203.0.113.3", "noc")).status).toBe(200);
    const { capacity } = fresh.running.floodwall.sourceBlocks.room;
    const share = sharesOf({ capacity }, { tenants: 2, tokensOf: () => 2 }, "acme");
    expect(first.taken).toBe(share.token);
    expect(first.taken + second.taken).toBe(share.tenant);
  });

  test("before it pushes a filter out of the kernel that is always in force", async () => {
    const standing = fresh.running.filters.rules.length;
    expect(standing).toBeGreaterThan(0);
    for (const token of ["acme", "acme2", "other", "noc"] as const) {
      const victim = token === "other" ? "203.0.113.129" : "203.0.113.1";
      await fill((i) => block(source(i + 1000), victim, token));
    }
    // Bans at the cap, whose slots were kept free as well.
    for (let i = 10; i < 18; i++) expect((await ban(`203.0.113.${i}`, "noc")).status).toBe(200);
    fresh.clock.advance(10_000);
    expect(fresh.running.filters.rules.length).toBeGreaterThanOrEqual(standing);
    expect(fresh.running.floodwall.dataPlane?.view().rulesLeftOut).toEqual({});
  });

  test("a tenant leaves every source some victims for the others #source-block-refused-victims-share", async () => {
    const { taken, body } = await fill((i) => block("198.51.100.9", `203.0.113.${1 + i}`, "acme"));
    await fill((i) => block("198.51.100.9", `203.0.113.${20 + i}`, "acme2"));
    expect(taken).toBeLessThan(VICTIMS_PER_SOURCE / 2);
    expect(body).toMatchObject({ error: expect.stringContaining("your share of the source's victims") });
    expect((await block("198.51.100.9", "203.0.113.129", "other")).status).toBe(200);
    expect((await block("198.51.100.9", "203.0.113.130", "noc")).status).toBe(200);
  });
});

test("by protections that are always in force a tenant takes no slots of others", async () => {
  const { body } = await fill((i) => protect(`203.0.113.${i}/32`, "acme"), 100);
  expect(body).toMatchObject({ error: expect.stringContaining("your share") });
  await fill((i) => protect(`203.0.113.${127 - i}/32`, "acme2"), 100);
  fresh.clock.advance(10_000);
  expect(fresh.running.floodwall.dataPlane?.view().rulesLeftOut).toEqual({});
  expect((await protect("203.0.113.200/32", "other")).status).toBe(200);
  expect((await block("198.51.100.9", "203.0.113.129", "other")).status).toBe(200);
  expect((await protect("203.0.113.201/32", "noc")).status).toBe(200);
  expect((await block("198.51.100.9", "203.0.113.3", "noc")).status).toBe(200);
});

test("by manual bans a tenant leaves half of the cap to attacks and a share to the others #ban-refusal-share", async () => {
  const { taken, status, body } = await fill((i) => ban(`203.0.113.${1 + i}`, "acme"));
  expect({ taken, status, body }).toMatchObject({ taken: 1, status: 409, body: { reason: OVER_SHARE } });
  expect((await ban("203.0.113.129", "other")).status).toBe(200);
  expect((await ban("203.0.113.99", "noc")).status).toBe(200);
  const preview = await fresh.running.get<{ reason?: string }>("/api/v1/bans/preview?ip=203.0.113.77", "acme");
  expect(JSON.stringify(preview)).toContain(OVER_SHARE);
});
