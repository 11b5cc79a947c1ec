/** Who is signed in stays so over kill -9, and who is signed out too: the running service, its disk and a real provider. */
import { expect, test } from "bun:test";
import { CALLBACK_PATH } from "../../src/access/sign-in-config.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, freePort } from "../fixtures/service.ts";
import { TestProvider } from "../fixtures/sign-in/test-provider.ts";
import { Visitor } from "../fixtures/sign-in/visitor.ts";

const CONFIG = "networks: [192.0.2.0/24]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}\n";

const scene = new Scenario();

test("kill -9 signs no one out, brings no one back, and a role that was taken meanwhile is gone #sign-in-sessions", async () => {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const provider = new TestProvider({ clientId: "floodwall", secret: "client", redirectUri: base + CALLBACK_PATH });
  scene.onEnd(() => provider.stop());
  for (const [name, group] of Object.entries({ alice: "noc", bob: "noc", carol: "desk" }))
    provider.users.set(name, { groups: [group] });
  await provider.start();
  const api = (
    roles: string,
  ) => `tokens: [{ name: t, token_env: T, role: viewer }], oidc: { issuer: "${provider.issuer}",
    client_id: floodwall, client_secret_env: OIDC, public_url: "${base}", scopes: [openid, profile, groups], roles: [${roles}] }`;
  const noc = "{ value: noc, role: operator }";
  const start = (roles: string) => scene.start(CONFIG, { port, api: api(roles), env: { T: "token", OIDC: "client" } });
  const isProviderKnown = async () => {
    const said = (await (await fetch(`${base}/api/v1/sign-in`)).json()) as { provider: { available: boolean } };
    return said.provider.available;
  };
  const signedIn = async (user: string) => {
    const visitor = new Visitor();
    const callback = await visitor.toCallback(`${base}/api/v1/sign-in/begin`, user, (url) =>
      url.startsWith(base + CALLBACK_PATH),
    );
    expect((await visitor.get(callback)).headers.get("location")).toBe(`${base}/#/`);
    return visitor;
  };
  const headers = { origin: base, "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const who = async (visitor: Visitor) => {
    const answer = await visitor.get(`${base}/api/v1/session`, headers);
    return answer.status === 200 ? ((await answer.json()) as { role: string }).role : answer.status;
  };
  const first = await start(`${noc}, { value: desk, role: viewer }`);
  await eventually(isProviderKnown, "the provider is not known");
  const [alice, bob, carol] = [await signedIn("alice"), await signedIn("bob"), await signedIn("carol")];
  expect(await who(carol)).toBe("viewer");
  const secret = alice.cookieText(base);
  const stolen = new Visitor();
  for (const [host, cookies] of bob.cookies) stolen.cookies.set(host, new Map(cookies));
  expect((await bob.send(`${base}/api/v1/sign-out`, { method: "POST", headers, body: "{}" })).status).toBe(200);
  await first.stop("SIGKILL");
  await start(noc);
  expect([await who(alice), await who(bob), await who(stolen), await who(carol)]).toEqual(["operator", 401, 401, 401]);
  // The browser has a new secret, of which the one on disk before is no part.
  expect(alice.cookieText(base)).not.toBe(secret);
});
