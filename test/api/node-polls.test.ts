/**
 * The polls of scrub and edge nodes, statement by statement (docs/interface.md#long-polls), over a real listener. Whatever
 * holds of both channels is asked of both; a poll by itself is in src/http/holds.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { RULES_HOLD_MS, ZONES_HOLD_MS } from "../../src/limits.ts";
import { EDGE_NODES, EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { expectError } from "../fixtures/http/http.ts";
import { agent, channelTokens, type NodeChannel } from "../fixtures/http/node-channel.ts";
import { ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan } from "../fixtures/scrub/scrubbing.ts";
import { eventually } from "../fixtures/service.ts";

const BOUND = "this token is bound to another node";
const NO_TOKEN = "missing or invalid bearer token";
const WWW = "www.example.net";
const LEVER = { mode: "manual", ttl_seconds: 60, reason: "" };

let channel: NodeChannel<unknown>;
let scrub: ScrubChannel;
let edge: EdgeChannelServer;
afterEach(() => channel.stop());

function openScrub(): void {
  scrub = new ScrubChannel();
  channel = scrub;
}

function openEdge(): void {
  edge = new EdgeChannelServer();
  channel = edge;
}

const nodeOf = (name: string) => EDGE_NODES.find((node) => node.name === name) ?? { name };

const SCRUB = {
  kind: "scrub",
  path: "/api/v1/dataplane/rules",
  open: openScrub,
  node: (i: number) => `s${i}`,
  unknown: "unknown scrubbing node",
  route: "rules",
  holdMs: RULES_HOLD_MS,
  configure: (...names: readonly string[]) => scrub.configure(...names),
  change: async () => scrub.change(divertedBan()),
} as const;
const EDGE = {
  kind: "edge",
  path: "/api/v1/edge/zones",
  open: openEdge,
  node: (i: number) => `e${i}`,
  unknown: "unknown edge node",
  route: "zones",
  holdMs: ZONES_HOLD_MS,
  configure: (...names: readonly string[]) => edge.configure({ nodes: names.map(nodeOf) }),
  change: async () => void (await edge.lever(WWW, LEVER)),
} as const;
const KINDS = [SCRUB, EDGE] as const;

const clock = () => channel.server.clock;
const advance = (ms: number) => clock().advance(ms);
const seen = async () => (await channel.inventory()).body.nodes.map((node) => node["last_seen"] !== undefined);
const second = (node: string) => ({ token: "bound2", node });

/** The same status, headers and bytes as those of a poll that comes now. */
async function expectAsFresh(ended: Response, fresh: Response): Promise<void> {
  const headersOf = ({ headers }: Response) => [...headers].filter(([name]) => name !== "date");
  expect([ended.status, headersOf(ended), await ended.text()]).toEqual([
    fresh.status,
    headersOf(fresh),
    await fresh.text(),
  ]);
}

describe.each(KINDS)("GET $path", ({ open, path, node, unknown, holdMs, change }) => {
  beforeEach(open);

  test("is a document with an ETag", async () => {
    const answer = await channel.poll();
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(answer.headers.get("etag")).toMatch(/^"[\w-]+"$/);
    expect(await channel.etag({ token: "unbound" })).toBe(await channel.etag());
  });

  test("with If-None-Match equal to the ETag is held until the table changes", async () => {
    const { answer, etag } = await channel.parked();
    await change();
    expect([(await answer).status, (await answer).headers.get("etag") === etag]).toEqual([200, false]);
    await expectAsFresh(await answer, await channel.poll());
    expect(await channel.holds()).toBe(0);
  });

  test("is held also as HEAD", async () => {
    const headers = { authorization: "Bearer bound1", "if-none-match": await channel.etag() };
    const head = fetch(`${channel.server.base}${path}?node=${node(1)}`, { method: "HEAD", headers });
    await eventually(async () => (await channel.holds()) === 1, "the poll was not parked");
    advance(holdMs);
    expect([(await head).status, await (await head).text()]).toEqual([304, ""]);
  });

  test("ends when its caller leaves", async () => {
    const leaving = new AbortController();
    const etag = await channel.etag();
    const left = channel.poll({ etag, signal: leaving.signal }).catch((cause: unknown) => cause);
    await eventually(async () => (await channel.holds()) === 1, "the poll was not parked");
    leaving.abort();
    expect(await left).toBeInstanceOf(Error);
    await eventually(async () => (await channel.holds()) === 0, "the poll is parked still");
  });

  test("of an unknown node is 404", async () => {
    for (const token of ["unbound", "admin"]) await expectError(channel.poll({ token, node: node(3) }), 404, unknown);
    expect(await seen()).toEqual([false, false]);
  });

  test("needs a real token where there are tokens, with a node or without", async () => {
    for (const name of [node(1), null, "nobody"]) {
      await expectError(channel.poll({ token: null, node: name }), 401, NO_TOKEN);
    }
  });

  test.each(["eyes", "acme", "acme-eyes"])("is refused to one who is neither agent nor admin: %s", async (token) => {
    for (const name of [node(1), null]) expect((await channel.poll({ token, node: name })).status).toBe(403);
  });
});

describe.each(KINDS)("$kind", ({ open, node, unknown, route, holdMs, configure, change }) => {
  beforeEach(open);
  const [first, other] = [node(1), node(2)];

  test.each([[other], ["nobody"], [null], [""]])(
    "node binding: ?node=%p is the uniform 403, before any presence",
    async (name) => {
      await expectError(channel.poll({ node: name }), 403, BOUND);
      expect(await seen()).toEqual([false, false]);
      expect(channel.server.logged).toEqual([expect.objectContaining({ token_name: "bound1", route })]);
      expect(await channel.metric(`svc_api_node_binding_refused_total{route="${route}"}`)).toBe(1);
      expect(channel.server.audited).toEqual([]);
    },
  );

  test("node binding: one of several tokens of a node, and an unbound one, may act as it", async () => {
    channel.admit(agent("bound1", first), agent("bound3", first), agent("unbound"));
    for (const token of ["bound1", "bound3", "unbound"]) expect((await channel.poll({ token })).status).toBe(200);
    expect((await channel.poll({ token: "unbound", node: other })).status).toBe(200);
  });

  test.each([
    ["404 when it removes the node", "unbound", () => configure(other), 404, unknown],
    ["401 when it removes the token", "bound1", () => channel.admit(agent("bound2", other)), 401, NO_TOKEN],
    ["403 when it moves the binding", "bound1", () => channel.admit(agent("bound1", other)), 403, BOUND],
  ] as const)("poll ended by a reload: %s, as a first poll would now get", async (_, token, reload, status, error) => {
    const { answer } = await channel.parked({ token });
    advance(5000);
    const endedAt = new Date(clock().wallMs()).toISOString();
    reload();
    await expectError(channel.poll({ token }), status, error);
    await expectAsFresh(await answer, await channel.poll({ token }));
    // The end is stamped, for who may still see it.
    channel.admit(...channelTokens(first, other));
    expect((await channel.node())["last_seen"]).toBe(status === 404 ? undefined : endedAt);
  });

  test("poll ended by a reload: one for which nothing is other stays, with the same bytes", async () => {
    const { answer, etag } = await channel.parked();
    const gone = await channel.parked(second(other));
    configure(first, node(3));
    expect((await gone.answer).status).toBe(404);
    expect([await channel.etag(), await channel.holds()]).toEqual([etag, 1]);
    advance(holdMs);
    expect((await answer).status).toBe(304);
  });

  test("polls are capped: eight in all with few nodes, and two for each of more nodes", async () => {
    const names = [1, 2, 3, 4, 5].map(node);
    channel.admit(...names.map((name) => agent(name, name)));
    configure(...names.slice(0, 3));
    const two = async (i: number) => {
      for (let n = 0; n < 2; n++) await channel.parked({ token: node(i), node: node(i) });
    };
    for (const i of [1, 2, 3, 1]) await two(i);
    const polled = async (i: number) => {
      const as = { token: node(i), node: node(i) };
      return (await channel.poll({ ...as, etag: await channel.etag(as) })).status;
    };
    expect(await polled(2)).toBe(429);
    configure(...names);
    await two(4);
    expect(await polled(5)).toBe(429);
  });

  test("polls are capped: stop answers all, those of the other channel are not counted", async () => {
    const answers = [await channel.parked(), await channel.parked(second(other))];
    expect(await channel.metric(`svc_api_holds{channel="${route === "rules" ? "zones" : "rules"}"}`)).toBe(0);
    await channel.stop();
    for (const { answer } of answers) expect((await answer).status).toBe(304);
    expect(clock().pending).toBe(0);
  });

  test("node presence: an operator's ?node= is a preview, and no sighting, parked or not", async () => {
    expect(await channel.document({ token: "admin" })).toEqual(await channel.document({ token: "unbound" }));
    await channel.poll({ token: "admin", node: other });
    const { answer } = await channel.parked({ token: "admin", node: other });
    expect(await channel.node(other)).toMatchObject({ alive: false, holding: false });
    await change();
    await answer;
    expect(await seen()).toEqual([true, false]);
  });

  test("node presence: an agent's poll is one of its node alone; one without a node, and a report, are none", async () => {
    await channel.poll({ token: "unbound", node: null });
    await channel.report(first, { version: "1" });
    expect(await seen()).toEqual([false, false]);
    await channel.poll({ token: "unbound", node: other });
    expect(await seen()).toEqual([false, true]);
  });

  test("inventory has alive, holding and last_seen of a node's polls, stamped when they begin and end", async () => {
    const { answer } = await channel.parked();
    const begun = "2026-03-01T12:00:00.000Z";
    advance(20_000);
    expect(await channel.node()).toMatchObject({ alive: true, holding: true, last_seen: begun });
    advance(holdMs - 20_000);
    await answer;
    const ended = new Date(Date.parse(begun) + holdMs).toISOString();
    expect(await channel.node()).toMatchObject({ alive: true, holding: false, last_seen: ended });
  });

  test("node alive is true until stale_after_seconds have passed since the last sighting", async () => {
    await channel.poll();
    const { last_seen } = await channel.node();
    advance(15_000);
    expect(await channel.node()).toMatchObject({ alive: true, last_seen });
    advance(1);
    expect(await channel.node()).toMatchObject({ alive: false, last_seen });
  });
});

describe.each(KINDS)("answer 304 of the $kind channel", ({ open, holdMs }) => {
  beforeEach(open);

  test("when the ETag of a long poll is still current after the hold, with the ETag and no body", async () => {
    const { answer, etag } = await channel.parked();
    advance(holdMs - 1);
    expect(await channel.holds()).toBe(1);
    advance(1);
    expect([(await answer).status, (await answer).headers.get("etag")]).toEqual([304, etag]);
    expect(await (await answer).text()).toBe("");
  });
});

describe.each(KINDS)("error 429 of the $kind channel", ({ open, node, route }) => {
  beforeEach(open);
  const other = node(2);

  test("for the fifth parked poll of a token, with Retry-After: 1", async () => {
    for (let i = 0; i < 4; i++) await channel.parked();
    const { last_seen } = await channel.node();
    advance(1000);
    const refused = await channel.poll({ etag: await channel.etag({ token: "admin" }) });
    expect(refused.headers.get("retry-after")).toBe("1");
    await expectError(refused, 429, "too many concurrent zone holds");
    expect((await channel.node())["last_seen"]).toBe(last_seen as string);
    expect(await channel.metric(`svc_api_holds_refused_total{channel="${route}"}`)).toBe(1);
    expect((await channel.poll()).status).toBe(200);
    await channel.parked(second(other));
  });
});

describe("GET /api/v1/dataplane/rules", () => {
  beforeEach(openScrub);
  const NARROW = { rules: [{ packetLength: { min: 1, max: 2 } }] };

  test("wakes on a report after which the node is told other rules, and no other node does", async () => {
    scrub.change(divertedBan(NARROW));
    const { answer } = await scrub.parked();
    const other = await scrub.parked(second("s2"));
    await scrub.report("s1", { capabilities: ["packet_length"] });
    expect(await (await answer).json()).toMatchObject({
      bans: [{ flowspec: [{ packet_length: { min: 1, max: 2 } }] }],
    });
    expect(await scrub.holds()).toBe(1);
    expect(await scrub.document({ token: "admin" })).toEqual(await scrub.document());
    expect(await scrub.document({ token: "admin", node: "s2" })).not.toEqual(await scrub.document());
    advance(RULES_HOLD_MS);
    expect((await other.answer).status).toBe(304);
  });

  test("wakes when a ban is pushed on, together with others", async () => {
    const pushed = divertedBan();
    scrub.change(pushed);
    const { answer } = await scrub.parked();
    scrub.change({ ...pushed, expiresAt: pushed.expiresAt + 10_000 });
    expect(await scrub.holds()).toBe(1);
    advance(10_000);
    expect(await (await answer).json()).toMatchObject({ bans: [{ expires_at: "2026-03-01T12:10:10.000Z" }] });
  });

  test("answers in token-less local mode, and stamps nothing", async () => {
    scrub.admit();
    for (const node of ["s1", null]) expect((await scrub.poll({ token: null, node })).status).toBe(200);
    expect((await scrub.poll({ token: null, node: "s3" })).status).toBe(404);
    expect(await seen()).toEqual([false, false]);
  });
});

describe("GET /api/v1/edge/zones", () => {
  beforeEach(openEdge);
  const setLever = () => edge.lever(WWW, LEVER);
  const takeSlot = () => edge.slot({ zone: WWW });
  const nothing = async () => {};
  /** What was before, how long that is ago, and what happens then. */
  const WAKES: readonly [string, () => Promise<unknown>, number, () => unknown][] = [
    ["a lever is set", nothing, 0, setLever],
    ["a slot is given", nothing, 0, takeSlot],
    ["a lever is cleared", setLever, 0, () => edge.clearLever(WWW)],
    ["a lever lapses", setLever, 59_000, () => advance(1000)],
    ["a challenge is published", takeSlot, 0, () => edge.publish()],
    ["a slot is returned", takeSlot, 0, () => edge.slot({ zone: WWW, release: true })],
    ["the lease of a slot is over", takeSlot, 599_000, () => advance(1000)],
    ["the zones file is another one", nothing, 0, () => edge.configure({ zones: [{ name: "mail.example.net" }] })],
  ];
  test.each(WAKES)("wakes at once when %s", async (_, before, waitMs, change) => {
    await before();
    advance(waitMs);
    const { answer, etag } = await edge.parked(second("e2"));
    await change();
    expect([(await answer).status, (await answer).headers.get("etag") === etag]).toEqual([200, false]);
  });

  test("on an open API answers bare, and is 401 with ?node=, known or not", async () => {
    const parked = await edge.parked();
    edge.admit();
    expect(await edge.zoneNames({ token: null, node: null })).toHaveLength(4);
    const refusal = "node identity needs an API token";
    for (const node of ["e1", "e3"]) await expectError(edge.poll({ token: null, node }), 401, refusal);
    await expectError(parked.answer, 401, refusal);
  });
});

describe("edge node", () => {
  beforeEach(openEdge);

  test("presence: last_token is that of the poll accepted last, and flips with the first one of a new token", async () => {
    edge.admit(agent("old", "e1"), agent("new", "e1"), ...channelTokens("e1", "e2"));
    const lastToken = async () => (await edge.node())["last_token"];
    const { answer } = await edge.parked({ token: "old" });
    expect(await lastToken()).toBe("old");
    await edge.poll({ token: "bound2" });
    await edge.slot({ zone: WWW });
    expect(await lastToken()).toBe("old");
    await edge.poll({ token: "new" });
    advance(ZONES_HOLD_MS);
    await answer;
    expect(await lastToken()).toBe("new");
  });

  test("never polled has no last_seen, and is treated as lost once stale_after_seconds has passed", async () => {
    expect(edge.edge.nodes.view("e1")).toMatchObject({ liveness: "not_seen", lastSeenAt: null });
    advance(15_001);
    expect(edge.edge.nodes.view("e1")).toMatchObject({ liveness: "lost", lastSeenAt: null });
    expect(await edge.node()).not.toHaveProperty("last_seen");
  });
});

describe("edge poll gzip: a long document", () => {
  beforeEach(() => {
    openEdge();
    edge.configure({ zones: Array.from({ length: 40 }, (_, i) => ({ name: `z${i}.example.net` })) });
  });

  test.each(["gzip", "identity"])(
    "comes in %s to who takes that, at once or after a hold, under one ETag",
    async (coding) => {
      const ask = (tag: string, method = "GET") =>
        fetch(`${edge.server.base}/api/v1/edge/zones?node=e1`, {
          method,
          headers: { authorization: "Bearer bound1", "accept-encoding": coding, "if-none-match": tag },
          decompress: false,
        });
      const before = await edge.holds();
      const parked = ask(await edge.etag());
      await eventually(async () => (await edge.holds()) > before, "the poll was not parked");
      await edge.lever("z7.example.net", LEVER);
      const [told, text, etag] = [await parked, await (await edge.poll()).text(), await edge.etag()];
      for (const answer of [told, await ask('"another"')]) {
        const { headers } = answer;
        expect([headers.get("etag"), headers.get("vary")]).toEqual([etag, "accept-encoding"]);
        expect(headers.get("content-encoding")).toBe(coding === "gzip" ? "gzip" : null);
        const bytes = await answer.bytes();
        expect((coding === "gzip" ? gunzipSync(bytes) : Buffer.from(bytes)).toString()).toBe(text);
      }
      const head = await ask('"another"', "HEAD");
      expect([head.status, head.headers.get("etag")]).toEqual([200, etag]);
    },
  );
});
