/** The polls of edge nodes, statement by statement (docs/interface.md#edge-zones-poll), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { ZONES_HOLD_MS } from "../../src/limits.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { agent } from "../fixtures/scrub/scrub-channel.ts";
import { eventually } from "../fixtures/service.ts";

const BOUND = { error: "this token is bound to another node" };
const LEVER = { mode: "manual", ttl_seconds: 60, reason: "" };

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

async function expectError(answer: Response | Promise<Response>, status: number, error: string): Promise<void> {
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([status, { error }]);
}

const view = (name = "e1") => channel.edge.nodes.view(name);
const seen = () => ["e1", "e2"].map((name) => view(name).lastSeenAt !== null);
const clock = () => channel.server.clock;

describe("zone document scope:", () => {
  test("zones without a hostgroup go to all nodes, a labelled one to nodes that list its group", async () => {
    expect(await channel.zoneNames()).toEqual(["bare.example.net", "shop.example.net", "www.example.net"]);
    expect(await channel.zoneNames({ token: "bound2", node: "e2" })).toEqual([
      "bare.example.net",
      "mail.example.net",
      "www.example.net",
    ]);
  });

  test("an operator's bare GET gets every zone", async () => {
    expect(await channel.zoneNames({ token: "admin", node: null })).toHaveLength(4);
  });

  test("an agent's that names no node gets what every node gets", async () => {
    expect(await channel.zoneNames({ token: "unbound", node: null })).toEqual(["bare.example.net", "www.example.net"]);
  });

  test("levers, challenges and grants are those of the node's zones", async () => {
    await channel.lever("mail.example.net", LEVER);
    const order = { zone: "mail.example.net" };
    const as = { node: "e2", token: "bound2" };
    await channel.slot(order, as);
    await channel.publish(order, as);
    const mine = await channel.document();
    expect([mine.acme_challenges, mine.issuance_grants]).toEqual([[], []]);
    expect(JSON.stringify(mine)).not.toContain("mail.example.net");
    const theirs = await channel.document(as);
    expect(theirs.zones.find(({ name }) => name === "mail.example.net")).toMatchObject({
      challenge_override: { mode: "manual", until: "2026-03-01T12:01:00.000Z", reason: "" },
    });
    expect(theirs).toMatchObject({
      acme_challenges: [{ zone: "mail.example.net", token: "tok_1", key_authorization: "tok_1.thumb" }],
      issuance_grants: [{ zone: "mail.example.net", node: "e2", expires_at: "2026-03-01T12:10:00.000Z" }],
    });
  });
});

describe("zone document version is 1", () => {
  test("and the three lists are there, also without any edge", async () => {
    channel.edge.reconfigure(null);
    const document = await channel.document({ token: "admin", node: null });
    expect(document).toEqual({ version: 1, zones: [], acme_challenges: [], issuance_grants: [] });
  });
});

describe("zone document clearance_keys", () => {
  test("turn exactly at midnight UTC: the ETag moves, parked polls wake, and a fresh one has the new keys", async () => {
    clock().advance(12 * 3_600_000 - 10_000);
    const { answer, etag } = await channel.parked();
    clock().advance(9_999);
    expect(await channel.etag()).toBe(etag);
    clock().advance(1);
    const woken = await answer;
    expect([woken.status, woken.headers.get("etag")]).toEqual([200, await channel.etag()]);
    const { zones } = (await woken.json()) as { zones: { clearance_keys: { id: string }[] }[] };
    expect(zones[0]?.clearance_keys.map(({ id }) => id)).toEqual(["c20260301", "c20260302"]);
    expect(woken.headers.get("etag")).not.toBe(etag);
  });

  test("follow a wall clock that is set, forth and back", async () => {
    const { answer, etag } = await channel.parked();
    clock().setWall("2026-03-03T10:00:00.000Z");
    clock().advance(1000);
    expect((await answer).headers.get("etag")).not.toBe(etag);
    clock().setWall("2026-03-01T12:00:00.000Z");
    expect(await channel.etag()).toBe(etag);
  });
});

describe("GET /api/v1/edge/zones", () => {
  test("is the zone document, with an ETag that is a node's own", async () => {
    const answer = await channel.poll();
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(answer.headers.get("etag")).toMatch(/^"[\w-]+"$/);
    expect(await channel.etag({ token: "bound2", node: "e2" })).not.toBe(await channel.etag());
    expect(await channel.etag({ token: "unbound" })).toBe(await channel.etag());
  });

  test("with a matching If-None-Match is held 25 s, then 304", async () => {
    const { answer, etag } = await channel.parked();
    clock().advance(ZONES_HOLD_MS - 1);
    expect(await channel.holds()).toBe(1);
    clock().advance(1);
    expect([(await answer).status, (await answer).headers.get("etag")]).toEqual([304, etag]);
    expect(ZONES_HOLD_MS).toBe(25_000);
  });

  test("wakes when the zones file is another one, for those of whom it is", async () => {
    const mine = await channel.parked();
    const theirs = await channel.parked({ token: "bound2", node: "e2" });
    channel.configure({ zones: [{ name: "www.example.net" }, { name: "mail.example.net", hostgroup: "mail" }] });
    expect((await mine.answer).status).toBe(200);
    expect(await channel.zoneNames()).toEqual(["www.example.net"]);
    expect((await theirs.answer).status).toBe(200);
  });

  test("stays parked, with the same bytes, over a reload that changes nothing for it", async () => {
    const { answer, etag } = await channel.parked();
    channel.configure();
    expect(await channel.etag()).toBe(etag);
    expect(await channel.holds()).toBe(1);
    clock().advance(ZONES_HOLD_MS);
    expect((await answer).status).toBe(304);
  });

  const WAKES: readonly [string, () => Promise<unknown>][] = [
    ["a lever that is set", () => channel.lever("www.example.net", LEVER)],
    ["a slot that is given", () => channel.slot({ zone: "www.example.net" })],
  ];
  test.each(WAKES)("wakes at once on %s", async (_, change) => {
    const { answer, etag } = await channel.parked({ token: "bound2", node: "e2" });
    await change();
    expect([(await answer).status, (await answer).headers.get("etag") === etag]).toEqual([200, false]);
  });

  const setLever = () => channel.lever("www.example.net", LEVER);
  const takeSlot = () => channel.slot({ zone: "www.example.net" });
  /** What was before, how long that is ago, and what happens then. */
  const ENDS: readonly [string, () => Promise<unknown>, number, () => unknown][] = [
    ["a lever is cleared", setLever, 0, () => channel.clearLever("www.example.net")],
    ["a lever lapses", setLever, 59_000, () => clock().advance(1000)],
    ["a challenge is published", takeSlot, 0, () => channel.publish()],
    ["a slot is returned", takeSlot, 0, () => channel.slot({ zone: "www.example.net", release: true })],
    ["the lease of a slot is over", takeSlot, 599_000, () => clock().advance(1000)],
  ];
  test.each(ENDS)("wakes at once when %s", async (_, before, waitMs, change) => {
    await before();
    clock().advance(waitMs);
    const { answer, etag } = await channel.parked();
    await change();
    expect([(await answer).status, (await answer).headers.get("etag") === etag]).toEqual([200, false]);
  });

  test("of an unknown node is 404", async () => {
    for (const token of ["unbound", "admin"]) {
      await expectError(channel.poll({ token, node: "e3" }), 404, "unknown edge node");
    }
    expect(seen()).toEqual([false, false]);
  });

  test("needs a real token where there are tokens", async () => {
    for (const node of ["e1", null]) {
      await expectError(channel.poll({ token: null, node }), 401, "missing or invalid bearer token");
    }
  });

  test("on an open API answers bare, and is 401 with ?node=, known or not", async () => {
    channel.admit();
    expect(await channel.zoneNames({ token: null, node: null })).toHaveLength(4);
    for (const node of ["e1", "e3"]) {
      await expectError(channel.poll({ token: null, node }), 401, "node identity needs an API token");
    }
    expect(seen()).toEqual([false, false]);
  });

  test.each(["eyes", "acme", "acme-eyes"])("is neither a viewer's nor a tenant's: %s", async (token) => {
    expect((await channel.poll({ token })).status).toBe(403);
    expect((await channel.poll({ token, node: null })).status).toBe(403);
  });
});

describe("edge node binding:", () => {
  test.each([["e2"], ["nobody"], [null], [""]])(
    "?node=%p is the uniform 403, decided before presence is stamped",
    async (node) => {
      const answer = await channel.poll({ node });
      expect([answer.status, await answer.json()]).toEqual([403, BOUND]);
      expect([seen(), view().lastToken]).toEqual([[false, false], null]);
      expect(channel.server.logged).toEqual([expect.objectContaining({ token_name: "bound1", route: "zones" })]);
      expect(await channel.metric('svc_api_node_binding_refused_total{route="zones"}')).toBe(1);
      expect(channel.server.audited).toEqual([]);
    },
  );

  test("one of several tokens of a node, and an unbound one, may act as it", async () => {
    channel.admit(agent("bound1", "e1"), agent("bound3", "e1"), agent("unbound"));
    for (const token of ["bound1", "bound3", "unbound"]) expect((await channel.poll({ token })).status).toBe(200);
  });
});

describe("edge poll ended by a reload with the answer that a first poll would now get", () => {
  test("404 when it removes the node", async () => {
    const { answer } = await channel.parked({ token: "unbound" });
    channel.configure({ nodes: [{ name: "e2" }] });
    await expectError(answer, 404, "unknown edge node");
  });

  test("401 when it removes the token", async () => {
    const { answer } = await channel.parked();
    channel.admit(agent("bound2", "e2"));
    await expectError(answer, 401, "missing or invalid bearer token");
  });

  test("401 when it opens the API", async () => {
    const { answer } = await channel.parked();
    channel.admit();
    await expectError(answer, 401, "node identity needs an API token");
  });

  test("403 when it moves the binding, and the end is stamped", async () => {
    const { answer } = await channel.parked();
    clock().advance(5000);
    channel.admit(agent("bound1", "e2"));
    await expectError(answer, 403, BOUND.error);
    expect(view()).toMatchObject({ isHolding: false, lastSeenAt: clock().wallMs() });
  });
});

describe("edge polls are capped:", () => {
  test("four by a token, and the fifth is 429", async () => {
    for (let i = 0; i < 4; i++) await channel.parked();
    clock().advance(1000);
    const seenAt = view().lastSeenAt;
    const refused = await channel.poll({ etag: await channel.etag({ token: "admin" }) });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ error: "too many concurrent zone holds" });
    expect(view().lastSeenAt).toBe(seenAt);
    expect(await channel.metric('svc_api_holds_refused_total{channel="zones"}')).toBe(1);
    expect((await channel.poll()).status).toBe(200);
    expect((await channel.parked({ token: "bound2", node: "e2" })).etag).not.toBe("");
  });

  test("eight in all with few nodes, and two for each of more nodes", async () => {
    const names = ["e1", "e2", "e3", "e4", "e5"];
    const nodes = names.map((name) => ({ name }));
    channel.configure({ nodes: nodes.slice(0, 3) });
    channel.admit(...names.map((name) => agent(name, name)));
    const two = async (name: string) => {
      for (let i = 0; i < 2; i++) await channel.parked({ token: name, node: name });
    };
    for (const name of ["e1", "e2", "e3", "e1"]) await two(name);
    const etag = await channel.etag({ token: "e2", node: "e2" });
    expect((await channel.poll({ token: "e2", node: "e2", etag })).status).toBe(429);
    channel.configure({ nodes });
    await two("e4");
    expect((await channel.poll({ token: "e5", node: "e5", etag })).status).toBe(429);
  });

  test("is apart from that of scrub polls, and stop answers all", async () => {
    const answers = [await channel.parked(), await channel.parked({ token: "bound2", node: "e2" })];
    expect(await channel.metric('svc_api_holds{channel="rules"}')).toBe(0);
    await channel.stop();
    for (const { answer } of answers) expect((await answer).status).toBe(304);
    expect(clock().pending).toBe(0);
  });
});

describe("edge node alive", () => {
  test("is true when a poll is parked", async () => {
    await channel.parked();
    clock().advance(20_000);
    expect(view()).toMatchObject({ liveness: "alive", isHolding: true });
  });

  test("or when the last sighting is within stale_after_seconds", async () => {
    await channel.poll();
    clock().advance(15_000);
    expect(view().liveness).toBe("alive");
    clock().advance(1);
    expect(view().liveness).toBe("lost");
  });

  test("is stamped when a poll starts and when it ends", async () => {
    const { answer } = await channel.parked();
    const startedAt = clock().wallMs();
    clock().advance(10_000);
    expect(view().lastSeenAt).toBe(startedAt);
    clock().advance(15_000);
    await answer;
    expect(view()).toMatchObject({ isHolding: false, lastSeenAt: startedAt + 25_000 });
  });
});

describe("edge node presence:", () => {
  test("an operator's ?node= is a preview, parked or not", async () => {
    expect(await channel.document({ token: "admin" })).toEqual(await channel.document({ token: "unbound" }));
    channel.configure({ nodes: [{ name: "e1" }, { name: "e3" }] });
    await channel.poll({ token: "admin", node: "e3" });
    const { answer } = await channel.parked({ token: "admin", node: "e3" });
    expect(view("e3")).toMatchObject({ liveness: "not_seen", isHolding: false, lastSeenAt: null, lastToken: null });
    await channel.lever("www.example.net", LEVER);
    await answer;
    expect(view("e3").lastSeenAt).toBeNull();
  });

  test("an agent's poll without a node, and a call for a slot, are none", async () => {
    await channel.poll({ token: "unbound", node: null });
    await channel.slot({ zone: "www.example.net" });
    expect(seen()).toEqual([false, false]);
  });

  test("last_token is that of the poll accepted last, and flips with the first one of a new token", async () => {
    channel.admit(agent("old", "e1"), agent("new", "e1"), agent("bound2", "e2"));
    const { answer } = await channel.parked({ token: "old" });
    expect(view().lastToken).toBe("old");
    await channel.poll({ token: "bound2" });
    expect(view().lastToken).toBe("old");
    await channel.poll({ token: "new" });
    expect(view().lastToken).toBe("new");
    clock().advance(ZONES_HOLD_MS);
    await answer;
    expect(view().lastToken).toBe("new");
  });
});

describe("edge node never polled", () => {
  test("has no last_seen, and is treated as lost once stale_after_seconds has passed", () => {
    expect(view()).toMatchObject({ liveness: "not_seen", lastSeenAt: null });
    clock().advance(15_001);
    expect(view()).toMatchObject({ liveness: "lost", lastSeenAt: null });
  });
});

describe("edge poll gzip: a long document", () => {
  const name = (i: number) => `z${i}.example.net`;
  beforeEach(() => channel.configure({ zones: Array.from({ length: 40 }, (_, i) => ({ name: name(i) })) }));

  test.each(["gzip", "identity"])(
    "comes in %s to whoever takes that, at once or after a hold, under one ETag",
    async (coding) => {
      const ask = (etag: string) =>
        fetch(`${channel.server.base}/api/v1/edge/zones?node=e1`, {
          headers: { authorization: "Bearer bound1", "accept-encoding": coding, "if-none-match": etag },
          decompress: false,
        });
      const before = await channel.holds();
      const parked = ask(await channel.etag());
      await eventually(async () => (await channel.holds()) > before, "the poll was not parked");
      await channel.lever(name(7), LEVER);
      const [told, text, etag] = [await parked, await (await channel.poll()).text(), await channel.etag()];
      for (const answer of [told, await ask('"another"')]) {
        const { headers } = answer;
        expect([headers.get("etag"), headers.get("vary")]).toEqual([etag, "accept-encoding"]);
        expect(headers.get("content-encoding")).toBe(coding === "gzip" ? "gzip" : null);
        const bytes = await answer.bytes();
        expect((coding === "gzip" ? gunzipSync(bytes) : Buffer.from(bytes)).toString()).toBe(text);
      }
      const head = await fetch(`${channel.server.base}/api/v1/edge/zones?node=e1`, {
        method: "HEAD",
        headers: { authorization: "Bearer bound1", "accept-encoding": coding },
      });
      expect([head.status, head.headers.get("etag")]).toEqual([200, etag]);
    },
  );
});
