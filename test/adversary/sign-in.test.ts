/**
 * What strangers, other sites and users without rights try at the sign-in of people (docs/interface.md#sign-in): stolen
 * cookies, forged and repeated callbacks, tokens of other clients, and tables to fill.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { HEARTBEAT_MS } from "../../src/http/events/event-feed.ts";
import { as } from "../fixtures/http/callers.ts";
import { expectError } from "../fixtures/http/http.ts";
import { FalseProvider, type Lie } from "../fixtures/sign-in/false-provider.ts";
import { ownPage, SignInWorld } from "../fixtures/sign-in/sign-in-world.ts";
import { Visitor } from "../fixtures/sign-in/visitor.ts";

let world: SignInWorld;

beforeEach(async () => {
  world = await SignInWorld.start({ alice: ["noc"], bob: ["readers"], mallory: ["guests"], eve: ["readers"] });
});
afterEach(() => world.stop());

const failed = (why: string) => `${world.base}/#/?sign_in=${why}`;
const begin = () => `${world.base}/api/v1/sign-in/begin`;
const endOf = async (visitor: Visitor, callback: string) => (await visitor.get(callback)).headers.get("location");
const statusOf = async (visitor: Visitor) => (await world.ask(visitor, "/api/v1/session")).status;

function changed(url: string, parameters: Readonly<Record<string, string>>): string {
  const other = new URL(url);
  for (const [name, value] of Object.entries(parameters)) other.searchParams.set(name, value);
  return other.href;
}

const FOREIGN = "a signed-in browser may send this from the dashboard's own page only: see api.oidc.public_url";

describe("a page of another site", () => {
  const order = { method: "POST", body: JSON.stringify({ ip: "192.0.2.1" }) };

  test("sends no order with the cookie of a signed-in browser #sign-in-own-page", async () => {
    const cookie = (await world.signedIn("alice")).cookieText(world.base);
    const json = { cookie, "content-type": "application/json" };
    const sent: readonly Readonly<Record<string, string>>[] = [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: world.provider.issuer, "sec-fetch-site": "cross-site" },
      { origin: world.base, "sec-fetch-site": "same-site" },
      { origin: `${world.base}.evil.example` },
    ];
    for (const headers of sent) {
      const answer = fetch(`${world.base}/api/v1/ban`, { ...order, headers: { ...json, ...headers } });
      await expectError(answer, 403, FOREIGN);
    }
    expect(world.server.backend.calls).toEqual([]);
    const own = await fetch(`${world.base}/api/v1/ban`, { ...order, headers: { ...json, ...ownPage(world.base) } });
    expect(own.status).toBe(200);
  });

  test("reaches no route that changes something, whichever it is #sign-in-own-page", async () => {
    const cookie = (await world.signedIn("alice")).cookieText(world.base);
    const described = await fetch(`${world.base}/api/v1/openapi.json`, { headers: as("operator") });
    const { paths } = (await described.json()) as {
      paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    const changing = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => /^(post|put|patch|delete)$/.test(method))
        .map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, "x")] as const),
    );
    expect(changing.length).toBeGreaterThan(30);
    for (const [method, path] of changing) {
      const headers = { cookie, origin: "https://evil.example", "content-type": "application/json" };
      await expectError(fetch(world.base + path, { method, headers, body: "{}" }), 403, FOREIGN);
    }
    expect(world.server.backend.calls).toEqual([]);
  });

  test("reads nothing with it, nor opens a stream #sign-in-own-page", async () => {
    const cookie = (await world.signedIn("alice")).cookieText(world.base);
    for (const path of ["/api/v1/status", "/api/v1/events", "/api/v1/attacks/a1/pcap"]) {
      const headers = { cookie, origin: "https://evil.example" };
      await expectError(fetch(world.base + path, { headers }), 403, FOREIGN);
      const embedded = { cookie, "sec-fetch-site": "cross-site" };
      await expectError(fetch(world.base + path, { headers: embedded }), 403, FOREIGN);
    }
  });

  test("gets no answer that lets its scripts read across origins", async () => {
    const answer = await world.ask(await world.signedIn("alice"), "/api/v1/session");
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

describe("a callback", () => {
  test("counts in the browser that began alone: no one is signed in as another #sign-in-state", async () => {
    const [mallory, victim] = [new Visitor(), new Visitor()];
    const callback = await world.callbackOf(mallory, "eve");
    expect(await endOf(victim, callback)).toBe(failed("not_begun"));
    // Also if the victim has begun a sign-in of its own.
    await victim.get(begin());
    expect(await endOf(victim, callback)).toBe(failed("invalid_answer"));
    expect(await statusOf(victim)).toBe(401);
    expect(world.provider.tokenRequests).toBe(0);
  });

  test("counts once, also with the cookie of before #sign-in-state", async () => {
    const visitor = new Visitor();
    const callback = await world.callbackOf(visitor, "bob");
    const attempt = visitor.cookieText(world.base);
    expect(await endOf(visitor, callback)).toBe(`${world.base}/#/`);
    expect(await endOf(visitor, callback)).toBe(failed("not_begun"));
    const again = await fetch(callback, { headers: { cookie: attempt }, redirect: "manual" });
    expect(again.headers.get("location")).toBe(failed("not_begun"));
    expect(again.headers.getSetCookie().join()).not.toMatch(/floodwall-\d+=[^;]/);
  });

  test("counts for the provider with whom it began: not after a reload to another #sign-in-state", async () => {
    const visitor = new Visitor();
    const callback = await world.callbackOf(visitor, "bob");
    const other = new FalseProvider({});
    await other.start();
    try {
      world.configure({ issuer: other.issuer });
      await world.isRead();
      expect(await endOf(visitor, callback)).toBe(failed("not_begun"));
    } finally {
      await other.stop();
    }
  });

  test("counts for ten minutes #sign-in-state", async () => {
    const visitor = new Visitor();
    const callback = await world.callbackOf(visitor, "bob");
    world.clock.advance(600_000);
    expect(await endOf(visitor, callback)).toBe(failed("not_begun"));
  });

  test.each([
    ["another state", { state: "forged" }, "invalid_answer"],
    ["another code", { code: "forged" }, "invalid_answer"],
    ["another issuer", { iss: "https://evil.example" }, "invalid_answer"],
    ["an error of the provider in its place", { error: "access_denied" }, "denied"],
  ])("with %s signs no one in #sign-in-state", async (_, parameters, why) => {
    const visitor = new Visitor();
    const callback = changed(await world.callbackOf(visitor, "bob"), parameters);
    expect(await endOf(visitor, callback)).toBe(failed(why));
    expect(await statusOf(visitor)).toBe(401);
  });

  test("with a cookie that this process did not seal counts for nothing #sign-in-state", async () => {
    const visitor = new Visitor();
    const callback = await world.callbackOf(visitor, "bob");
    const forged = Buffer.from(JSON.stringify({ state: "s", nonce: "n", verifier: "v", place: "/", expiresAt: 1e15 }));
    for (const value of [forged.toString("base64url"), "x", ""]) {
      const cookie = `floodwall-sign-in-${world.server.port}=${value}`;
      const answer = await fetch(changed(callback, { state: "s" }), { headers: { cookie }, redirect: "manual" });
      expect(answer.headers.get("location")).toBe(failed("not_begun"));
    }
  });

  test.each([
    "//evil.example",
    "https://evil.example",
    "/\\evil.example",
    "/a#//evil.example",
    "/\r\nlocation: x",
    "/<script>",
  ])("leads to no other page by the place %j #sign-in-return", async (place) => {
    const visitor = new Visitor();
    const callback = await world.callbackOf(visitor, "bob", `?place=${encodeURIComponent(place)}`);
    const to = new URL((await endOf(visitor, callback)) ?? "");
    expect([to.origin, to.pathname, to.search]).toEqual([world.base, "/", ""]);
  });
});

describe("a provider that lies, or another's token", () => {
  const cases: readonly (readonly [string, Lie])[] = [
    ["is for another client", { claims: { aud: "other" } }],
    ["is of another issuer", { claims: { iss: "https://evil.example" } }],
    ["has the nonce of another sign-in", { claims: { nonce: "other" } }],
    ["has expired", { claims: { exp: 1_000_000 } }],
    ["is signed by another key", { isSignedByOther: true }],
    ["is not signed", { isUnsigned: true }],
    ["is of another user than the userinfo", { userinfo: { sub: "other" } }],
    ["is absent", { hasNoIdToken: true }],
    ["says too much", { claims: { groups: Array.from({ length: 2000 }, (_, i) => `group ${i}`) } }],
  ];

  test.each(cases)("signs no one in when the ID token %s", async (_, lie) => {
    const provider = new FalseProvider(lie);
    await provider.start();
    try {
      world.configure({ issuer: provider.issuer });
      await world.isRead();
      const visitor = new Visitor();
      const url = new URL((await visitor.get(begin())).headers.get("location") ?? "");
      const callback = provider.answerTo(url);
      expect(await endOf(visitor, callback)).toBe(failed("invalid_answer"));
      expect(await statusOf(visitor)).toBe(401);
    } finally {
      await provider.stop();
    }
  });

  test("signs in by the same provider when it does not lie, also at once after it replaced its key, and not by that key then", async () => {
    const provider = new FalseProvider({});
    await provider.start();
    try {
      world.configure({ issuer: provider.issuer });
      await world.isRead();
      const endOfSignIn = async (visitor: Visitor) => {
        const url = new URL((await visitor.get(begin())).headers.get("location") ?? "");
        expect(url.searchParams.get("code_challenge_method")).toBe("S256");
        return endOf(visitor, provider.answerTo(url));
      };
      const [first, second] = [new Visitor(), new Visitor()];
      expect(await endOfSignIn(first)).toBe(`${world.base}/#/`);
      expect(await world.who(first)).toMatchObject({ name: "user alice", role: "operator" });
      provider.rotateKey();
      expect(await endOfSignIn(second)).toBe(`${world.base}/#/`);
      provider.withdrawKey();
      expect(await endOfSignIn(new Visitor())).toBe(failed("invalid_answer"));
    } finally {
      await provider.stop();
    }
  });
});

describe("strangers", () => {
  test("who send one attempt again and again ask the provider once, and keep no one out #sign-in-state", async () => {
    const stranger = new Visitor();
    const state = new URL((await stranger.get(begin())).headers.get("location") ?? "").searchParams.get("state");
    const headers = { cookie: stranger.cookieText(world.base) };
    const callback = `${world.base}/api/v1/sign-in/callback?code=x&state=${state}`;
    const sent = Array.from({ length: 100 }, () => fetch(callback, { headers, redirect: "manual" }));
    const ends = (await Promise.all(sent)).map((answer) => answer.headers.get("location"));
    expect(world.provider.tokenRequests).toBeLessThanOrEqual(1);
    expect(ends.filter((end) => end === failed("not_begun"))).toHaveLength(99);
    expect(await statusOf(await world.signedIn("bob"))).toBe(200);
  });

  test("who send callbacks of another state cause no line in the log", async () => {
    const stranger = new Visitor();
    await stranger.get(begin());
    const answer = await stranger.get(`${world.base}/api/v1/sign-in/callback?code=x&state=other`);
    expect([answer.headers.get("location"), world.logged]).toEqual([failed("invalid_answer"), []]);
  });

  test("who begin sign-ins without end fill no table, and keep no one out #sign-in-state", async () => {
    for (let i = 0; i < 2000; i++) expect((await new Visitor().get(begin())).status).toBe(302);
    expect(await world.metric("svc_browser_sessions")).toBe(0);
    expect(await statusOf(await world.signedIn("bob"))).toBe(200);
  });

  test("who know no secret are callers by no cookie", async () => {
    const name = `floodwall-${world.server.port}`;
    for (const value of ["", "x", "A".repeat(43), "../../etc/passwd", "a=b"]) {
      const headers = { cookie: `${name}=${value}`, ...ownPage(world.base) };
      await expectError(fetch(`${world.base}/api/v1/session`, { headers }), 401, "missing or invalid bearer token");
    }
  });

  test("who plant a cookie before a sign-in do not share its session", async () => {
    const visitor = new Visitor();
    const [host, name] = ["127.0.0.1", `floodwall-${world.server.port}`];
    visitor.cookies.set(host, new Map([[name, "planted"]]));
    await visitor.get(await world.callbackOf(visitor, "bob"));
    expect(visitor.cookies.get(host)?.get(name)).not.toBe("planted");
    expect(await statusOf(visitor)).toBe(200);
  });

  test("get nothing of the provider's inside by its open routes", async () => {
    world.configure({ issuer: "http://127.0.0.1:1" });
    await world.isUnread();
    const text = await (await fetch(`${world.base}/api/v1/sign-in`)).text();
    expect(text).not.toContain('127.0.0.1:1"');
    expect(JSON.parse(text)).toEqual({ provider: { name: "Example", url: begin(), available: false } });
  });
});

describe("a user", () => {
  test("with a token in the header acts by that alone #sign-in-cookie", async () => {
    const alice = await world.signedIn("alice");
    const answer = await world.ask(alice, "/api/v1/session", { headers: as("viewer") });
    expect(await answer.json()).toMatchObject({ name: "viewer", role: "viewer" });
    const wrong = world.ask(alice, "/api/v1/session", { headers: { authorization: "Bearer wrong" } });
    await expectError(wrong, 401, "missing or invalid bearer token");
    const none = world.ask(alice, "/api/v1/session", { headers: { authorization: "Bearer" } });
    await expectError(none, 401, "missing or invalid bearer token");
  });

  test("behind a proxy that asks for a password is signed in by the cookie #sign-in-cookie", async () => {
    const answer = await world.ask(await world.signedIn("bob"), "/api/v1/session", {
      headers: { authorization: "Basic bm9jOng=" },
    });
    expect(await answer.json()).toMatchObject({ name: "user bob" });
  });

  test("is led to the provider by no other site, and a new sign-in ends the one before #sign-in-sessions", async () => {
    const bob = await world.signedIn("bob");
    const old = bob.cookieText(world.base);
    for (const site of ["cross-site", "same-site"]) {
      const answer = await bob.get(begin(), { "sec-fetch-site": site });
      expect(answer.headers.get("location")).toBe(`${world.base}/#/`);
    }
    await bob.get(await world.callbackOf(bob, "bob"));
    expect(await statusOf(bob)).toBe(200);
    const before = fetch(`${world.base}/api/v1/session`, { headers: { cookie: old, ...ownPage(world.base) } });
    await expectError(before, 401, "missing or invalid bearer token");
    expect(await world.metric("svc_browser_sessions")).toBe(1);
  });

  test("whose session has ended reads no more of a stream that was open", async () => {
    const bob = await world.signedIn("bob");
    const stream = await world.ask(bob, "/api/v1/events");
    expect(stream.status).toBe(200);
    await world.ask(bob, "/api/v1/sign-out", { method: "POST" });
    world.server.clock.advance(HEARTBEAT_MS);
    // It ends: a stream that goes on would not resolve.
    expect(await stream.text()).toContain("retry:");
  });

  test("whose old cookie was stolen is signed out with the thief, and the log says so #sign-in-renewal", async () => {
    const bob = await world.signedIn("bob");
    const stolen = bob.cookieText(world.base);
    const thief = () => fetch(`${world.base}/api/v1/session`, { headers: { cookie: stolen, ...ownPage(world.base) } });
    world.clock.advance(15 * 60_000);
    const renewed = await world.ask(bob, "/api/v1/session");
    expect(renewed.headers.getSetCookie()).toHaveLength(1);
    bob.keep(world.base, renewed);
    expect(await statusOf(bob)).toBe(200);
    expect((await thief()).status).toBe(200);
    world.clock.advance(61_000);
    expect((await thief()).status).toBe(401);
    expect(await statusOf(bob)).toBe(401);
    expect(JSON.stringify(world.logged)).toContain("session");
    expect(await world.metric('svc_browser_sessions_ended_total{reason="reused_secret"}')).toBe(1);
  });
});
