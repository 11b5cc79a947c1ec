/** The limits of the API (docs/interface.md#limits): at each of them, one below and one above. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { loadConfig } from "../../src/config/load/load.ts";
import { AttackLog } from "../../src/detection/attack/attack-log.ts";
import { BODY_BYTES_MAX, ENDED_ATTACKS_KEPT, HOSTS_PAGE_MAX } from "../../src/limits.ts";
import { attack, NOON } from "../fixtures/browser/views.ts";
import { TestServer } from "../fixtures/http/http.ts";

const DAY = 86_400_000;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

const at = (wallMs: number) => new Date(wallMs).toISOString();
const statusOf = async (path: string) => (await server.get(path)).status;

test("limit ended attacks returned: the last 100, newest first", async () => {
  const log = new AttackLog(ENDED_ATTACKS_KEPT);
  for (let i = 1; i <= 101; i++) log.add(attack({ id: `a${i}`, endedAt: NOON + i }));
  server.backend.attacksView = { active: [], recent: log.ended.map((over) => ({ attack: over, ban: null })) };
  const { recent } = (await (await server.get("/api/v1/attacks")).json()) as { recent: { id: string }[] };
  expect(recent).toHaveLength(100);
  expect([recent[0]?.id, recent.at(-1)?.id]).toEqual(["a101", "a2"]);
});

describe.each(["/api/v1/audit?", "/api/v1/traffic?key=192.0.2.1&"])("limit history range of GET %s", (path) => {
  test.each([
    [31 * DAY - 1, 200],
    [31 * DAY, 200],
    [31 * DAY + 1, 400],
  ])("of %d ms is %d", async (ms, status) => {
    expect(await statusOf(`${path}from=${at(NOON - ms)}&to=${at(NOON)}`)).toBe(status);
  });
});

test("limit history range is the last hour by default", async () => {
  await server.get("/api/v1/traffic?key=192.0.2.1");
  await server.get("/api/v1/audit");
  const range = { fromMs: NOON - 3_600_000, toMs: NOON };
  expect(server.backend.trafficQueries).toMatchObject([range]);
  expect(server.backend.auditQueries).toMatchObject([{ range }]);
});

describe("limit history step", () => {
  test("is 60 s by default", async () => {
    await server.get("/api/v1/traffic?key=192.0.2.1");
    expect(server.backend.trafficQueries).toMatchObject([{ stepSeconds: 60 }]);
  });

  test.each([
    [1, 200],
    [86_400, 200],
    [86_401, 400],
    [0, 400],
  ])("of %d s is %d", async (seconds, status) => {
    expect(await statusOf(`/api/v1/traffic?key=192.0.2.1&step=${seconds}`)).toBe(status);
  });

  test.each([
    [5000 * 60_000, 60],
    [5000 * 60_000 + 1, 61],
    [31 * DAY, 536],
  ])("is raised so that %d ms have at most 5000 buckets: %d s", async (ms, stepSeconds) => {
    await server.get(`/api/v1/traffic?key=192.0.2.1&from=${at(NOON - ms)}&to=${at(NOON)}`);
    expect(server.backend.trafficQueries).toMatchObject([{ stepSeconds }]);
  });
});

describe("limit request body", () => {
  test.each([
    [BODY_BYTES_MAX - 1, 200],
    [BODY_BYTES_MAX, 200],
    [BODY_BYTES_MAX + 1, 413],
  ])("of %d bytes is %d", async (bytes, status) => {
    expect((await server.post("/api/v1/ban", '{"ip":"192.0.2.1"}'.padEnd(bytes))).status).toBe(status);
  });
});

test.each([
  [HOSTS_PAGE_MAX, 200],
  [HOSTS_PAGE_MAX + 1, 400],
])("limit page of hosts: a limit of %d is %d", async (limit, status) => {
  expect(await statusOf(`/api/v1/hosts?limit=${limit}`)).toBe(status);
});

test("limit listener default is 127.0.0.1:8080", () => {
  const loaded = loadConfig(new URL("../fixtures/config/good-minimal.yaml", import.meta.url).pathname);
  expect(loaded).toMatchObject({ kind: "valid", config: { api: { host: "127.0.0.1", port: 8080 } } });
});
