/** The scrub-node channel, statement by statement (docs/interface.md#scrub-channel), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Call } from "../../src/http/route.ts";
import { scrubReportRoute } from "../../src/http/routes/scrub.ts";
import { BODY_BYTES_MAX, RULES_HOLD_MS } from "../../src/limits.ts";
import { RawHttp } from "../fixtures/http/raw-http.ts";
import { agent, NODES_PATH, ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan } from "../fixtures/scrub/scrubbing.ts";

const BOUND = { error: "this token is bound to another node" };

let channel: ScrubChannel;

beforeEach(() => {
  channel = new ScrubChannel();
});
afterEach(() => channel.stop());

async function expectError(answer: Response | Promise<Response>, status: number, error: string): Promise<void> {
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([status, { error }]);
}

const presenceOf = async () => (await channel.inventory()).nodes.map((node) => node["last_seen"] !== undefined);

describe("GET /api/v1/dataplane/rules", () => {
  test("returns the rule document with an ETag", async () => {
    const answer = await channel.poll();
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(answer.headers.get("etag")).toMatch(/^"[\w-]+"$/);
  });

  test("with If-None-Match equal to the ETag is held until the table changes", async () => {
    const { answer, etag } = await channel.parked();
    channel.change(divertedBan());
    expect((await answer).status).toBe(200);
    expect((await answer).headers.get("etag")).not.toBe(etag);
    expect(await (await answer).json()).toMatchObject({ bans: [{ target: "192.0.2.1" }] });
  });

  test("or 30 s pass, then answered 304", async () => {
    const { answer, etag } = await channel.parked();
    channel.server.clock.advance(RULES_HOLD_MS);
    expect([(await answer).status, (await answer).headers.get("etag")]).toEqual([304, etag]);
    expect(await (await answer).text()).toBe("");
  });

  test("wakes on a report after which the node is told other rules, and no other node does", async () => {
    channel.change(divertedBan({ rules: [{ packetLength: { min: 1, max: 2 } }] }));
    const { answer } = await channel.parked();
    const other = await channel.parked({ token: "bound2", node: "s2" });
    await channel.report({ capabilities: ["packet_length"] });
    expect(await (await answer).json()).toMatchObject({
      bans: [{ flowspec: [{ packet_length: { min: 1, max: 2 } }] }],
    });
    expect(await channel.holds()).toBe(1);
    channel.server.clock.advance(RULES_HOLD_MS);
    expect((await other.answer).status).toBe(304);
  });

  test("wakes when a ban is pushed on, together with others", async () => {
    const pushed = divertedBan();
    channel.change(pushed);
    const { answer } = await channel.parked();
    channel.change({ ...pushed, expiresAt: pushed.expiresAt + 10_000 });
    expect(await channel.holds()).toBe(1);
    channel.server.clock.advance(10_000);
    expect(await (await answer).json()).toMatchObject({ bans: [{ expires_at: "2026-03-01T12:10:10.000Z" }] });
  });

  test("of an unknown node is 404", async () => {
    await expectError(channel.poll({ token: "unbound", node: "s3" }), 404, "unknown scrubbing node");
    await expectError(channel.poll({ token: "admin", node: "s3" }), 404, "unknown scrubbing node");
    expect(await presenceOf()).toEqual([false, false]);
  });

  test("needs a real token where there are tokens, with a node or without", async () => {
    for (const node of ["s1", null, "nobody"]) {
      await expectError(channel.poll({ token: null, node }), 401, "missing or invalid bearer token");
    }
  });

  test("answers in token-less local mode, and stamps nothing", async () => {
    channel.admit();
    for (const node of ["s1", null]) expect((await channel.poll({ token: null, node })).status).toBe(200);
    expect((await channel.poll({ token: null, node: "s3" })).status).toBe(404);
    expect(await presenceOf()).toEqual([false, false]);
  });

  test.each(["eyes", "acme"])(
    "is refused to a caller who is neither agent nor unscoped operator: %s",
    async (token) => {
      expect((await channel.poll({ token })).status).toBe(403);
      expect((await channel.poll({ token, node: null })).status).toBe(403);
    },
  );
});

describe("scrub node binding: a bound token", () => {
  test.each([["s2"], ["nobody"], [null], [""]])(
    "may poll only as that node: ?node=%p is the uniform 403, before any presence",
    async (node) => {
      const answer = await channel.poll({ node });
      expect([answer.status, await answer.json()]).toEqual([403, BOUND]);
      expect(await presenceOf()).toEqual([false, false]);
      expect(channel.server.logged).toEqual([expect.objectContaining({ token_name: "bound1", route: "rules" })]);
      expect(await channel.metric('svc_api_node_binding_refused_total{route="rules"}')).toBe(1);
    },
  );

  test("may report only as that node, before anything is stored", async () => {
    for (const name of ["s2", "nobody"]) {
      const answer = await channel.report({ version: "x" }, { name });
      expect([answer.status, await answer.json()]).toEqual([403, BOUND]);
    }
    for (const node of (await channel.inventory()).nodes) expect(node).not.toHaveProperty("report");
    expect(await channel.metric('svc_api_node_binding_refused_total{route="scrub_report"}')).toBe(2);
    expect(channel.server.audited).toEqual([]);
  });

  test("may be one of several, and one that is unbound may act as every node", async () => {
    channel.admit(agent("bound1", "s1"), agent("bound3", "s1"), agent("unbound"));
    for (const token of ["bound1", "bound3", "unbound"]) expect((await channel.poll({ token })).status).toBe(200);
    expect((await channel.poll({ token: "unbound", node: "s2" })).status).toBe(200);
    expect((await channel.report({}, { name: "s2", token: "unbound" })).status).toBe(204);
  });
});

describe("scrub poll ended by a reload with the answer that a first poll would now get", () => {
  test("404 when it removes the node", async () => {
    const { answer } = await channel.parked({ token: "unbound" });
    channel.configure("s2");
    await expectError(answer, 404, "unknown scrubbing node");
  });

  test("401 when it removes the token", async () => {
    const { answer } = await channel.parked();
    channel.admit(agent("bound2", "s2"));
    await expectError(answer, 401, "missing or invalid bearer token");
  });

  test("403 when it moves the binding, and the end is stamped", async () => {
    const { answer } = await channel.parked();
    channel.server.clock.advance(5000);
    channel.admit(agent("bound1", "s2"), { ...agent("eyes"), role: "viewer" });
    await expectError(answer, 403, BOUND.error);
    expect(await channel.node()).toMatchObject({ holding: false, last_seen: "2026-03-01T12:00:05.000Z" });
  });

  test("and leaves it parked when nothing is other for it", async () => {
    const { answer } = await channel.parked();
    channel.configure("s1", "s2", "s3");
    channel.server.clock.advance(RULES_HOLD_MS);
    expect((await answer).status).toBe(304);
  });
});

describe("scrub node presence:", () => {
  test("an operator's ?node= is a preview of what the node is told", async () => {
    channel.change(divertedBan({ rules: [{ packetLength: { min: 1, max: 2 } }] }));
    await channel.report({ capabilities: ["packet_length"] });
    expect(await channel.document({ token: "admin" })).toEqual(await channel.document());
    expect(await channel.document({ token: "admin", node: "s2" })).not.toEqual(await channel.document());
  });

  test("neither its begin nor its end, parked or not, is a sighting", async () => {
    await channel.poll({ token: "admin" });
    const { answer } = await channel.parked({ token: "admin" });
    expect(await presenceOf()).toEqual([false, false]);
    expect(await channel.node()).toMatchObject({ alive: false, holding: false });
    channel.change(divertedBan());
    await answer;
    expect(await presenceOf()).toEqual([false, false]);
  });

  test("an agent's poll is one of its node, and of that alone", async () => {
    await channel.poll({ token: "unbound", node: "s2" });
    expect(await presenceOf()).toEqual([false, true]);
  });

  test("an agent's poll without a node, and a report, are none", async () => {
    await channel.poll({ token: "unbound", node: null });
    await channel.report({ version: "1" });
    expect(await presenceOf()).toEqual([false, false]);
  });
});

describe("POST /api/v1/dataplane/nodes/{name}/report", () => {
  const path = (name = "s1") => `${NODES_PATH}/${name}/report`;

  test("success is 204 with no body", async () => {
    const answer = await channel.report({ version: "1" });
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
  });

  test("of an unknown name is 404, also by an operator", async () => {
    for (const token of ["unbound", "admin"]) {
      await expectError(channel.report({}, { name: "s3", token }), 404, "unknown scrubbing node");
    }
  });

  test("by an unscoped operator is stored, by others refused", async () => {
    expect((await channel.report({ version: "9" }, { token: "admin" })).status).toBe(204);
    for (const token of ["eyes", "acme"]) expect((await channel.report({ version: "8" }, { token })).status).toBe(403);
    expect(await channel.node()).toMatchObject({ report: { version: "9" } });
  });

  test("is JSON, or 415 and 400", async () => {
    const plain = await fetch(channel.server.base + path(), {
      method: "POST",
      headers: { authorization: "Bearer bound1", "content-type": "text/plain" },
      body: "{}",
    });
    expect(plain.status).toBe(415);
    expect((await channel.post(path(), '{"version":')).status).toBe(400);
  });

  test.each([
    [BODY_BYTES_MAX - 1, 204],
    [BODY_BYTES_MAX, 204],
    [BODY_BYTES_MAX + 1, 413],
  ])("of %d bytes is %d", async (bytes, status) => {
    const body = JSON.stringify({ x: "x".repeat(bytes - 8) });
    expect(body).toHaveLength(bytes);
    expect((await channel.post(path(), body)).status).toBe(status);
    const inventory = await channel.node();
    if (status === 413) expect(inventory).not.toHaveProperty("report");
    else expect(inventory["report"]).toEqual({ x: "x".repeat(bytes - 8) });
  });

  test("over 64 KiB is told as such, and nothing of it is waited for", async () => {
    const client = await RawHttp.connect(channel.server.port);
    const head = `POST ${path()} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer bound1\r\nContent-Type: application/json\r\n`;
    await client.write(`${head}Content-Length: ${BODY_BYTES_MAX + 1}\r\n\r\n`);
    expect(await client.answer()).toEqual({ status: 413, body: '{"error":"report exceeds 64 KiB"}' });
    client.close();
  });

  test("over 64 KiB without a length is read no further than that", async () => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 16 * 1024;
        if (sent > 64 * BODY_BYTES_MAX) controller.close();
        else controller.enqueue(new Uint8Array(16 * 1024).fill(0x20));
      },
    });
    await expectError(channel.post(path(), body), 413, "report exceeds 64 KiB");
    expect(sent).toBeLessThan(64 * BODY_BYTES_MAX);
  });

  test("of a node that a reload removed while the body came is 404, and not kept", () => {
    const { scrub } = channel.server.service;
    channel.configure("s2");
    const call = { params: { name: "s1" } } as unknown as Call;
    expect(scrubReportRoute(scrub).handle(call, {})).toEqual({ kind: "unknown_scrub_node" });
  });
});

describe("GET /api/v1/dataplane/nodes", () => {
  test.each(["eyes", "admin"])("is the inventory, for the unscoped token %s", async (token) => {
    expect(await channel.inventory(token)).toMatchObject({ nodes_total: 2, nodes: [{ name: "s1" }, { name: "s2" }] });
  });

  test.each([
    ["acme", "restricted to unscoped tokens"],
    ["bound1", "this token's role may not perform this action"],
  ])("is refused to %s", async (token, error) => {
    expect(await channel.inventory(token)).toEqual({ error } as never);
  });
});

describe("scrub polls are capped:", () => {
  test("four by a token, and the fifth is 429", async () => {
    for (let i = 0; i < 4; i++) await channel.parked();
    const refused = await channel.poll({ etag: await channel.etag() });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ error: "too many concurrent zone holds" });
    expect((await channel.poll()).status).toBe(200);
    expect((await channel.parked({ token: "bound2", node: "s2" })).etag).not.toBe("");
  });

  test("eight in all with few nodes, and two for each of more nodes", async () => {
    const names = ["s1", "s2", "s3", "s4", "s5"];
    const agents = names.map((name) => agent(`token of ${name}`.replaceAll(" ", "-"), name));
    channel.admit(...agents);
    channel.configure(...names.slice(0, 2), "s3");
    const two = async (name: string) => {
      for (let i = 0; i < 2; i++) await channel.parked({ token: `token-of-${name}`, node: name });
    };
    for (const name of ["s1", "s2", "s3"]) await two(name);
    await two("s1");
    const etag = await channel.etag({ token: "token-of-s2", node: "s2" });
    expect((await channel.poll({ token: "token-of-s2", node: "s2", etag })).status).toBe(429);
    channel.configure(...names);
    await two("s4");
    expect((await channel.poll({ token: "token-of-s5", node: "s5", etag })).status).toBe(429);
  });

  test("stop answers all of them", async () => {
    const answers = [await channel.parked(), await channel.parked({ token: "bound2", node: "s2" })];
    await channel.stop();
    for (const { answer } of answers) expect((await answer).status).toBe(304);
    expect(channel.server.clock.pending).toBe(0);
  });
});
