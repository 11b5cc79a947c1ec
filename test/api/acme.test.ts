/** Slots and challenges of edge nodes, statement by statement (docs/interface.md#acme-command). */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { LIVE_CHALLENGES_MAX } from "../../src/limits.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { expectError } from "../fixtures/http/http.ts";
import { agent } from "../fixtures/http/node-channel.ts";

const WWW = { zone: "www.example.net" };
const SECOND = { node: "e2", token: "bound2" };
const SLOT = "/api/v1/edge/nodes/e1/acme/slot";
const CHALLENGES = "/api/v1/edge/nodes/e1/acme/challenges";

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

async function expectStatus(answer: Response | Promise<Response>, status: number): Promise<void> {
  expect((await answer).status).toBe(status);
}

async function slot(body: unknown = WWW, as?: { node: string; token: string }): Promise<unknown> {
  return (await channel.slot(body, as)).json();
}

const clock = () => channel.server.clock;
const challenges = async (options = {}) => (await channel.document(options)).acme_challenges;

describe("ACME slot request", () => {
  test("{zone} gives {granted: true, expires_at}, ten minutes from now", async () => {
    expect(await slot()).toEqual({ granted: true, expires_at: "2026-03-01T12:10:00.000Z" });
  });

  test("gives {granted: false, holder, retry_after_seconds} while another node has it", async () => {
    await slot();
    expect(await slot(WWW, SECOND)).toEqual({ granted: false, holder: "e1", retry_after_seconds: 30 });
    clock().advance(590_500);
    expect(await slot(WWW, SECOND)).toEqual({ granted: false, holder: "e1", retry_after_seconds: 10 });
    clock().advance(9500);
    expect(await slot(WWW, SECOND)).toMatchObject({ granted: true });
  });

  test("of the holder gives it the lease anew", async () => {
    await slot();
    clock().advance(60_000);
    expect(await slot()).toEqual({ granted: true, expires_at: "2026-03-01T12:11:00.000Z" });
  });

  test("{release: true} returns the slot", async () => {
    await slot();
    const answer = await channel.slot({ ...WWW, release: true });
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    expect(await slot(WWW, SECOND)).toMatchObject({ granted: true });
  });

  test("{release: true} without a zone returns all that the node has", async () => {
    for (const zone of ["www.example.net", "shop.example.net"]) await slot({ zone });
    await expectStatus(channel.slot({ release: true }), 204);
    expect((await channel.document()).issuance_grants).toEqual([]);
  });
});

describe("ACME slot release", () => {
  test("touches only the caller's own grant", async () => {
    await slot();
    for (const body of [{ ...WWW, release: true }, { release: true }]) await channel.slot(body, SECOND);
    expect((await channel.document()).issuance_grants).toMatchObject([{ ...WWW, node: "e1" }]);
  });

  test.each([WWW.zone, "shop.example.net", "mail.example.net", "nowhere.example.net", "", "x".repeat(300)])(
    "is idempotent and answers 204 for any zone name: %s",
    async (zone) => {
      for (let i = 0; i < 2; i++) await expectStatus(channel.slot({ zone, release: true }), 204);
    },
  );
});

describe("ACME challenge publication", () => {
  test("by the holder of the slot is 204, and in the document of every node of the zone, for ten minutes", async () => {
    await slot();
    clock().advance(60_000);
    const answer = await channel.publish();
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    const told = [{ ...WWW, token: "tok_1", key_authorization: "tok_1.thumb", expires_at: "2026-03-01T12:11:00.000Z" }];
    expect(await challenges()).toEqual(told);
    expect(await challenges(SECOND)).toEqual(told);
    expect(await challenges({ token: "admin", node: null })).toEqual(told);
    clock().advance(599_999);
    expect(await challenges(SECOND)).toEqual(told);
    clock().advance(1);
    expect(await challenges(SECOND)).toEqual([]);
  });

  test("outlives the slot", async () => {
    await slot();
    await channel.publish();
    await channel.slot({ ...WWW, release: true });
    expect(await challenges()).toHaveLength(1);
  });
});

describe("ACME challenge needs the slot:", () => {
  const REFUSED = "this node does not hold the zone's slot: request it first";

  test("409 without a slot, with another node's, with one of another zone, and with one that is over", async () => {
    await expectError(channel.publish(), 409, REFUSED);
    await slot(WWW, SECOND);
    await slot({ zone: "shop.example.net" });
    await expectError(channel.publish(), 409, REFUSED);
    clock().advance(600_000);
    await expectError(channel.publish({}, SECOND), 409, REFUSED);
    expect(await challenges()).toEqual([]);
  });
});

describe("ACME challenge is never overwritten by a different key authorization:", () => {
  const other = { key_authorization: "tok_1.other" };
  const REFUSED = "the live challenge of this token has another key authorization";

  test("409, also for the next holder of the slot", async () => {
    await slot();
    await channel.publish();
    await expectError(channel.publish(other), 409, REFUSED);
    await channel.slot({ ...WWW, release: true });
    await slot(WWW, SECOND);
    await expectError(channel.publish(other, SECOND), 409, REFUSED);
    expect(await challenges()).toMatchObject([{ key_authorization: "tok_1.thumb" }]);
  });

  test("the same again is 204 and told for longer; after it has lapsed another is fine", async () => {
    await slot();
    await channel.publish();
    clock().advance(300_000);
    await expectStatus(channel.publish(), 204);
    expect(await challenges()).toMatchObject([{ expires_at: "2026-03-01T12:15:00.000Z" }]);
    await slot();
    clock().advance(600_000);
    await slot();
    await expectStatus(channel.publish(other), 204);
    expect(await challenges()).toMatchObject([other]);
  });

  test("the same token of another zone is another challenge", async () => {
    await slot();
    await slot({ zone: "shop.example.net" });
    await channel.publish();
    await expectStatus(channel.publish({ zone: "shop.example.net", ...other }), 204);
    expect(await challenges()).toHaveLength(2);
  });
});

describe("ACME challenges of a node are at most 16:", () => {
  const tokens = Array.from({ length: LIVE_CHALLENGES_MAX }, (_, i) => `t${i}`);
  const publish = (token: string, as?: { node: string; token: string }) =>
    channel.publish({ token, key_authorization: `${token}.thumb` }, as);

  test("the 17th is 429, and nothing that was accepted is lost", async () => {
    await slot();
    for (const token of tokens) await expectStatus(publish(token), 204);
    const refused = await publish("t16");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await refused.json()).toEqual({ error: "this node has 16 live challenges" });
    await expectStatus(publish("t15"), 204);
    expect(await challenges()).toHaveLength(16);
  });

  test("in any zones; another node has its own sixteen; and a lapsed one makes room", async () => {
    await slot();
    await slot({ zone: "shop.example.net" });
    await channel.publish({ zone: "shop.example.net" });
    clock().advance(1000);
    for (const token of tokens.slice(1)) await expectStatus(publish(token), 204);
    await expectStatus(publish("t16"), 429);
    await channel.slot({ ...WWW, release: true });
    await slot(WWW, SECOND);
    await expectStatus(publish("t16", SECOND), 204);
    await channel.slot({ ...WWW, release: true }, SECOND);
    clock().advance(599_000);
    await slot();
    await expectStatus(publish("t17"), 204);
  });
});

describe("ACME zones are those that the node's scope covers:", () => {
  test.each(["mail.example.net", "nowhere.example.net", "", "www.example.net.", "x".repeat(300)])(
    "404 for %p, the same bytes whether there is such a zone or not",
    async (zone) => {
      await expectError(channel.slot({ zone }), 404, "unknown zone");
      await expectError(channel.publish({ zone }), 404, "unknown zone");
      expect(await channel.metric('svc_edge_document_items{kind="grants"}')).toBeNaN();
      expect(channel.edge.acme.grants).toEqual([]);
    },
  );

  test("names are folded to lower case", async () => {
    expect(await slot({ zone: "WWW.Example.net" })).toMatchObject({ granted: true });
    await expectStatus(channel.publish({ zone: "Www.example.NET" }), 204);
    await expectStatus(channel.slot({ zone: "wWW.example.net", release: true }), 204);
    expect(channel.edge.acme.grants).toEqual([]);
  });

  test("a reload that takes the zone away from the node takes its slot and its challenges", async () => {
    await slot({ zone: "shop.example.net" });
    await channel.publish({ zone: "shop.example.net" });
    channel.configure({
      nodes: [
        { name: "e1", hostgroups: ["mail"] },
        { name: "e2", hostgroups: ["web"] },
      ],
    });
    expect(await slot({ zone: "shop.example.net" }, SECOND)).toMatchObject({ granted: true });
    expect(await challenges(SECOND)).toEqual([]);
  });
});

describe("a node that a reload takes away while the body comes is unknown", () => {
  test.each([
    [SLOT, WWW],
    [SLOT, { release: true }],
    [CHALLENGES, { ...WWW, token: "t", key_authorization: "t.k" }],
  ])("%s %j", async (path, body) => {
    const takeAway = () => channel.configure({ nodes: [{ name: "e2" }] });
    const answer = await channel.postSlowly(path, JSON.stringify(body), "bound1", takeAway);
    expect(answer).toEqual({ status: 404, body: '{"error":"unknown edge node"}' });
  });
});

describe("ACME bad input:", () => {
  const SLOTS: readonly [unknown, string][] = [
    [{}, "zone is required"],
    [{ release: false }, "zone is required"],
    [{ zone: 1 }, "zone must be a string"],
    [{ ...WWW, x: 1 }, 'unknown field "x"'],
    [[], "not an object"],
  ];
  test.each(SLOTS)("slot %j is 400: %s", async (body, detail) => {
    await expectError(channel.slot(body), 400, `invalid JSON body: ${detail}`);
  });

  const TOKENS = ["", "a b", "a.b", "a+b", "a=", "a\n", "x".repeat(257), 1].map((token) => ({ token }));
  const KEYS = ["no-dot", "a.b.c", ".b", "a.<b>", `a.${"x".repeat(511)}`].map((key) => ({ key_authorization: key }));
  test.each([...TOKENS, ...KEYS, { zone: 7 }, { x: 1 }])("challenge %j is 400", async (body) => {
    await slot();
    await expectStatus(channel.publish(body), 400);
    expect(await challenges()).toEqual([]);
  });

  test("the longest token and key authorization are taken", async () => {
    await slot();
    const token = "x".repeat(256);
    await expectStatus(channel.publish({ token, key_authorization: `a.${"x".repeat(510)}` }), 204);
  });
});

describe("ACME, agents only:", () => {
  test.each(["e2", "nobody"])(
    "a bound token that names %s is the uniform 403, before any slot is stored",
    async (node) => {
      const as = { node, token: "bound1" };
      for (const call of [channel.slot(WWW, as), channel.publish({}, as), channel.slot({ release: true }, as)]) {
        await expectError(call, 403, "this token is bound to another node");
      }
      expect(channel.edge.acme.grants).toEqual([]);
      expect(channel.edge.story).toEqual([]);
      expect(await channel.metric('svc_api_node_binding_refused_total{route="acme_slot"}')).toBe(2);
      expect(await channel.metric('svc_api_node_binding_refused_total{route="acme_challenges"}')).toBe(1);
      expect(channel.server.audited).toEqual([]);
    },
  );

  test("an unbound token may act as every node, and an unknown one is 404", async () => {
    channel.admit(agent("unbound"));
    for (const node of ["e1", "e2"]) await expectStatus(channel.slot(WWW, { node, token: "unbound" }), 200);
    const as = { node: "e3", token: "unbound" };
    for (const call of [channel.slot(WWW, as), channel.publish({}, as), channel.slot({ release: true }, as)]) {
      await expectError(call, 404, "unknown edge node");
    }
  });
});
