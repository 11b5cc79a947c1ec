/**
 * The polls of scrub and edge nodes, statement by statement (docs/interface.md#long-polls), over a real listener. Whatever
 * holds of both channels is tested on both; a poll by itself is in src/http/holds.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { RULES_HOLD_MS } from "../../src/http/holds/rule-polls.ts";
import { ZONES_HOLD_MS } from "../../src/http/holds/zone-polls.ts";
import { EDGE_NODES, EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { expectError } from "../fixtures/http/http.ts";
import { agent, channelTokens, type NodeChannel, type PollOptions } from "../fixtures/http/node-channel.ts";
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
const KINDS = [
  {
    ...{ kind: "scrub", path: "/api/v1/dataplane/rules", open: openScrub, node: (i: number) => `s${i}` },
    ...{ unknown: "unknown scrubbing node", route: "rules", otherRoute: "zones", holdMs: RULES_HOLD_MS },
    configure: (...names: readonly string[]) => scrub.configure(...names),
    change: async () => scrub.change(divertedBan()),
  },
  {
    ...{ kind: "edge", path: "/api/v1/edge/zones", open: openEdge, node: (i: number) => `e${i}` },
    ...{ unknown: "unknown edge node", route: "zones", otherRoute: "rules", holdMs: ZONES_HOLD_MS },
    configure: (...names: readonly string[]) => edge.configure({ nodes: names.map(nodeOf) }),
    change: async () => void (await edge.lever(WWW, LEVER)),
  },
] as const;

const clock = () => channel.server.clock;
const advance = (ms: number) => clock().advance(ms);
const seen = async () => (await channel.inventory()).body.nodes.map((node) => node["last_seen"] !== undefined);
const second = (node: string) => ({ token: "bound2", node });
const statusOf = async (options?: PollOptions) => (await channel.poll(options)).status;
const areHeld = (polls: number) =>
  eventually(async () => (await channel.holds()) === polls, `there are not ${polls} parked polls`);

/** The same status, headers and bytes as those of a poll that comes now. */
async function expectAsFresh(ended: Response, fresh: Response): Promise<void> {
  const whole = async (answer: Response) => {
    const headers = [...answer.headers].filter(([name]) => name !== "date");
    return { status: answer.status, headers, text: await answer.text() };
  };
  expect(await whole(ended)).toEqual(await whole(fresh));
}

describe.each(KINDS)("GET $path", ({ open, node, unknown, change }) => {
  beforeEach(open);

  test("is a document with an ETag, held until the table changes where If-None-Match has that #get-api-v1-edge-zones #get-api-v1-dataplane-rules", async () => {
    const first = await channel.poll();
    expect([first.status, first.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(first.headers.get("etag")).toMatch(/^"[\w-]+"$/);
    const { answer, etag } = await channel.parked();
    expect([etag, await channel.etag({ token: "unbound" })]).toEqual([first.headers.get("etag") as string, etag]);
    await change();
    expect([(await answer).status, (await answer).headers.get("etag") === etag]).toEqual([200, false]);
    await expectAsFresh(await answer, await channel.poll());
    expect(await channel.holds()).toBe(0);
  });

  test("of an unknown node is 404, and without a token 401, whatever node it names #get-api-v1-edge-zones #get-api-v1-dataplane-rules", async () => {
    for (const token of ["unbound", "admin"]) await expectError(channel.poll({ token, node: node(3) }), 404, unknown);
    for (const name of [node(1), null, node(3)])
      await expectError(channel.poll({ token: null, node: name }), 401, NO_TOKEN);
    expect(await seen()).toEqual([false, false]);
  });
});

describe.each(KINDS)("$kind", ({ open, node, unknown, route, otherRoute, holdMs, configure, change }) => {
  beforeEach(open);
  const [first, other] = [node(1), node(2)];

  test.each([other, "absent", null, ""])(
    "?node=%p of a bound token is the uniform 403, before any presence #edge-node-binding #scrub-node-binding",
    async (name) => {
      await expectError(channel.poll({ node: name }), 403, BOUND);
      expect(await seen()).toEqual([false, false]);
      expect(channel.server.logged).toEqual([expect.objectContaining({ token_name: "bound1", route })]);
      expect(await channel.metric(`svc_api_node_binding_refused_total{route="${route}"}`)).toBe(1);
      expect(channel.server.audited).toEqual([]);
    },
  );

  test.each([
    ["404 when it removes the node", "unbound", () => configure(other), 404, unknown],
    ["401 when it removes the token", "bound1", () => channel.admit(agent("bound2", other)), 401, NO_TOKEN],
    ["403 when it moves the binding", "bound1", () => channel.admit(agent("bound1", other)), 403, BOUND],
  ] as const)(
    "a poll that a reload ends gets %s, as a first poll would now #edge-poll-ended-by-a-reload #scrub-poll-ended-by-a-reload",
    async (_, token, reload, status, error) => {
      const { answer } = await channel.parked({ token });
      advance(5000);
      const endedAt = new Date(clock().wallMs()).toISOString();
      reload();
      await expectError(channel.poll({ token }), status, error);
      await expectAsFresh(await answer, await channel.poll({ token }));
      // The end is stamped, for who may still see it.
      channel.admit(...channelTokens(first, other));
      expect((await channel.node())["last_seen"]).toBe(status === 404 ? undefined : endedAt);
    },
  );

  test("eight polls are parked in all with few nodes, and two for each of more nodes #edge-polls-are-capped #scrub-polls-are-capped", async () => {
    const names = [1, 2, 3, 4, 5].map(node);
    channel.admit(...names.map((name) => agent(name, name)));
    configure(...names.slice(0, 3));
    const as = (i: number) => ({ token: node(i), node: node(i) });
    const park = async (...nodes: readonly number[]) => {
      for (const i of nodes) await channel.parked(as(i));
    };
    const polled = async (i: number) => statusOf({ ...as(i), etag: await channel.etag(as(i)) });
    await park(1, 1, 1, 1, 2, 2, 3, 3);
    expect(await polled(2)).toBe(429);
    configure(...names);
    // The last one is of a node that has no other.
    await park(4, 4, 5);
    expect(await polled(5)).toBe(429);
  });

  test("a stop answers all parked polls; those of the other channel are not counted #edge-polls-are-capped #scrub-polls-are-capped", async () => {
    const answers = [await channel.parked(), await channel.parked(second(other))];
    expect(await channel.metric(`svc_api_holds{channel="${otherRoute}"}`)).toBe(0);
    await channel.stop();
    for (const { answer } of answers) expect((await answer).status).toBe(304);
    expect(clock().pending).toBe(0);
  });

  test("a node is present by an agent's poll as its node: neither by a preview, parked or not, nor by a report #edge-node-presence #scrub-node-presence", async () => {
    const { answer } = await channel.parked({ token: "admin", node: other });
    expect(await channel.node(other)).toMatchObject({ alive: false, holding: false });
    await change();
    await answer;
    await channel.report(first, { version: "1" });
    expect(await seen()).toEqual([false, false]);
    await channel.poll({ token: "unbound", node: other });
    expect(await seen()).toEqual([false, true]);
    expect(await channel.document({ token: "admin" })).toEqual(await channel.document());
  });

  test("inventory has alive, holding and last_seen of a node's polls, stamped when they begin and end #edge-inventory-has-alive #scrub-inventory-has-alive", async () => {
    const { answer } = await channel.parked();
    const begun = "2026-03-01T12:00:00.000Z";
    advance(20_000);
    expect(await channel.node()).toMatchObject({ alive: true, holding: true, last_seen: begun });
    advance(holdMs - 20_000);
    await answer;
    const last_seen = new Date(Date.parse(begun) + holdMs).toISOString();
    advance(15_000);
    expect(await channel.node()).toMatchObject({ alive: true, holding: false, last_seen });
    advance(1);
    expect(await channel.node()).toMatchObject({ alive: false, last_seen });
  });
});

describe.each(KINDS)("a long poll of the $kind channel #answer-304", ({ open, path, node, holdMs }) => {
  beforeEach(open);

  test("is 304 when its ETag is still current after the hold, with the ETag and no body, also of HEAD", async () => {
    const { answer, etag } = await channel.parked();
    const headers = { authorization: "Bearer bound1", "if-none-match": etag };
    const head = fetch(`${channel.server.base}${path}?node=${node(1)}`, { method: "HEAD", headers });
    await areHeld(2);
    advance(holdMs - 1);
    expect(await channel.holds()).toBe(2);
    advance(1);
    for (const ended of [await answer, await head])
      expect([ended.status, ended.headers.get("etag"), await ended.text()]).toEqual([304, etag, ""]);
  });
});

describe.each(KINDS)("parked polls of the $kind channel #error-429", ({ open, node, route }) => {
  beforeEach(open);

  test("are 429 beyond four of a token, with Retry-After: 1", async () => {
    for (let i = 0; i < 4; i++) await channel.parked();
    const { last_seen } = await channel.node();
    advance(1000);
    const refused = await channel.poll({ etag: await channel.etag({ token: "admin" }) });
    expect(refused.headers.get("retry-after")).toBe("1");
    await expectError(refused, 429, "too many concurrent zone holds");
    expect((await channel.node())["last_seen"]).toBe(last_seen as string);
    expect(await channel.metric(`svc_api_holds_refused_total{channel="${route}"}`)).toBe(1);
    expect(await statusOf()).toBe(200);
    await channel.parked(second(node(2)));
  });
});

describe("GET /api/v1/dataplane/rules #get-api-v1-dataplane-rules", () => {
  beforeEach(openScrub);

  test("wakes on a report after which the node is sent other rules, and no other node does", async () => {
    scrub.change(divertedBan({ rules: [{ packetLengths: [{ from: 1, to: 2 }] }] }));
    const { answer } = await scrub.parked();
    const other = await scrub.parked(second("s2"));
    await scrub.report("s1", { capabilities: ["packet_length"] });
    const flowspec = [{ packet_length: { min: 1, max: 2 } }];
    expect(await (await answer).json()).toMatchObject({ bans: [{ flowspec }] });
    expect(await scrub.holds()).toBe(1);
    expect(await scrub.document({ token: "admin" })).toEqual(await scrub.document());
    expect(await scrub.document({ token: "admin", node: "s2" })).not.toEqual(await scrub.document());
    advance(RULES_HOLD_MS);
    expect((await other.answer).status).toBe(304);
  });

  test("answers in token-less local mode, and stamps nothing", async () => {
    scrub.admit();
    for (const node of ["s1", null]) expect(await statusOf({ token: null, node })).toBe(200);
    expect(await statusOf({ token: null, node: "s3" })).toBe(404);
    expect(await seen()).toEqual([false, false]);
  });
});

describe("GET /api/v1/edge/zones #get-api-v1-edge-zones", () => {
  beforeEach(openEdge);
  const setLever = () => edge.lever(WWW, LEVER);
  const takeSlot = () => edge.slot({ zone: WWW });
  const nothing = async () => {};
  /** What was before, how long that is ago, and what happens then. */
  const WAKES: readonly [string, () => Promise<unknown>, number, () => unknown][] = [
    ["a lever is set", nothing, 0, setLever],
    ["a slot is given", nothing, 0, takeSlot],
    ["a lever is cleared", setLever, 0, () => edge.clearLever(WWW)],
    ["a lever expires", setLever, 59_000, () => advance(1000)],
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

describe("edge poll gzip: a long document #edge-poll-gzip", () => {
  beforeEach(() => {
    openEdge();
    edge.configure({ zones: Array.from({ length: 40 }, (_, i) => ({ name: `z${i}.example.net` })) });
  });

  test.each(["gzip", "identity"])(
    "comes in %s to who takes that, at once or after a hold, under one ETag",
    async (coding) => {
      const ask = (tag: string, method = "GET") => {
        const headers = { authorization: "Bearer bound1", "accept-encoding": coding, "if-none-match": tag };
        return fetch(`${edge.server.base}/api/v1/edge/zones?node=e1`, { method, headers, decompress: false });
      };
      const parked = ask(await edge.etag());
      await areHeld(1);
      await edge.lever("z7.example.net", LEVER);
      const [woken, text, etag] = [await parked, await (await edge.poll()).text(), await edge.etag()];
      for (const answer of [woken, await ask('"another"')]) {
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
