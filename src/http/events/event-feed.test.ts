import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { address, thresholds } from "../../../test/fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, CALLERS, OTHER_HOST, UNOWNED_HOST } from "../../../test/fixtures/http/callers.ts";
import { EventReader, type SentEvent } from "../../../test/fixtures/http/event-reader.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { RawHttp } from "../../../test/fixtures/http/raw-http.ts";
import { eventually } from "../../../test/fixtures/service.ts";
import { attack, ban, NOON } from "../../../test/fixtures/views.ts";
import type { Attack } from "../../detection/attack/attack.ts";
import { EVENT_STREAMS_MAX, EVENT_STREAMS_PER_TOKEN } from "../../limits.ts";
import type { Ban } from "../../mitigation/ban.ts";
import { EVENT_RING_BYTES, HEARTBEAT_MS, LOOK_MS, REMEMBERED_MS } from "./event-feed.ts";
import { EVENT_QUEUE_BYTES } from "./event-stream.ts";
import { THROTTLE_MS } from "./event-throttle.ts";

let server: TestServer;
let readers: EventReader[];

beforeEach(() => {
  server = TestServer.started();
  readers = [];
});
afterEach(async () => {
  for (const reader of readers) reader.leave();
  await server.http.stop();
});

async function open(headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
  const reader = await EventReader.open(server.base, headers);
  readers.push(reader);
  return reader;
}

async function resume(reader: EventReader, lastId?: string): Promise<EventReader> {
  const resumed = await reader.resume(lastId);
  readers.push(resumed);
  return resumed;
}

function publishAttack(id: string, changes: Partial<Attack> = {}): void {
  server.http.events.publish({ kind: "attack", view: { attack: attack({ id, ...changes }), ban: null } });
}

function publishBan(id: string, changes: Partial<Omit<Ban, "target">> & { target?: string } = {}): void {
  server.http.events.publish({ kind: "ban", view: { ban: ban({ id, ...changes }), routeState: null } });
}

function nameOf(event: SentEvent | null): string {
  if (event === null) return "the end";
  const { id, target, active, state } = event.data as Record<string, unknown>;
  return [event.event, id ?? target, active ?? state]
    .filter((word) => word !== undefined)
    .map(String)
    .join(" ");
}

async function expectNext(reader: EventReader, ...names: string[]): Promise<void> {
  for (const name of names) expect(nameOf(await reader.next())).toBe(name);
}

const metric = (line: string) => server.metric(line);

const streamsAre = (count: number) =>
  eventually(async () => (await metric("svc_api_event_streams")) === count, `there are not ${count} streams`);

describe("an event stream", () => {
  test("is of events, for no cache and no collecting proxy #event-stream-is-of-events", async () => {
    const leave = new AbortController();
    const answer = await fetch(`${server.base}/api/v1/events`, { signal: leave.signal });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("x-accel-buffering")).toBe("no");
    const first = await answer.body?.getReader().read();
    expect(new TextDecoder().decode(first?.value)).toMatch(/^retry: 2000\nid: \d{16}\n\n$/);
    leave.abort();
  });

  test("is not opened for HEAD, which gets the head alone", async () => {
    const answer = await fetch(`${server.base}/api/v1/events`, { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await metric("svc_api_event_streams")).toBe(0);
  });

  test("has events in order, with the rows of the lists and growing ids #event-stream-tells", async () => {
    const reader = await open();
    const [attackView, banView] = [
      { attack: attack(), ban: ban() },
      { ban: ban(), routeState: null },
    ];
    server.backend.attacksView = { active: [attackView], recent: [] };
    server.backend.banViews = [banView];
    const ids: number[] = [];
    server.http.events.publish({ kind: "attack", view: attackView });
    server.http.events.publish({ kind: "ban", view: banView });
    const { active } = (await (await server.get("/api/v1/attacks")).json()) as { active: object[] };
    const { bans } = (await (await server.get("/api/v1/bans")).json()) as { bans: object[] };
    for (const expected of [
      { event: "attack", data: active[0] },
      { event: "ban", data: bans[0] },
    ]) {
      expect(await reader.next()).toEqual(expected);
      ids.push(Number(reader.lastId));
    }
    expect((ids[1] ?? 0) - (ids[0] ?? 0)).toBeGreaterThan(0);
  });

  test("sends the start and the end of an attack at once, and its changes once a second", async () => {
    const reader = await open();
    publishAttack("a");
    publishAttack("a", { rates: thresholds({ pps: 2000 }) });
    publishAttack("a", { rates: thresholds({ pps: 3000 }) });
    server.clock.advance(THROTTLE_MS);
    publishAttack("a", { endedAt: NOON });
    await expectNext(reader, "attack a true");
    expect((await reader.next())?.data).toMatchObject({ rate: 3000 });
    await expectNext(reader, "attack a false");
    expect(await metric('svc_api_events_total{event="attack"}')).toBe(3);
  });

  test("sends at once what became of a ban's announcement", async () => {
    const reader = await open();
    const missingAt = [{ neighbor: "192.0.2.3", cause: "no session" }];
    for (const routeState of [
      { kind: "pending" },
      { kind: "announced", sentTo: ["192.0.2.2"], missingAt },
      { kind: "announced", sentTo: ["192.0.2.2", "192.0.2.3"] },
      { kind: "no_session" },
    ] as const) {
      server.http.events.publish({ kind: "ban", view: { ban: ban({ id: "b1" }), routeState } });
      const { data } = (await reader.next()) as SentEvent;
      expect(data).toMatchObject({ announcement: routeState.kind });
    }
  });

  test("looks by itself, once a second, at what the attacks in progress have become", async () => {
    const reader = await open();
    publishAttack("a");
    await expectNext(reader, "attack a true");
    const view = (pps: number) => ({ attack: attack({ id: "a", rates: thresholds({ pps }) }), ban: null });
    for (const pps of [2000, 3000]) {
      server.backend.attacksView = { active: [view(pps)], recent: [] };
      server.clock.advance(LOOK_MS);
      expect((await reader.next())?.data).toMatchObject({ id: "a", rate: pps, active: true });
    }
  });

  test("is kept alive by a comment every 15 s, which keeps its reader's place, too #event-stream-is-kept-alive", async () => {
    const reader = await open();
    server.clock.advance(HEARTBEAT_MS - 1);
    publishAttack("a");
    await expectNext(reader, "attack a true");
    const before = Number(reader.lastId);
    server.clock.advance(1);
    await reader.heartbeat();
    expect(Number(reader.lastId)).toBeGreaterThan(before);
    server.clock.advance(HEARTBEAT_MS);
    await reader.heartbeat();
  });

  test("that its reader leaves is forgotten, and a minute later nothing is kept for him", async () => {
    const reader = await open();
    reader.leave();
    await streamsAre(0);
    expect(await metric('svc_api_event_streams_ended_total{reason="left"}')).toBe(1);
    server.clock.advance(REMEMBERED_MS);
    expect(server.clock.pending).toBe(0);
    publishAttack("a");
    expect(await metric('svc_api_events_total{event="attack"}')).toBe(0);
  });
});

describe("a reader that comes back #event-stream-reader-that-comes-back", () => {
  test("gets the events that it missed, and only these", async () => {
    const reader = await open();
    publishAttack("a");
    await expectNext(reader, "attack a true");
    reader.leave();
    await streamsAre(0);
    publishAttack("b");
    publishBan("c", { target: ACME_HOST });
    const again = await resume(reader);
    await expectNext(again, "attack b true", `ban ${ACME_HOST} active`);
    publishAttack("d");
    await expectNext(again, "attack d true");
  });

  test("without a received event gets the events since it connected", async () => {
    const reader = await open();
    reader.leave();
    await streamsAre(0);
    publishAttack("a");
    await expectNext(await resume(reader), "attack a true");
  });

  test("too late gets a reset, and then new events", async () => {
    const reader = await open();
    reader.leave();
    await streamsAre(0);
    server.clock.advance(REMEMBERED_MS);
    publishAttack("a");
    const again = await resume(reader);
    publishAttack("b");
    await expectNext(again, "reset", "attack b true");
  });

  test("after more events than are kept gets a reset", async () => {
    const reader = await open();
    const other = await open();
    reader.leave();
    const reason = "x".repeat(EVENT_RING_BYTES / 8);
    for (let i = 0; i < 9; i++) {
      publishBan(`b${i}`, { reason });
      await other.next();
    }
    await expectNext(await resume(reader), "reset");
  });

  test.each(["junk", "-1", "1.5", "0", "99999999999999999999", "9007199254740993"])(
    "with the id %s, which none of ours is, gets a reset",
    async (id) => {
      await expectNext(await resume(await open(), id), "reset");
    },
  );
});

test("callers without a tenant get an event when the fault of an exporter begins or ends #event-stream-of-exporters", async () => {
  admitCallers(server);
  const [operator, tenant] = [await open(as("operator")), await open(as("tenantViewer"))];
  const of = { name: "edge1", address: "192.0.2.1" };
  const fault = {
    kind: "silent",
    since: "2026-01-02T03:04:05.000Z",
    text: "no datagram for 60 s",
    remedy: "look",
  } as const;
  server.http.events.publish({ kind: "exporter", row: { ...of, state: "silent", faults: [fault] } });
  server.http.events.publish({ kind: "exporter", row: { ...of, state: "ok", faults: [] } });
  publishAttack("a1", { target: address(ACME_HOST) });
  await expectNext(operator, "exporter silent", "exporter ok", "attack a1 true");
  await expectNext(tenant, "attack a1 true");
});

describe("the event stream of a tenant #event-stream-of-a-tenant", () => {
  beforeEach(() => admitCallers(server));

  test("gets events of its own addresses only, live and missed; an unscoped caller gets all", async () => {
    const [tenant, all] = [await open(as("tenantViewer")), await open(as("viewer"))];
    const start = tenant.lastId ?? "";
    publishBan("1", { target: OTHER_HOST });
    publishBan("2", { target: UNOWNED_HOST });
    publishBan("3", { target: ACME_HOST });
    publishAttack("of-other", { target: address(OTHER_HOST) });
    publishAttack("of-acme", { target: address(ACME_HOST) });
    await expectNext(tenant, `ban ${ACME_HOST} active`, "attack of-acme true");
    await expectNext(all, `ban ${OTHER_HOST} active`, `ban ${UNOWNED_HOST} active`, `ban ${ACME_HOST} active`);
    await expectNext(await resume(tenant, start), `ban ${ACME_HOST} active`, "attack of-acme true");
  });

  test("does not learn of neighbors, which an unscoped caller sees of the same ban, live and missed", async () => {
    const [tenant, all] = [await open(as("tenantViewer")), await open(as("viewer"))];
    const starts = [tenant.lastId ?? "", all.lastId ?? ""] as const;
    const routeState = {
      kind: "announced",
      sentTo: ["192.0.2.2"],
      missingAt: [{ neighbor: "192.0.2.3", cause: "no session" }],
    } as const;
    const its = ban({ id: "b1", target: ACME_HOST });
    server.http.events.publish({ kind: "ban", view: { ban: its, routeState } });
    const seen = { announcement: "announced", sent_to: ["192.0.2.2"], missing_at: routeState.missingAt };
    for (const reader of [all, await resume(all, starts[1])]) expect((await reader.next())?.data).toMatchObject(seen);
    for (const reader of [tenant, await resume(tenant, starts[0])]) {
      const data = (await reader.next())?.data;
      expect(data).toMatchObject({ announcement: "announced", target: ACME_HOST });
      for (const field of ["sent_to", "missing_at"]) expect(data).not.toHaveProperty(field);
    }
  });

  test("learns from no id how much else there was", async () => {
    const tenant = await open(as("tenantViewer"));
    const idAfter = async (others: number) => {
      server.clock.advance(1);
      for (let i = 0; i < others; i++) publishBan(`b${i}`, { target: OTHER_HOST });
      server.clock.advance(1);
      publishAttack(`a${others}`, { target: address(ACME_HOST) });
      await tenant.next();
      return Number(tenant.lastId) % 2000;
    };
    expect(await idAfter(0)).toBe(await idAfter(100));
  });
});

describe("callers of event streams #event-stream-callers", () => {
  test("without a viewer's rights are refused", async () => {
    admitCallers(server);
    expect((await server.get("/api/v1/events")).status).toBe(401);
    expect((await fetch(`${server.base}/api/v1/events`, { headers: as("agent") })).status).toBe(403);
  });

  test("may open a limited number of streams with one token, and in total", async () => {
    admitCallers(server);
    for (let i = 0; i < EVENT_STREAMS_PER_TOKEN; i++) await open(as("viewer"));
    const refused = await fetch(`${server.base}/api/v1/events`, { headers: as("viewer") });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ error: "too many event streams" });
    await open(as("operator"));
    expect(await metric("svc_api_event_streams_refused_total")).toBe(1);
  });

  test("of an open API may open a limited number of streams in total", async () => {
    for (let i = 0; i < EVENT_STREAMS_MAX; i++) await open();
    expect((await server.get("/api/v1/events")).status).toBe(429);
    readers[0]?.leave();
    await streamsAre(EVENT_STREAMS_MAX - 1);
    await open();
  });
});

test("a reader that does not keep up is cut off and counted; others are not kept waiting", async () => {
  const [slow, quick] = [await RawHttp.connect(server.port), await open()];
  slow.pause();
  await slow.write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await streamsAre(2);
  const reason = "x".repeat(EVENT_QUEUE_BYTES / 32);
  let count = 0;
  await eventually(
    async () => {
      publishBan(`b${count++}`, { reason });
      await expectNext(quick, "ban 192.0.2.1 active");
      return (await metric('svc_api_event_streams_ended_total{reason="slow"}')) === 1;
    },
    "the slow reader was never cut off",
    20_000,
    0,
  );
  expect(count).toBeGreaterThan(32);
  expect(await metric("svc_api_event_streams")).toBe(1);
  slow.close();
});

describe("an event stream at a reload #event-stream-at-a-reload", () => {
  beforeEach(() => admitCallers(server));

  test("notifies callers with unchanged rights, and ends the streams of tokens that were removed or changed", async () => {
    const [kept, gone, moved] = [await open(as("viewer")), await open(as("operator")), await open(as("tenantViewer"))];
    const { viewer, tenantViewer } = CALLERS;
    server.tokens = [viewer, { ...tenantViewer, tenant: "other" }];
    server.http.events.reloaded();
    await expectNext(gone, "the end");
    await expectNext(moved, "the end");
    publishAttack("a");
    await expectNext(kept, "reload", "attack a true");
    expect(await metric('svc_api_event_streams_ended_total{reason="refused"}')).toBe(2);
    expect(await gone.resume().catch((cause: unknown) => String(cause))).toContain("401");
  });

  test("requires the lists to be read again: an address may belong to another tenant", async () => {
    const reader = await open(as("viewer"));
    const start = reader.lastId ?? "";
    publishAttack("a");
    server.http.events.reloaded();
    await expectNext(await resume(reader, start), "reset");
  });

  test("is not needed for a secret that was changed: the stream ends with the next heartbeat", async () => {
    const reader = await open(as("viewer"));
    server.secrets.set(CALLERS.viewer.tokenEnv, "another");
    server.clock.advance(HEARTBEAT_MS);
    await expectNext(reader, "the end");
  });
});

test("a stop ends all streams, waits for nothing else and leaves no timer", async () => {
  const [one, other] = [await open(), await open()];
  publishAttack("a");
  const stopped = server.http.stop();
  await expectNext(one, "attack a true", "the end");
  await expectNext(other, "attack a true", "the end");
  await stopped;
  expect(server.clock.pending).toBe(0);
  publishAttack("b");
  expect(server.clock.pending).toBe(0);
});
