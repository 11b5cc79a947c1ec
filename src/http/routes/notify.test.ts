import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import type { RouteQuestion } from "../wire/notify-route.ts";

let server: TestServer;
const tested: string[] = [];
const set: string[] = [];
const asked: RouteQuestion[] = [];

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  tested.length = 0;
  set.length = 0;
  asked.length = 0;
  server.backend.notifyTargets = () => ({
    list: () => [
      {
        name: "noc",
        kind: "slack",
        tenant: null,
        waiting: 2,
        deliveredAt: null,
        lastFault: { atMs: 1000, cause: "answered 503" },
      },
      { name: "acme/hook", kind: "webhook", tenant: "acme", waiting: 0, deliveredAt: null, lastFault: null },
      { name: "siem", kind: "syslog", tenant: null, waiting: 0, deliveredAt: 2000, lastFault: null },
    ],
    own: {
      set: async (target) => {
        if (target.name === "refused") return { kind: "refused", refusal: "host_not_allowed" };
        set.push(JSON.stringify(target));
        return { kind: "done", target: { id: `${target.tenant}/${target.name}`, ...target }, isSaved: true };
      },
      remove: async (id) => (id === "acme/hook" ? { isSaved: true } : null),
    },
    route: (question) => {
      asked.push(question);
      const route = {
        place: "notify.routes[1].routes[0]",
        targets: ["noc", "siem"],
        repeatMs: 1_800_000,
        groupMs: null,
      };
      return { severity: "critical", targets: ["noc"], routes: [{ ...route, isQuiet: false }] };
    },
    test: (target, by) => {
      if (target === "noc") tested.push(`${target} by ${by.operator} of ${by.tenant}`);
      return target === "noc";
    },
  });
});
afterEach(() => server.http.stop());

const order = (target: string, caller: Parameters<typeof as>[0]) =>
  fetch(`${server.base}/api/v1/notify/targets/${target}/test`, {
    method: "POST",
    headers: { ...as(caller), "content-type": "application/json" },
    body: "{}",
  });

test("each target is listed with what waits, its last delivery and its last failure #get-api-v1-notify-targets #notify-targets", async () => {
  const answer = await fetch(`${server.base}/api/v1/notify/targets`, { headers: as("viewer") });
  expect(await answer.json()).toEqual({
    targets: [
      { name: "noc", kind: "slack", waiting: 2, failed_at: "1970-01-01T00:00:01.000Z", failure: "answered 503" },
      { name: "acme/hook", kind: "webhook", tenant: "acme", waiting: 0 },
      { name: "siem", kind: "syslog", waiting: 0, delivered_at: "1970-01-01T00:00:02.000Z" },
    ],
  });
});

test("an operator tests one target, and a target that does not exist is 404 #post-api-v1-notify-targets-test", async () => {
  const answer = await order("noc", "operator");
  expect([answer.status, await answer.json()]).toEqual([200, { target: "noc", queued: true }]);
  const absent = await order("absent", "operator");
  expect(absent.status).toBe(404);
  expect((await order("noc", "viewer")).status).toBe(403);
  expect(tested).toEqual(["noc by operator of null"]);
});

const own = (method: "PUT" | "DELETE", target: string, caller: Parameters<typeof as>[0], body: object = {}) =>
  fetch(`${server.base}/api/v1/notify/targets/${target}`, {
    method,
    headers: { ...as(caller), "content-type": "application/json" },
    body: JSON.stringify(body),
  });

test("a tenant sees its own targets alone, by its own names, and tests them #notify-targets-of-tenants", async () => {
  const answer = await fetch(`${server.base}/api/v1/notify/targets`, { headers: as("tenantOperator") });
  expect(await answer.json()).toEqual({
    targets: [{ name: "hook", kind: "webhook", tenant: "acme", waiting: 0 }],
  });
  expect((await order("noc", "tenantOperator")).status).toBe(404);
});

test("a tenant sets and removes a target, and nothing of it is shown again #put-api-v1-notify-targets #delete-api-v1-notify-targets", async () => {
  const body = { kind: "webhook", url: "https://hooks.acme.example/1", secret: "s3cret", severity: "warning" };
  const answer = await own("PUT", "hook", "tenantOperator", body);
  expect([answer.status, await answer.json()]).toEqual([200, { target: "hook" }]);
  expect(JSON.parse(set[0] ?? "")).toMatchObject({ ...body, tenant: "acme", name: "hook" });
  expect((await own("DELETE", "hook", "tenantOperator")).status).toBe(200);
  expect((await own("DELETE", "other", "tenantOperator")).status).toBe(404);
});

test.each([
  [{ kind: "webhook" }, "url is required for webhook"],
  [{ kind: "slack", url: "https://a.example", secret: "x" }, "secret is not for slack"],
  [{ kind: "webhook", url: "file:///etc/passwd" }, "url must be an http or https URL"],
  [{ kind: "webhook", url: "https://a:b@c.example" }, "url must not hold an account"],
  [{ kind: "exec", url: "https://a.example" }, "kind"],
  [{ kind: "webhook", url: "https://a.example", path: "/x" }, 'unknown field \\"path\\"'],
])("%j is refused #notify-targets-of-tenants", async (body, error) => {
  const answer = await own("PUT", "hook", "tenantOperator", body);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain(error);
  expect(set).toEqual([]);
});

test("what the configuration does not allow is 409, and so is a target of a caller without a tenant", async () => {
  const body = { kind: "slack", url: "https://hooks.example.net/1" };
  const answer = await own("PUT", "refused", "tenantOperator", body);
  expect([answer.status, await answer.json()]).toEqual([
    409,
    { error: "tenants may not set targets at this host: ask your operator for notify.tenant_targets" },
  ]);
  expect((await own("PUT", "hook", "operator", body)).status).toBe(409);
});

test("the targets of an event that may happen are answered with the routes that decide #get-api-v1-notify-route", async () => {
  const ask = (query: string, caller: Parameters<typeof as>[0] = "viewer") =>
    fetch(`${server.base}/api/v1/notify/route?${query}`, { headers: as(caller) });
  const all = "event=attack_started&severity=warning&tenant=acme&group=web&pps=5e3&mbps=1.5&at=2026-03-01T00:00:00Z";
  expect((await ask(all)).status).toBe(400);
  const answer = await ask(all.replace("5e3", "5000"));
  expect(await answer.json()).toEqual({
    ...{ event: "attack_started", severity: "critical", targets: ["noc"] },
    routes: [{ route: "notify.routes[1].routes[0]", targets: ["noc", "siem"], quiet: false, repeat_minutes: 30 }],
  });
  const { atMs, ...rest } = asked[0] ?? { atMs: 0 };
  expect(rest).toEqual({
    kind: "attack_started",
    severity: "warning",
    tenant: "acme",
    group: "web",
    pps: 5000,
    mbps: 1.5,
  });
  expect(atMs).toBe(Date.UTC(2026, 2, 1));
  for (const wrong of [
    "",
    "event=x",
    "event=test&severity=x",
    "event=test&at=x",
    "event=test&tenant=",
    "event=test&mbps=-1",
  ])
    expect((await ask(wrong)).status).toBe(400);
  expect((await ask("event=test", "tenantOperator")).status).toBe(403);
});
