/** People sign in by an identity provider of another project, and are callers like others (docs/interface.md#sign-in). */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { SESSIONS_PER_USER } from "../../src/limits.ts";
import { as } from "../fixtures/http/callers.ts";
import { expectError } from "../fixtures/http/http.ts";
import { CLIENT, ROLES, SignInWorld } from "../fixtures/sign-in/sign-in-world.ts";
import { Visitor } from "../fixtures/sign-in/visitor.ts";

const USERS = { alice: ["noc"], bob: ["readers"], carol: ["acme-noc", "readers"], mallory: ["guests"] };

let world: SignInWorld;

beforeEach(async () => {
  world = await SignInWorld.start(USERS);
});
afterEach(() => world.stop());

const statusOf = async (visitor: Visitor) => (await world.ask(visitor, "/api/v1/session")).status;
const ban = (visitor: Visitor) =>
  world.ask(visitor, "/api/v1/ban", { method: "POST", body: JSON.stringify({ ip: "192.0.2.1" }) });

/** Where a callback leads that does not sign in. */
async function failureOf(visitor: Visitor, callback: string): Promise<string | null> {
  const answer = await visitor.get(callback);
  expect(answer.status).toBe(302);
  return answer.headers.get("location");
}

const failed = (why: string) => `${world.base}/#/?sign_in=${why}`;

describe("a user who signs in", () => {
  test("is a caller by the first line of roles that fits, for the configured time #sign-in-roles", async () => {
    const until = { signed_in_until: "2026-03-02T00:00:00.000Z" };
    const who = async (user: string) => world.who(await world.signedIn(user));
    expect(await who("alice")).toEqual({ open: false, role: "operator", unscoped: true, name: "user alice", ...until });
    expect(await who("bob")).toMatchObject({ role: "viewer", unscoped: true });
    // Of two lines the first in the file counts, not in the claim.
    expect(await who("carol")).toMatchObject({ role: "viewer", unscoped: true });
  });

  test("has the name of the claim in orders and the audit trail #sign-in-name", async () => {
    expect((await ban(await world.signedIn("alice"))).status).toBe(200);
    expect(world.server.audited).toMatchObject([{ action: "ban", operator: "user alice", role: "operator" }]);
    expect(world.audited).toMatchObject([
      { action: "sign_in", result: "ok", operator: "user alice", target: "user alice" },
    ]);
  });

  test("has the subject as the name where the claim cannot be shown #sign-in-name", async () => {
    world.provider.users.set("eve", { groups: ["noc"], preferred_username: "root\u202e" });
    expect(await world.who(await world.signedIn("eve"))).toMatchObject({ name: "user sub:eve" });
  });

  test("and fits no line is refused, with the name in the audit trail #sign-in-roles", async () => {
    const visitor = new Visitor();
    expect(await failureOf(visitor, await world.callbackOf(visitor, "mallory"))).toBe(failed("no_role"));
    expect(await statusOf(visitor)).toBe(401);
    expect(world.audited).toMatchObject([
      { action: "sign_in", result: "rejected", operator: "", target: "user mallory" },
    ]);
    expect(await world.metric('svc_sign_ins_total{result="no_role"}')).toBe(1);
  });

  test("comes back to the place where the sign-in began", async () => {
    const visitor = new Visitor();
    const answer = await visitor.get(await world.callbackOf(visitor, "bob", "?place=/attacks/a1?q=x"));
    expect(answer.headers.get("location")).toBe(`${world.base}/#/attacks/a1?q=x`);
  });

  test("is signed out by signing out, and everywhere if the browser says so #sign-in-sessions", async () => {
    const [one, two, three] = [await world.signedIn("bob"), await world.signedIn("bob"), await world.signedIn("bob")];
    const out = async (visitor: Visitor, fields: object) => {
      const answer = await world.ask(visitor, "/api/v1/sign-out", { method: "POST", body: JSON.stringify(fields) });
      expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(/^floodwall-\d+=; .*Max-Age=0$/)]);
      return answer.json();
    };
    expect(await out(one, {})).toEqual({ ended: 1, provider_url: expect.stringContaining("/session/end?") });
    expect([await statusOf(one), await statusOf(two), await statusOf(three)]).toEqual([401, 200, 200]);
    expect(await out(two, { everywhere: true })).toMatchObject({ ended: 2 });
    expect([await statusOf(two), await statusOf(three)]).toEqual([401, 401]);
    expect(world.audited.filter(({ result }) => result === "cleared")).toHaveLength(3);
  });

  test("with a public client signs in by PKCE alone", async () => {
    await world.withClient("public", null);
    expect(await statusOf(await world.signedIn("bob"))).toBe(200);
  });
});

describe("a session", () => {
  test("is listed and ended by its user and by operators without a tenant, by no one else #sign-in-sessions", async () => {
    const [alice, bob, other] = [
      await world.signedIn("alice"),
      await world.signedIn("bob"),
      await world.signedIn("bob"),
    ];
    const seen = async (visitor: Visitor) =>
      (
        (await (await world.ask(visitor, "/api/v1/sign-ins")).json()) as {
          sessions: { id: string; name: string; current: boolean }[];
        }
      ).sessions;
    expect((await seen(bob)).map(({ name, current }) => [name, current])).toEqual([
      ["user bob", true],
      ["user bob", false],
    ]);
    const all = await seen(alice);
    expect(all.map(({ name }) => name)).toEqual(["user alice", "user bob", "user bob"]);
    const end = async (by: Visitor, id = "") =>
      (await world.ask(by, `/api/v1/sign-ins/${id}`, { method: "DELETE" })).status;
    expect(await end(bob, all[0]?.id)).toBe(404);
    expect(await end(alice, all[1]?.id)).toBe(204);
    expect([await statusOf(bob), await statusOf(other)]).toEqual([401, 200]);
    expect(await end(other, all[2]?.id)).toBe(204);
    expect(await statusOf(other)).toBe(401);
    const tokens = await fetch(`${world.base}/api/v1/sign-ins`, { headers: as("tenantOperator") });
    expect(await tokens.json()).toEqual({ sessions: [] });
  });

  test("ends at its time, and the cookie then counts for nothing #sign-in-sessions", async () => {
    const bob = await world.signedIn("bob");
    world.clock.advance(12 * 3_600_000 - 1);
    expect(await statusOf(bob)).toBe(200);
    world.clock.advance(1);
    await expectError(world.ask(bob, "/api/v1/session"), 401, "missing or invalid bearer token");
    expect(await world.metric('svc_browser_sessions_ended_total{reason="expired"}')).toBe(1);
  });

  test("follows a reload: another role, none any more, another length, another provider #sign-in-roles", async () => {
    const [alice, bob] = [await world.signedIn("alice"), await world.signedIn("bob")];
    world.configure({ roles: [{ claim: "groups", value: "noc", role: "viewer", tenant: "acme" }] });
    expect(await world.who(alice)).toMatchObject({ role: "viewer", tenant: "acme" });
    expect(await statusOf(bob)).toBe(401);
    world.configure({ roles: ROLES });
    expect([await statusOf(alice), await statusOf(bob)]).toEqual([200, 401]);
    world.clock.advance(3_600_000);
    world.configure({ sessionSeconds: 3600 });
    expect(await statusOf(alice)).toBe(401);
    const again = await world.signedIn("alice");
    world.configure({ clientId: "other" });
    expect(await statusOf(again)).toBe(401);
  });

  test("ends when the provider is taken out of the configuration", async () => {
    const bob = await world.signedIn("bob");
    world.configure(null);
    expect(await statusOf(bob)).toBe(401);
    expect(await (await fetch(`${world.base}/api/v1/sign-in`)).json()).toEqual({});
    expect((await fetch(`${world.base}/api/v1/sign-in/begin`)).status).toBe(404);
  });

  test("is one of eight of a user: the ninth ends the oldest #sign-in-sessions", async () => {
    const first = await world.signedIn("bob");
    for (let i = 1; i < SESSIONS_PER_USER; i++) await world.signedIn("bob");
    expect(await statusOf(first)).toBe(200);
    await world.signedIn("bob");
    expect(await statusOf(first)).toBe(401);
    expect(await world.metric("svc_browser_sessions")).toBe(SESSIONS_PER_USER);
  });
});

describe("a provider that is away", () => {
  test("keeps no one from a token or a session; new sign-ins say so until it is back #sign-in-provider-away", async () => {
    const bob = await world.signedIn("bob");
    await world.provider.stop();
    world.clock.advance(60_000);
    await world.isUnread();
    expect(world.faults).toMatchObject([{ key: "api.oidc.issuer" }]);
    const ways = async () => (await fetch(`${world.base}/api/v1/sign-in`)).json();
    const url = `${world.base}/api/v1/sign-in/begin`;
    expect(await ways()).toEqual({ provider: { name: "Example", url, available: false } });
    expect((await new Visitor().get(url)).headers.get("location")).toBe(failed("provider_away"));
    expect(await statusOf(bob)).toBe(200);
    expect((await fetch(`${world.base}/api/v1/session`, { headers: as("viewer") })).status).toBe(200);
    await world.provider.start();
    world.clock.advance(15_000);
    await world.isRead();
    expect(world.faults).toEqual([]);
    expect(await ways()).toMatchObject({ provider: { available: true } });
    expect(await statusOf(await world.signedIn("bob"))).toBe(200);
  });

  test("and leaves between the two steps of a sign-in ends that with the reason #sign-in-return", async () => {
    const visitor = new Visitor();
    const callback = await world.callbackOf(visitor, "bob");
    await world.provider.stop();
    expect(await failureOf(visitor, callback)).toBe(failed("provider_away"));
  });

  test("of another issuer is not used, and the configuration says what to write", async () => {
    world.configure({ issuer: `${world.provider.issuer}/` });
    await world.isUnread();
    expect(world.signIn.provider.error).toContain(`it names ${world.provider.issuer} as the issuer`);
  });

  test("does not know the client's secret: the log says so, and no one is signed in", async () => {
    await world.withClient(CLIENT.clientId, "wrong");
    const visitor = new Visitor();
    expect(await failureOf(visitor, await world.callbackOf(visitor, "bob"))).toBe(failed("invalid_answer"));
    expect(JSON.stringify(world.logged)).toContain("the provider refuses the client");
  });
});
