/** Shared links by the whole service (docs/interface.md#shared-links). */
import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import type { NewSharedLinkWire, SharedLinksWire } from "../../src/http/wire/guest-link.ts";
import { SharedWire } from "../../src/http/wire/guest-link.ts";
import { SHARED_LINK_SECONDS_MAX, SHARED_LINKS_MAX } from "../../src/limits.ts";
import { FreshService } from "../fixtures/fresh-service.ts";
import { address } from "../fixtures/host-rows.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { attack, classification } from "../fixtures/views.ts";

const CONFIG = `networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25], tenant: acme }
  - { name: mail, networks: [203.0.113.128/25], tenant: other }
`;
const ON = `${CONFIG}api: { shared_links: true }\n`;
const TOKENS = [
  { ...agent("noc"), role: "operator" },
  { ...agent("acme"), role: "operator", tenant: "acme" },
  { ...agent("other"), role: "operator", tenant: "other" },
  { ...agent("look"), role: "viewer", tenant: "acme" },
] as const;
type Caller = (typeof TOKENS)[number]["name"];

const fresh = new FreshService(ON, TOKENS);
const PATH = "/api/v1/shared-links";
const DAY = { ttl_seconds: 86_400 };
const share = (body: object, caller: Caller = "noc") =>
  fresh.running.post<NewSharedLinkWire & { readonly error?: string }>(PATH, body, caller);
const list = (caller: Caller = "noc") => fresh.running.get<SharedLinksWire>(PATH, caller);
const end = (id: string, caller: Caller = "noc") => fresh.running.status("DELETE", `${PATH}/${id}`, caller);
const shown = (secret: string) => fresh.running.get<SharedWire & { readonly error?: string }>("/api/v1/shared", secret);

let incident = "";
beforeEach(() => {
  const target = address("203.0.113.1");
  const startedAt = fresh.clock.wallMs();
  const of = attack({ id: "a1", target, group: "web", startedAt, classification: classification() });
  incident = fresh.running.floodwall.incidents.recorded({ kind: "started", attack: of }).attack.incident ?? "";
});

describe("a shared link", () => {
  test("shows an incident or a customer as its tenant sees it, without notes and names #shared-link-as-tenant", async () => {
    await fresh.running.post(`/api/v1/incidents/${incident}`, { owner: "take" }, "noc");
    await fresh.running.post(`/api/v1/incidents/${incident}/notes`, { text: "of the tenant" }, "acme");
    for (const subject of [{ incident }, { tenant: "acme" }, { hostgroup: "web" }]) {
      const { status, body } = await share({ ...subject, ...DAY, reason: "ticket 7" });
      expect([status, body.secret.length]).toEqual([201, 43]);
      const shared = await shown(body.secret);
      expect([...Value.Errors(SharedWire, shared)]).toEqual([]);
      const row = shared.incident ?? shared.incidents?.[0];
      expect(row).toMatchObject({ id: incident, note_count: 0, owner: { of: "operator" } });
      expect(JSON.stringify(shared)).not.toMatch(/noc|of the tenant/);
    }
  });

  test("opens nothing else, and a token opens no link #shared-link-nothing-else", async () => {
    const { body } = await share({ incident, ...DAY });
    for (const path of ["/api/v1/attacks", `/api/v1/incidents/${incident}`, PATH, "/api/v1/session"]) {
      expect(await fresh.running.status("GET", path, body.secret)).toBe(401);
    }
    for (const secret of ["noc", "acme", body.id, ""]) {
      expect(await fresh.running.status("GET", "/api/v1/shared", secret)).toBe(401);
    }
    await fresh.reload(CONFIG);
    expect(await fresh.running.status("GET", "/api/v1/shared", body.secret)).toBe(401);
    expect(await share({ incident, ...DAY })).toMatchObject({ status: 409 });
    expect(await list()).toMatchObject({ allowed: false, links: [{ incident }] });
  });

  test("ends when it expires or is ended, also over a restart, and its secret is not kept #shared-link-is-saved", async () => {
    const [short, long, ended] = [
      await share({ incident, ttl_seconds: 60 }),
      await share({ incident, ttl_seconds: SHARED_LINK_SECONDS_MAX }),
      await share({ tenant: "acme", ...DAY }),
    ];
    expect(await end(ended.body.id)).toBe(204);
    expect(await end(ended.body.id)).toBe(404);
    const audited = fresh.running.audited
      .filter(({ action }) => action === "shared_link")
      .map(({ result, operator }) => `${result} ${operator}`);
    await fresh.restart();
    const kept = readFileSync(join(fresh.running.stateDir, "shared-links.json"), "utf8");
    expect(kept).not.toContain(long.body.secret);
    expect(audited).toEqual(["set noc", "set noc", "set noc", "cleared noc", "rejected noc"]);
    fresh.clock.advance(60_000);
    const statuses = [short, long, ended].map(({ body }) => fresh.running.status("GET", "/api/v1/shared", body.secret));
    // The incident is not kept without its attack.
    expect(await Promise.all(statuses)).toEqual([401, 200, 401]);
    expect((await list()).links).toEqual([expect.objectContaining({ id: long.body.id, by: "noc" })]);
  });

  test("is of what the caller may see, and a tenant has its own #shared-link-of-own", async () => {
    const own = await share({ incident, ...DAY }, "acme");
    await share({ incident, ...DAY });
    expect((await list("acme")).links.map(({ id }) => id)).toEqual([own.body.id]);
    expect((await list()).links).toHaveLength(2);
    for (const subject of [{ incident }, { tenant: "acme" }, { hostgroup: "web" }, { attack: "none" }]) {
      expect(await share({ ...subject, ...DAY }, "other")).toMatchObject({ status: 404 });
    }
    expect(await end(own.body.id, "other")).toBe(404);
    expect(await share({ incident, ...DAY }, "look")).toMatchObject({ status: 403 });
    const bad = [{ incident }, DAY, { incident, tenant: "acme", ...DAY }, { incident, ttl_seconds: 59 }];
    for (const body of [...bad, { incident, ttl_seconds: SHARED_LINK_SECONDS_MAX + 1 }]) {
      expect(await share(body)).toMatchObject({ status: 400 });
    }
  });

  test("has a bound, of a tenant its share #shared-link-bounds", async () => {
    const share48 = Math.floor((SHARED_LINKS_MAX * 3) / 4 / 2 / 2);
    for (let i = 0; i < share48; i++) expect((await share({ incident, ...DAY }, "acme")).status).toBe(201);
    expect(await share({ incident, ...DAY }, "acme")).toMatchObject({
      status: 409,
      body: { error: "your share of shared links is taken: end one of them" },
    });
    for (let i = share48; i < SHARED_LINKS_MAX; i++) expect((await share({ incident, ...DAY })).status).toBe(201);
    expect(await share({ incident, ...DAY })).toMatchObject({ status: 409 });
  });
});

test("a shared incident that no tenant owned is not shown once a tenant owns one of its victims", async () => {
  const free = ON.replace(", tenant: acme", "").replace(", tenant: other", "");
  await fresh.reload(free);
  const startedAt = fresh.clock.wallMs();
  const { incidents } = fresh.running.floodwall;
  const begins = (id: string, ip: string) =>
    incidents.recorded({
      kind: "started",
      attack: attack({ id, target: address(ip), group: "mail", startedAt, classification: classification() }),
    }).attack.incident ?? "";
  const shared = begins("b1", "203.0.113.129");
  expect(begins("b2", "203.0.113.200")).toBe(shared);
  const { body } = await share({ incident: shared, ...DAY });
  expect((await shown(body.secret)).incident?.id).toBe(shared);
  const partly = free.replace("networks: [203.0.113.128/25]", "networks: [203.0.113.128/26]");
  await fresh.reload(
    `${partly.replace("api:", "  - { name: late, networks: [203.0.113.192/26], tenant: other }\napi:")}`,
  );
  expect((await shown(body.secret)).error).toBeString();
});
