/** The same sign-in by Debian's Glewlwyd, a server of another project in another language (docs/interface.md#sign-in). */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { CALLBACK_PATH } from "../../src/access/sign-in-config.ts";
import { itemLine } from "../../src/machine/item.ts";
import { lookAtProvider } from "../../src/oidc/provider-check.ts";
import { Glewlwyd, PASSWORD, USER_SCOPES } from "../fixtures/sign-in/glewlwyd.ts";
import { LdapDirectory } from "../fixtures/sign-in/ldap-directory.ts";
import { CLIENT, SignInWorld } from "../fixtures/sign-in/sign-in-world.ts";
import type { TestClient } from "../fixtures/sign-in/test-provider.ts";
import { Visitor } from "../fixtures/sign-in/visitor.ts";

let world: SignInWorld;
let client: TestClient;
let glewlwyd: Glewlwyd;

beforeAll(async () => {
  world = await SignInWorld.start();
  client = { ...CLIENT, redirectUri: world.base + CALLBACK_PATH };
  glewlwyd = await Glewlwyd.start(client, { alice: ["noc", "staff"], mallory: ["staff"] });
  world.configure({ issuer: glewlwyd.issuer, scopes: ["openid", "profile"], nameClaim: "name" });
  await world.isRead();
}, 60_000);
afterAll(async () => {
  await glewlwyd?.stop();
  await world.stop();
});

async function endOf(visitor: Visitor, user: string): Promise<string | null> {
  const url = (await visitor.get(`${world.base}/api/v1/sign-in/begin`)).headers.get("location") ?? "";
  const callback = await glewlwyd.answerTo(url, user, client);
  return (await visitor.get(callback)).headers.get("location");
}

test("a user signs in with a role by the groups that its userinfo has #sign-in-roles", async () => {
  const alice = new Visitor();
  expect(await endOf(alice, "alice")).toBe(`${world.base}/#/`);
  expect(await world.who(alice)).toMatchObject({ name: "user alice", role: "operator", unscoped: true });
});

test("a user of no such group does not #sign-in-roles", async () => {
  expect(await endOf(new Visitor(), "mallory")).toBe(`${world.base}/#/?sign_in=no_role`);
});

test("the check finds that it takes client, secret and redirect URI, and a wrong secret", async () => {
  const { config } = world.signIn.signIn;
  if (config === null) throw new Error("it is configured");
  const levels = async (secret: string) =>
    (await lookAtProvider(config, secret)).map(itemLine).map((line) => line.split(" ")[0]);
  expect(await levels(CLIENT.secret)).toEqual(["ok", "ok", "ok"]);
  expect(await levels("wrong")).toEqual(["ok", "ok", "error"]);
});

test("a user of an LDAP directory behind the provider signs in, by the groups that the directory has #sign-in-roles", async () => {
  const person = (name: string, ...groups: string[]) => ({ name, groups, scopes: USER_SCOPES });
  const directory = await LdapDirectory.start(PASSWORD, [person("carol", "noc", "staff"), person("dave", "staff")]);
  const before = glewlwyd;
  try {
    glewlwyd = await Glewlwyd.start(client, directory);
    world.configure({ issuer: glewlwyd.issuer });
    await world.isRead();
    const carol = new Visitor();
    expect(await endOf(carol, "carol")).toBe(`${world.base}/#/`);
    expect(await world.who(carol)).toMatchObject({ name: "user carol", role: "operator", unscoped: true });
    expect(await endOf(new Visitor(), "dave")).toBe(`${world.base}/#/?sign_in=no_role`);
    const refused = await endOf(new Visitor(), "alice").catch((cause: unknown) => String(cause));
    expect(refused).toContain("POST /auth/: 401");
  } finally {
    if (glewlwyd !== before) await glewlwyd.stop();
    glewlwyd = before;
    world.configure({ issuer: before.issuer });
    await world.isRead();
    await directory.stop();
  }
});
