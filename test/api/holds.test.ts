/** Parked polls (docs/interface.md#long-polls), over a real listener and the real pipeline. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { heldDocument } from "../../src/http/holds/held-document.ts";
import { RULES_HOLD_MS, ZONES_HOLD_MS } from "../../src/limits.ts";
import { agentToken, POLL_PATH, PollServer } from "../fixtures/http/poll-server.ts";
import { RawHttp } from "../fixtures/http/raw-http.ts";
import { eventually } from "../fixtures/service.ts";

const NEW = heldDocument({ version: 1, bans: [{ target: "192.0.2.1" }] });

let server: PollServer;

beforeEach(() => {
  server = PollServer.started();
});
afterEach(() => server.cut());

function parked(count: number): Promise<void> {
  return eventually(
    () => server.holds.size === count,
    () => `${server.holds.size} polls are parked, not ${count}`,
  );
}

describe("long poll document", () => {
  test("comes with an ETag, and is given again to whoever does not name it", async () => {
    const answer = await server.poll({ etag: null });
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, server.document.etag]);
    expect(await answer.json()).toEqual({ version: 1, bans: [] });
    expect((await server.poll({ etag: '"another"' })).status).toBe(200);
  });

  test("has an ETag that is its content's: the same bytes have the same one", () => {
    const same = heldDocument({ version: 1, bans: [] });
    expect(same.etag).toBe(server.document.etag);
    expect(same.etag).toMatch(/^"[\w-]+"$/);
    expect(NEW.etag).not.toBe(same.etag);
  });
});

describe("long poll held with If-None-Match equal to the ETag", () => {
  test("until the table changes", async () => {
    const answer = server.poll();
    await parked(1);
    server.change(NEW);
    expect((await answer).headers.get("etag")).toBe(NEW.etag);
    expect(await (await answer).json()).toEqual({ version: 1, bans: [{ target: "192.0.2.1" }] });
  });

  test("or 30 s pass, then answered 304 with the ETag", async () => {
    const answer = server.poll();
    await parked(1);
    server.clock.advance(RULES_HOLD_MS);
    expect([(await answer).status, (await answer).headers.get("etag")]).toEqual([304, server.document.etag]);
    expect(await (await answer).text()).toBe("");
  });

  test("for 30 s by the rules' channel and 25 s by the zones'", () => {
    expect([RULES_HOLD_MS, ZONES_HOLD_MS]).toEqual([30_000, 25_000]);
  });

  test("also when the request is HEAD", async () => {
    const client = await RawHttp.connect(server.port);
    const tag = server.document.etag;
    await client.write(`HEAD ${POLL_PATH} HTTP/1.1\r\nHost: h\r\nIf-None-Match: ${tag}\r\n\r\n`);
    await parked(1);
    server.clock.advance(RULES_HOLD_MS);
    expect(await client.answer()).toEqual({ status: 304, body: "" });
    client.close();
  });
});

describe("long poll ended by a reload, with the answer that a first poll would now get:", () => {
  async function expectSameAsFresh(answer: Promise<Response>, poll: () => Promise<Response>, status: number) {
    const [ended, fresh] = [await answer, await poll()];
    const headersOf = ({ headers }: Response) => [...headers].filter(([name]) => name !== "date");
    expect([ended.status, fresh.status]).toEqual([status, status]);
    expect(headersOf(ended)).toEqual(headersOf(fresh));
    expect(await ended.text()).toBe(await fresh.text());
  }

  test("401 when the token was removed", async () => {
    server.tokens = [agentToken("a", "node-a"), agentToken("b", "node-b")];
    const poll = () => server.poll({ token: "a", node: "node-a" });
    const answer = poll();
    await parked(1);
    server.tokens = [agentToken("b", "node-b")];
    server.holds.recheckAll();
    await expectSameAsFresh(answer, poll, 401);
  });

  test("403 when its binding was moved, without a word of the node that it is bound to", async () => {
    server.tokens = [agentToken("a", "node-a")];
    const poll = () => server.poll({ token: "a", node: "node-a" });
    const answer = poll();
    await parked(1);
    server.tokens = [agentToken("a", "node-b")];
    server.holds.recheckAll();
    await expectSameAsFresh(answer, poll, 403);
    expect(await (await poll()).text()).toBe('{"error":"this token is bound to another node"}');
  });

  test("404 when the node was removed", async () => {
    server.tokens = [agentToken("a")];
    const poll = () => server.poll({ token: "a", node: "node-a" });
    const answer = poll();
    await parked(1);
    server.nodes = new Set(["node-b"]);
    server.holds.recheckAll();
    await expectSameAsFresh(answer, poll, 404);
  });

  test("and leaves those alone for whom nothing has changed", async () => {
    server.tokens = [agentToken("a", "node-a"), agentToken("b", "node-b")];
    const [removed, kept] = [server.poll({ token: "a", node: "node-a" }), server.poll({ token: "b", node: "node-b" })];
    await parked(2);
    server.tokens = [agentToken("b", "node-b")];
    server.holds.recheckAll();
    expect((await removed).status).toBe(401);
    expect(server.holds.size).toBe(1);
    server.change(NEW);
    expect((await kept).status).toBe(200);
  });
});

describe("long poll presence", () => {
  beforeEach(() => {
    server.tokens = [agentToken("a", "node-a"), { ...agentToken("admin"), role: "operator" }];
  });

  test("is stamped when an agent's poll starts and when it ends", async () => {
    const answer = server.poll({ token: "a", node: "node-a" });
    await parked(1);
    expect(server.seen).toEqual(["node-a started"]);
    server.change(NEW);
    await answer;
    expect(server.seen).toEqual(["node-a started", "node-a ended"]);
  });

  test("is not stamped by a poll of another node's name, which is refused", async () => {
    expect((await server.poll({ token: "a", node: "node-b" })).status).toBe(403);
    expect((await server.poll({ token: "a" })).status).toBe(403);
    expect(server.seen).toEqual([]);
  });

  test("is not stamped by an operator's preview", async () => {
    expect((await server.poll({ token: "admin", node: "node-a", etag: null })).status).toBe(200);
    expect(server.seen).toEqual([]);
  });

  test("is stamped by a poll that a reload ends", async () => {
    const answer = server.poll({ token: "a", node: "node-a" });
    await parked(1);
    server.tokens = server.tokens.slice(1);
    server.holds.recheckAll();
    expect((await answer).status).toBe(401);
    expect(server.seen).toEqual(["node-a started", "node-a ended"]);
  });
});

describe("long polls parked", () => {
  test("of one token are at most four: the fifth is 429, to be tried again after a second", async () => {
    server.tokens = [agentToken("a"), agentToken("b")];
    const answers = Array.from({ length: 4 }, () => server.poll({ token: "a", node: "node-a" }));
    await parked(4);
    const refused = await server.poll({ token: "a", node: "node-a" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ error: "too many concurrent zone holds" });
    answers.push(server.poll({ token: "b", node: "node-b" }));
    await parked(5);
    expect(await server.metric('svc_api_holds{channel="rules"}')).toBe(5);
    expect(await server.metric('svc_api_holds_refused_total{channel="rules"}')).toBe(1);
    server.change(NEW);
    for (const answer of answers) expect((await answer).status).toBe(200);
    expect(await server.metric('svc_api_holds{channel="rules"}')).toBe(0);
    expect(await server.metric('svc_api_holds_ended_total{channel="rules",reason="changed"}')).toBe(5);
  });

  test("end when their callers leave, and make room", async () => {
    server.tokens = [agentToken("a")];
    const leaving = new AbortController();
    const left = server.poll({ token: "a", node: "node-a", signal: leaving.signal }).catch((cause: unknown) => cause);
    await parked(1);
    leaving.abort();
    expect(await left).toBeInstanceOf(Error);
    await parked(0);
    expect(await server.metric('svc_api_holds_ended_total{channel="rules",reason="aborted"}')).toBe(1);
    expect(server.clock.pending).toBe(0);
  });

  test("are all answered at a stop, which waits for nothing else", async () => {
    const answers = Array.from({ length: 8 }, () => server.poll());
    await parked(8);
    await server.stop();
    for (const answer of answers) expect((await answer).status).toBe(304);
    expect(server.clock.pending).toBe(0);
  });
});
