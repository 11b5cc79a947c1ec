/** No load of requests holds up the event loop, by which attacks are detected and routes announced. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { nextTurn } from "../../src/system/timers.ts";
import { address } from "../fixtures/host-rows.ts";
import { EventReader } from "../fixtures/http/event-reader.ts";
import { TestServer } from "../fixtures/http/http.ts";
import { IncidentWorld } from "../fixtures/incident-world.ts";
import { attack, ban } from "../fixtures/views.ts";

const CALLERS = 200;
/** What each request costs in these tests, on the clock of the service. */
const REQUEST_MS = 1;
/** Well below the 50 ms of the promise, since an announcement takes several turns of the loop. */
const TURN_MS_MAX = 4;

let server: TestServer;
const sockets: Socket[] = [];

beforeEach(() => {
  server = TestServer.started();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.http.stop();
});

/** All callers are connected; then all send at once. Resolves with the longest turn of the loop until all are answered. */
async function longestTurnOf(request: string): Promise<number> {
  let answered = 0;
  for (let i = 0; i < CALLERS; i++) {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("data", (bytes) => {
      answered += bytes.toString("latin1").split("HTTP/1.1 ").length - 1;
    });
    sockets.push(socket);
    await new Promise((resolve) => socket.once("connect", resolve));
  }
  for (const socket of sockets) socket.write(request);
  let longestMs = 0;
  while (answered < CALLERS) {
    const beforeMs = server.clock.monotonicMs();
    await nextTurn();
    longestMs = Math.max(longestMs, server.clock.monotonicMs() - beforeMs);
  }
  expect(server.clock.monotonicMs()).toBeGreaterThanOrEqual(CALLERS * REQUEST_MS);
  return longestMs;
}

/** The answer, and the longest turn of the loop until it is there. */
async function turnsOf(path: string): Promise<{ readonly body: unknown; readonly longestMs: number }> {
  let isAnswered = false;
  const answer = server.get(path).finally(() => {
    isAnswered = true;
  });
  let longestMs = 0;
  while (!isAnswered) {
    const beforeMs = server.clock.monotonicMs();
    await nextTurn();
    longestMs = Math.max(longestMs, server.clock.monotonicMs() - beforeMs);
  }
  return { body: await (await answer).json(), longestMs };
}

const head = (line: string) => `${line} HTTP/1.1\r\nHost: localhost\r\n`;
const body = '{"ip":"192.0.2.1"}';

describe("200 callers at once hold up no turn of the event loop", () => {
  test("with requests that read", async () => {
    const status = server.backend.status.bind(server.backend);
    server.backend.status = () => {
      server.clock.advance(REQUEST_MS);
      return status();
    };
    expect(await longestTurnOf(`${head("GET /api/v1/status")}\r\n`)).toBeLessThanOrEqual(TURN_MS_MAX);
  });

  test("with orders, whose bodies have all come", async () => {
    const ban = server.backend.ban.bind(server.backend);
    server.backend.ban = (...order) => {
      server.clock.advance(REQUEST_MS);
      return ban(...order);
    };
    const fields = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect(await longestTurnOf(head("POST /api/v1/ban") + fields)).toBeLessThanOrEqual(TURN_MS_MAX);
  });

  test("with requests that are refused", async () => {
    const { api } = server.metrics;
    const answered = api.answered.bind(api);
    api.answered = (request) => {
      server.clock.advance(REQUEST_MS);
      answered(request);
    };
    expect(await longestTurnOf(`${head("GET /nowhere")}\r\n`)).toBeLessThanOrEqual(TURN_MS_MAX);
  });
});

test("the list of bans, of which there may be ten thousand, is made in slices", async () => {
  const bans = Array.from({ length: CALLERS }, (_, i) => ban({ id: `b${i}`, target: `192.0.2.${i}` }));
  server.backend.bans = () => ({
    bans,
    viewOf: (one) => {
      server.clock.advance(REQUEST_MS);
      return { ban: one, routeState: null };
    },
  });
  const { body, longestMs } = await turnsOf("/api/v1/bans");
  expect((body as { bans: unknown[] }).bans).toHaveLength(CALLERS);
  expect(longestMs).toBeLessThanOrEqual(TURN_MS_MAX);
});

describe("the list of incidents, each of which may have a thousand attacks, is made in slices", () => {
  const ids = Array.from({ length: CALLERS }, (_, i) => `i${i}`);
  const pay = () => server.clock.advance(REQUEST_MS);
  beforeEach(() => {
    const world = new IncidentWorld();
    world.start("a", { target: address("192.0.2.1") });
    const [one] = [...world.table.listed()];
    if (one === undefined) throw new Error("there is one");
    const victims = () => {
      pay();
      return one.head.victims();
    };
    const view = () => {
      pay();
      return one.view();
    };
    const listed = ids.map((id) => ({ head: { ...one.head, id, victims }, view }));
    server.backend.incidents.listed = () => listed.values();
  });

  test.each([
    ["?target=203.0.113.9", 0],
    ["", 100],
  ])("%s", async (query, found) => {
    const { body, longestMs } = await turnsOf(`/api/v1/incidents${query}`);
    expect((body as { incidents: unknown[] }).incidents).toHaveLength(found);
    expect(longestMs).toBeLessThanOrEqual(TURN_MS_MAX);
  });
});

test("an event stream with hundreds of attacks holds up no turn of the event loop", async () => {
  const reader = await EventReader.open(server.base);
  const tenancy = server.backend.tenancy();
  server.backend.tenancy = () => {
    server.clock.advance(REQUEST_MS);
    return tenancy;
  };
  const ids = Array.from({ length: CALLERS }, (_, i) => `a${i}`);
  const beganMs = server.clock.monotonicMs();
  for (const id of ids) server.http.events.publish({ kind: "attack", view: { attack: attack({ id }), ban: null } });
  expect(server.clock.monotonicMs() - beganMs).toBeLessThanOrEqual(TURN_MS_MAX);
  for (const id of ids) expect((await reader.next())?.data).toMatchObject({ id });
  reader.leave();
});

test("readers of the metrics cost one text a second, however many there are", async () => {
  let written = 0;
  server.metrics.beforeScrape(() => {
    written++;
  });
  const read = async () => (await server.get("/metrics")).text();
  const texts = await Promise.all(Array.from({ length: CALLERS }, read));
  expect(written).toBe(1);
  expect(new Set(texts).size).toBe(1);
  server.clock.advance(1000);
  await read();
  expect(written).toBe(2);
});
