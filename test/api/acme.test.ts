/**
 * Slots and challenges of edge nodes, statement by statement (docs/interface.md#acme-command). The rules in any order of
 * calls are in src/edge/zones/acme-issuance-model.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { expectError } from "../fixtures/http/http.ts";
import { agent } from "../fixtures/http/node-channel.ts";

const WWW = { zone: "www.example.net" };
const SHOP = { zone: "shop.example.net" };
const SECOND = { node: "e2", token: "bound2" };
const NODE_PATH = "/api/v1/edge/nodes/e1/acme";

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

type As = { readonly node: string; readonly token: string };
const slot = async (body: unknown = WWW, as?: As): Promise<unknown> => (await channel.slot(body, as)).json();
const release = async (body = {}, as?: As) => (await channel.slot({ ...body, release: true }, as)).status;
const publish = async (body = {}, as?: As) => (await channel.publish(body, as)).status;
const advance = (ms: number) => channel.server.clock.advance(ms);
const challenges = async (options = {}) => (await channel.document(options)).acme_challenges;
const grants = async () => (await channel.document()).issuance_grants;
const everyCall = (as: As) => [channel.slot(WWW, as), channel.publish({}, as), channel.slot({ release: true }, as)];

describe("ACME slot request #acme-slot-request", () => {
  test("{zone} gives {granted: true, expires_at}, ten minutes from now", async () => {
    expect(await slot()).toEqual({ granted: true, expires_at: "2026-03-01T12:10:00.000Z" });
    // A request is no sign of presence.
    expect(await channel.node()).not.toHaveProperty("last_seen");
  });

  test("gives {granted: false, holder, retry_after_seconds} while another node has it", async () => {
    await slot();
    expect(await slot(WWW, SECOND)).toEqual({ granted: false, holder: "e1", retry_after_seconds: 30 });
  });

  test("{release: true} returns the slot with 204, and without a zone all that the node has", async () => {
    await slot();
    const answer = await channel.slot({ ...WWW, release: true });
    expect([answer.status, await answer.text(), await grants()]).toEqual([204, "", []]);
    for (const body of [WWW, SHOP]) await slot(body);
    expect([await release(), await grants()]).toEqual([204, []]);
  });
});

test("a release touches only the caller's own grant, and answers 204 for any zone name, also the second time #acme-slot-release", async () => {
  await slot();
  expect(await release({}, SECOND)).toBe(204);
  for (const zone of [WWW.zone, "mail.example.net", "nowhere.example.net", "", "x".repeat(300)])
    for (let i = 0; i < 2; i++) expect(await release({ zone }, SECOND)).toBe(204);
  expect(await grants()).toMatchObject([{ ...WWW, node: "e1" }]);
});

test("a challenge is in the document of every node of the zone for ten minutes, also once its slot is returned #acme-challenge-publication #limit-challenge-fan-out", async () => {
  await slot();
  advance(60_000);
  const answer = await channel.publish();
  expect([answer.status, await answer.text()]).toEqual([204, ""]);
  await release(WWW);
  const published = [
    { ...WWW, token: "tok_1", key_authorization: "tok_1.thumb", expires_at: "2026-03-01T12:11:00.000Z" },
  ];
  for (const as of [{}, SECOND, { token: "admin", node: null }]) expect(await challenges(as)).toEqual(published);
  advance(599_999);
  expect(await challenges(SECOND)).toEqual(published);
  advance(1);
  expect(await challenges(SECOND)).toEqual([]);
});

test("a challenge without the zone's slot is 409 #acme-challenge-needs-the-slot", async () => {
  await expectError(channel.publish(), 409, "this node does not hold the zone's slot: request it first");
  expect(await challenges()).toEqual([]);
});

test("a live challenge is not overwritten by another key authorization #acme-challenge-is-never-overwritten", async () => {
  await slot();
  await publish();
  const refused = "the live challenge of this token has another key authorization";
  await expectError(channel.publish({ key_authorization: "tok_1.other" }), 409, refused);
  expect(await challenges()).toMatchObject([{ key_authorization: "tok_1.thumb" }]);
});

test("the 17th live challenge of a node is 429 #acme-challenges-of-a-node", async () => {
  const challenge = (i: number) => ({ token: `t${i}`, key_authorization: `t${i}.k` });
  await slot();
  for (let i = 0; i < 16; i++) expect(await publish(challenge(i))).toBe(204);
  const refused = await channel.publish(challenge(16));
  expect(refused.headers.get("retry-after")).toBe("60");
  await expectError(refused, 429, "this node has 16 live challenges");
});

describe("zones of slots and challenges #acme-zones", () => {
  test.each(["mail.example.net", "nowhere.example.net", "", "www.example.net.", "x".repeat(300)])(
    "404 for %p, the same bytes whether there is such a zone or not",
    async (zone) => {
      for (const call of [channel.slot({ zone }), channel.publish({ zone })])
        await expectError(call, 404, "unknown zone");
      expect(channel.edge.acme.grants).toEqual([]);
    },
  );

  test("names are folded to lower case", async () => {
    expect(await slot({ zone: "WWW.Example.net" })).toMatchObject({ granted: true });
    expect([await publish({ zone: "Www.example.NET" }), await release({ zone: "wWW.example.net" })]).toEqual([
      204, 204,
    ]);
    expect(channel.edge.acme.grants).toEqual([]);
  });

  test.each([
    ["slot", WWW],
    ["slot", { release: true }],
    ["challenges", { ...WWW, token: "t", key_authorization: "t.k" }],
  ])("a node that a reload takes away while the body comes is unknown: %s %j", async (name, body) => {
    const takeAway = () => channel.configure({ nodes: [{ name: "e2" }] });
    const answer = await channel.postSlowly(`${NODE_PATH}/${name}`, JSON.stringify(body), "bound1", takeAway);
    expect(answer).toEqual({ status: 404, body: '{"error":"unknown edge node"}' });
  });
});

describe("ACME bad input #acme-bad-input", () => {
  test.each([
    [{}, "zone is required"],
    [{ release: false }, "zone is required"],
    [{ zone: 1 }, "zone must be a string"],
    [{ ...WWW, x: 1 }, 'unknown field "x"'],
    [[], "not an object"],
  ] as const)("slot %j is 400: %s", async (body, detail) => {
    await expectError(channel.slot(body), 400, `invalid JSON body: ${detail}`);
  });

  const TOKENS = ["", "a b", "a.b", "a+b", "a=", "a\n", "x".repeat(257), 1].map((token) => ({ token }));
  const KEYS = ["no-dot", "a.b.c", ".b", "a.<b>", `a.${"x".repeat(511)}`].map((key) => ({ key_authorization: key }));
  test.each([...TOKENS, ...KEYS, { zone: 7 }, { x: 1 }])(
    "challenge %j is 400, not one of the greatest length",
    async (body) => {
      await slot();
      expect([await publish(body), await challenges()]).toEqual([400, []]);
      expect(await publish({ token: "x".repeat(256), key_authorization: `a.${"x".repeat(510)}` })).toBe(204);
    },
  );
});

describe("slots and challenges by agents #acme-agents-only", () => {
  test("an unbound token may act as every node, and an unknown one is 404", async () => {
    channel.admit(agent("unbound"));
    for (const node of ["e1", "e2"]) expect((await channel.slot(WWW, { node, token: "unbound" })).status).toBe(200);
    for (const call of everyCall({ node: "e3", token: "unbound" })) await expectError(call, 404, "unknown edge node");
  });
});
