/** The requests of one tenant hold up and refuse none of the others'. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { REQUEST_TURN_MS, RequestTurns } from "../../src/http/server/request-turns.ts";
import { EVENT_STREAMS_MAX, HISTORY_READS_MAX, STATE_ORDERS_MAX } from "../../src/limits.ts";
import { openLog } from "../../src/observability/log.ts";
import { Metrics } from "../../src/observability/metrics.ts";
import type { HistoryDriver } from "../../src/storage/history-driver.ts";
import { HistoryStore } from "../../src/storage/history-store.ts";
import { afterPromises, nextTurn } from "../../src/system/timers.ts";
import { address } from "../fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, bearer, CALLERS, secretOf } from "../fixtures/http/callers.ts";
import { JSON_TYPE, TestServer } from "../fixtures/http/http.ts";
import { ManualClock, ManualTimers } from "../fixtures/manual-clock.ts";
import { banBy, harness } from "../fixtures/mitigation/ban-engine.ts";

const ORDERS = 200;
/** What each order costs, on the clock of the service. */
const ORDER_MS = 1;

let server: TestServer;
let release: () => void;
let held: Promise<void>;
const sockets: Socket[] = [];
const leaving = new AbortController();

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  held = new Promise((resolve) => {
    release = resolve;
  });
});
afterEach(async () => {
  release();
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.http.stop();
});

const ask = (path: string, headers: Record<string, string>, init: RequestInit = {}) =>
  fetch(server.base + path, { ...init, headers: { ...headers, ...JSON_TYPE } });
const order = (headers: Record<string, string>) =>
  ask("/api/v1/ban", headers, { method: "POST", body: JSON.stringify({ ip: ACME_HOST }) });

function addTenants(count: number): void {
  const token = (i: number) => ({ ...CALLERS.tenantOperator, name: `t${i}`, tenant: `t${i}`, tokenEnv: `T${i}` });
  server.tokens = [...server.tokens, ...Array.from({ length: count }, (_, i) => token(i))];
}

async function socketOf(): Promise<Socket> {
  const socket = connect(server.port, "127.0.0.1");
  sockets.push(socket);
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

test("an order of the administrator is carried out among the first, however many a tenant gave before it", async () => {
  const ordered: string[] = [];
  const { backend } = server;
  const ban = backend.ban.bind(backend);
  backend.ban = (target, by) => {
    server.clock.advance(ORDER_MS);
    ordered.push(by.operator);
    return ban(target, by);
  };
  const body = `{"ip":"${ACME_HOST}"}`;
  const request = ({ authorization }: { readonly authorization: string }) =>
    `POST /api/v1/ban HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  let answered = 0;
  for (let i = 0; i <= ORDERS; i++) {
    const socket = await socketOf();
    socket.on("data", (bytes) => {
      answered += bytes.toString("latin1").split("HTTP/1.1 200").length - 1;
    });
  }
  for (const [i, socket] of sockets.entries()) socket.write(request(as(i < ORDERS ? "tenantOperator" : "operator")));
  while (answered <= ORDERS) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(ordered).toHaveLength(ORDERS + 1);
  expect(ordered.indexOf("operator")).toBeLessThan(ORDERS / 4);
});

test("a command with many targets does not read the table of bans, which may have ten thousand", async () => {
  const { backend } = server;
  let reads = 0;
  backend.bans = () => {
    reads++;
    return { bans: [], viewOf: (one) => ({ ban: one, routeState: null }) };
  };
  const unban = Array.from({ length: 100 }, (_, i) => ({ ip: `192.0.2.${i}` }));
  const answer = await ask("/api/v1/bans", as("operator"), { method: "POST", body: JSON.stringify({ unban }) });
  expect([answer.status, reads]).toEqual([200, 0]);
});

test("orders of a tenant that wait for the disk are bounded, and those of others are taken", async () => {
  const { backend } = server;
  const ban = backend.ban.bind(backend);
  backend.ban = async (target, by) => {
    if (by.tenant !== null) await held;
    return ban(target, by);
  };
  addTenants(7);
  const orders = Array.from({ length: 100 }, () => order(as("tenantOperator")));
  const refused = await Promise.race(orders.map(async (each) => ((await each).status === 429 ? each : held)));
  expect(await refused?.json()).toEqual({
    error: "your share of orders at once is taken: wait for those in progress",
  });
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect((await order(as("operator"))).status).toBe(200);
  release();
  const statuses = (await Promise.all(orders)).map(({ status }) => status);
  // An eighth of the three quarters that are for tenants, and one of two tokens half of that.
  expect(statuses.filter((status) => status === 200)).toHaveLength((STATE_ORDERS_MAX * 3) / 4 / 8 / 2);
  expect((await order(as("tenantOperator"))).status).toBe(200);
  // Each has its row, also those that were refused.
  expect(server.audited).toHaveLength(102);
});

test("a viewer of a tenant makes no request of the administrator to the history fail", async () => {
  let asked = 0;
  server.backend.auditEvents = async (question) => {
    asked++;
    if (question.tenant !== null) await held;
    return { available: true, events: [] };
  };
  addTenants(7);
  const questions = Array.from({ length: 100 }, () => ask("/api/v1/audit", as("tenantViewer")));
  const refused = await Promise.race(questions.map(async (each) => ((await each).status === 429 ? each : held)));
  expect(await refused?.json()).toMatchObject({
    error: expect.stringContaining("your share of requests to the history"),
  });
  expect((await ask("/api/v1/audit", as("operator"))).status).toBe(200);
  // Half of an eighth of three quarters, and the administrator's.
  expect(asked).toBe((HISTORY_READS_MAX * 3) / 4 / 8 / 2 + 1);
  release();
  await Promise.all(questions);
});

test("the streams of a tenant with many tokens leave some to the administrator", async () => {
  const own = Array.from({ length: 20 }, (_, i) => ({
    ...({ name: `acme-${i}`, tokenEnv: `ACME_${i}`, role: "viewer", tenant: "acme", node: null } as const),
  }));
  server.tokens = [...server.tokens, ...own];
  for (const token of own) server.secrets.set(token.tokenEnv, secretOf(token));
  // Kept, since a collected response ends its stream.
  const streams: Response[] = [];
  for (let i = 0; i < EVENT_STREAMS_MAX; i++) {
    const headers = bearer(secretOf(own[i % own.length] as (typeof own)[number]));
    streams.push(await ask("/api/v1/events", headers, { signal: leaving.signal }));
  }
  const statuses = streams.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength((EVENT_STREAMS_MAX * 3) / 4);
  expect(statuses.at(-1)).toBe(429);
  expect((await ask("/api/v1/events", as("operator"), { signal: leaving.signal })).status).toBe(200);
  leaving.abort();
});

test("orders that the disk takes at once take effect in several turns, and are one set of routes", async () => {
  const clock = new ManualClock();
  const turns = new RequestTurns({ clock, nextTurn, afterPromises });
  const perTurn = [0];
  const onChange = () => {
    clock.advance(ORDER_MS);
    perTurn.push((perTurn.pop() ?? 0) + 1);
  };
  const { engine, announcer } = harness({ maxActiveBans: 50 }, { goOn: () => turns.goOn(), onChange });
  const hosts = Array.from({ length: 20 }, (_, i) => address(`192.0.2.${100 + i}`));
  let isOver = false;
  const marks = (async () => {
    for (; !isOver; perTurn.push(0)) await nextTurn();
  })();
  await Promise.all(hosts.map((host) => banBy(engine, host, 1000)));
  isOver = true;
  await marks;
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(REQUEST_TURN_MS / ORDER_MS);
  expect([announcer.wanted.length, announcer.calls]).toEqual([20, 1]);
});

test("the answers of the history go on in turns", async () => {
  let waits = 0;
  const goOn = async () => void waits++;
  const driver = { ask: async () => [] } as unknown as HistoryDriver;
  const clock = new ManualClock();
  const log = openLog({ level: "info", clock, destination: { write: () => {} } });
  const { storage } = new Metrics("1");
  const history = new HistoryStore({ driver, clock, timers: new ManualTimers(clock), log, metrics: storage, goOn });
  await history.ask("endedAttacks", { limit: 1 });
  expect(waits).toBe(1);
});
