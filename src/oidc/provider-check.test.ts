import { afterAll, beforeAll, expect, test } from "bun:test";
import { FalseProvider } from "../../test/fixtures/sign-in/false-provider.ts";
import { TestProvider } from "../../test/fixtures/sign-in/test-provider.ts";
import { redirectUri, type SignInConfig } from "../access/sign-in-config.ts";
import { itemLine } from "../machine/item.ts";
import { lookAtProvider } from "./provider-check.ts";

const SECRET = "secret-of-floodwall";
let provider: TestProvider;
let config: SignInConfig;

beforeAll(async () => {
  const publicUrl = "https://floodwall.example.net";
  provider = new TestProvider(
    { clientId: "floodwall", secret: SECRET, redirectUri: redirectUri({ publicUrl }) },
    { clientId: "public", secret: null, redirectUri: redirectUri({ publicUrl }) },
  );
  await provider.start();
  config = {
    issuer: provider.issuer,
    clientId: "floodwall",
    clientSecretEnv: "SECRET",
    publicUrl,
    label: "Example",
    scopes: ["openid", "groups"],
    nameClaim: "sub",
    roles: [],
    sessionSeconds: 3600,
  };
});
afterAll(() => provider.stop());

async function lines(changes: Partial<SignInConfig>, secret: string | null = SECRET): Promise<string[]> {
  return (await lookAtProvider({ ...config, ...changes }, secret)).map(itemLine);
}

const URI = "https://floodwall.example.net/api/v1/sign-in/callback";

test("a provider that takes client, secret and redirect URI is all right, also a public client's", async () => {
  const about = `ok       identity provider ${provider.issuer}:`;
  const whole = (client: string) => [
    `${about} its document can be read`,
    `${about} it takes the redirect URI ${URI}`,
    `${about} it takes the client ${client}`,
  ];
  expect(await lines({})).toEqual(whole("floodwall"));
  expect(await lines({ clientId: "public", clientSecretEnv: null }, null)).toEqual(whole("public"));
});

test("a wrong secret, redirect URI, client, scope or issuer is named, with what to do", async () => {
  const errors = async (changes: Partial<SignInConfig>, secret = SECRET) =>
    (await lines(changes, secret)).filter((line) => line.startsWith("error"));
  const about = `error    identity provider ${provider.issuer}:`;
  expect(await errors({}, "wrong")).toEqual([
    `${about} it does not take the client floodwall: the provider refuses the client: see client_id and its secret: compare client_id and the secret in SECRET`,
  ]);
  expect(await errors({ publicUrl: "https://other.example.net" })).toEqual([
    `${about} it answers 400 in place of its sign-in page: register https://other.example.net/api/v1/sign-in/callback as a redirect URI of floodwall there`,
  ]);
  expect((await errors({ clientId: "nobody" })).length).toBe(2);
  const closed = `${provider.issuer.replace("localhost", "127.0.0.1")}`;
  expect(await errors({ issuer: closed })).toEqual([expect.stringContaining("its document cannot be used")]);
  expect(await errors({ issuer: "http://127.0.0.1:1" })).toEqual([
    expect.stringContaining("its document cannot be used"),
  ]);
});

test("a provider that gives tokens for any code is warned of", async () => {
  const careless = new FalseProvider({});
  await careless.start();
  try {
    const found = await lines({ issuer: careless.issuer });
    expect(found.filter((line) => !line.startsWith("ok")).length).toBeGreaterThan(0);
  } finally {
    await careless.stop();
  }
});
