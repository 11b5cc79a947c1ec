import { afterEach, beforeEach, expect, test } from "bun:test";
import { ACME_HOST, admitCallers, as, type Caller, OTHER_HOST } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { ban } from "../../../test/fixtures/views.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

async function ask(caller: Caller, query: string): Promise<[number, unknown]> {
  const answer = await fetch(`${server.base}/api/v1/bans/preview${query}`, { headers: as(caller) });
  return [answer.status, await answer.json()];
}

test("GET /api/v1/bans/preview is the ban that it would be, its hostgroup, and whether it prolongs one #get-api-v1-bans-preview", async () => {
  server.backend.onPreview = (target) => ({ ban: ban({ target }), group: "web", isRefresh: true });
  expect(await ask("viewer", `?ip=${ACME_HOST}`)).toMatchObject([
    200,
    { ban: { target: ACME_HOST, state: "active" }, hostgroup: "web", refresh: true },
  ]);
  expect(server.backend.calls).toEqual([]);
  expect(server.audited).toEqual([]);
});

test("GET /api/v1/bans/preview of a refusal is a rejected ban, without a hostgroup where there is none #get-api-v1-bans-preview", async () => {
  const refused = ban({ state: "rejected", reason: "outside configured networks" });
  server.backend.onPreview = () => ({ ban: refused, group: null, isRefresh: false });
  const [status, body] = await ask("operator", "?ip=203.0.113.1");
  expect(status).toBe(200);
  expect(body).toMatchObject({ ban: { state: "rejected", reason: "outside configured networks" }, refresh: false });
  expect(body).not.toHaveProperty("hostgroup");
});

test.each([
  ["viewer", "", 400, "invalid ip: "],
  ["viewer", "?ip=192.0.2.01", 400, "invalid ip: 192.0.2.01"],
  ["tenantViewer", `?ip=${OTHER_HOST}`, 403, "target is outside your tenant"],
  ["tenantOperator", "?ip=203.0.113.1", 403, "target is outside your tenant"],
] as const)("%s asking %p gets %d: %s", async (caller, query, status, error) => {
  expect(await ask(caller, query)).toEqual([status, { error }]);
});

test("GET /api/v1/bans/preview says why a source block for the address would be refused, and nothing if it would not", async () => {
  server.backend.onPreview = (target) => ({ ban: ban({ target }), group: "web", isRefresh: false });
  const asked: unknown[] = [];
  server.backend.blockRefusal = (pair) => {
    asked.push(pair);
    return "victim_whitelisted";
  };
  const [, refused] = await ask("viewer", `?ip=${ACME_HOST}`);
  expect(refused).toMatchObject({ source_block_refused: "victim is in the protected whitelist" });
  expect(asked).toEqual([{ source: null, victim: ACME_HOST }]);
  server.backend.blockRefusal = () => null;
  const [, accepted] = await ask("viewer", `?ip=${ACME_HOST}`);
  expect(accepted).not.toHaveProperty("source_block_refused");
});
