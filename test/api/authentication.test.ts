/** Who may call, statement by statement (docs/interface.md#authentication), against the listener as it runs. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { TokenConfig } from "../../src/access/token-config.ts";
import { parseConfig } from "../../src/config/load/load.ts";
import { PAGE_TEXT } from "../fixtures/browser/dashboard-files.ts";
import { configOf } from "../fixtures/config/parsed-config.ts";
import * as callers from "../fixtures/http/callers.ts";
import { expectError, TestServer } from "../fixtures/http/http.ts";
import { RawHttp } from "../fixtures/http/raw-http.ts";
import { ban } from "../fixtures/views.ts";

const { ACME_HOST, as, bearer } = callers;
const UNAUTHORIZED = '{"error":"missing or invalid bearer token"}';
const OPERATOR = { role: "operator", unscoped: true };
const PLAIN = "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

/** Of the tokens' variables by their names, where `undefined` is not set. */
function admit(
  secrets: Readonly<Record<string, string | undefined>>,
  ...tokens: readonly Partial<TokenConfig>[]
): void {
  const names = Object.keys(secrets);
  server.tokens = names.map((name, i) => ({
    ...{ name, tokenEnv: name, role: "operator", tenant: null, node: null },
    ...tokens[i],
  }));
  server.secrets.clear();
  for (const [name, secret] of Object.entries(secrets)) if (secret !== undefined) server.secrets.set(name, secret);
}

type Headers = Readonly<Record<string, string>>;
const status = (headers: Headers = {}, query = "") => fetch(`${server.base}/api/v1/status${query}`, { headers });
const codeFor = async (secret: string) => (await status(bearer(secret))).status;
const read = async (headers?: Headers) => (await status(headers)).json();

function command(path: string, headers: Headers, body: object = { ip: ACME_HOST }): Promise<Response> {
  const all = { "content-type": "application/json", ...headers };
  return fetch(`${server.base}/api/v1/${path}`, { method: "POST", headers: all, body: JSON.stringify(body) });
}

async function whole(answer: Response): Promise<object> {
  const headers = [...answer.headers].filter(([name]) => name !== "date");
  return { status: answer.status, headers, body: await answer.text() };
}

test("with no token configured everyone is an operator without a name, whatever credential comes #open-api", async () => {
  for (const headers of [{}, bearer("anything")]) expect(await read(headers)).toMatchObject(OPERATOR);
  expect((await command("ban", {})).status).toBe(200);
  expect(server.audited).toMatchObject([{ operator: "", role: "operator", tenant: "" }]);
});

test("token_env is exactly one operator token, of the name api #token-env", async () => {
  server.tokens = configOf(`${PLAIN}api: {token_env: NOC}`).api.tokens;
  server.secrets.set("NOC", "n0c");
  expect((await status()).status).toBe(401);
  expect(await read(bearer("n0c"))).toMatchObject(OPERATOR);
  await command("ban", bearer("n0c"));
  expect(server.audited).toMatchObject([{ operator: "api" }]);
});

const ENTRY = { name: "a", token_env: "A", role: "viewer" };
test.each<[string, string, object, string]>([
  [
    "token_env or tokens: they",
    "exclude each other",
    { token_env: "A", tokens: [ENTRY] },
    "token_env: goes without tokens: make it an entry of api.tokens, or remove those",
  ],
  ["token entries:", "a name is required", { tokens: [{ ...ENTRY, name: undefined }] }, "tokens.0.name: is required"],
  [
    "token entries:",
    "a variable is required",
    { tokens: [{ ...ENTRY, token_env: undefined }] },
    "tokens.0.token_env: is required",
  ],
  ["token entries:", "a role is required", { tokens: [{ ...ENTRY, role: undefined }] }, "tokens.0.role: is required"],
])("%s %s #token-env-or-tokens #token-entries", (_, __, api, problem) => {
  const loaded = parseConfig(new TextEncoder().encode(`${PLAIN}api: ${JSON.stringify(api)}`));
  const problems = loaded.kind === "valid" ? [] : loaded.problems.map(({ path, rule }) => `${path.join(".")}: ${rule}`);
  expect(problems).toEqual([expect.stringContaining(`api.${problem}`)]);
});

describe("secret rotation #secret-rotation", () => {
  test("a rotated secret holds with the next request, and the old one no more; so with the entries in force", async () => {
    admit({ NOC: "first" });
    expect(await codeFor("first")).toBe(200);
    server.secrets.set("NOC", "second");
    expect([await codeFor("first"), await codeFor("second")]).toEqual([401, 200]);
    admit({ WEB: "web" }, { role: "viewer" });
    expect(await codeFor("second")).toBe(401);
    expect(await read(bearer("web"))).toMatchObject({ role: "viewer" });
  });

  test.each([undefined, ""])("a variable that is %p matches nothing, and closes the API", async (value) => {
    admit({ NOC: value });
    for (const authorization of ["", "Bearer", "Bearer ", "Bearer undefined", "Bearer null", 'Bearer ""'])
      expect((await status({ authorization })).status).toBe(401);
    expect((await status()).status).toBe(401);
  });
});

describe("bearer header #bearer-header", () => {
  beforeEach(() => admit({ NOC: "s3cr3t" }));

  test.each(["Bearer", "bearer", "BEARER", "bEaReR  "])("the scheme may be written %p", async (scheme) => {
    expect((await status({ authorization: `${scheme} s3cr3t` })).status).toBe(200);
  });

  const BEGINNINGS = ["s3cr3t", "Bearers3cr3t", "Basic czNjcjN0", "Token s3cr3t", "Bearer", "Bearer s3cr3"];
  const ENDS = ["t", " s3cr3t", ", Bearer s3cr3t", ","].map((end) => `Bearer s3cr3t${end}`);
  const SPELLINGS = ["Bearer S3CR3T", 'Bearer "s3cr3t"', "Bearer\ts3cr3t"];
  test("every other credential gets the same answer, to the byte", async () => {
    const expected = await whole(await status());
    expect(expected).toMatchObject({ status: 401, body: UNAUTHORIZED });
    const elsewhere: Headers[] = [
      { cookie: "token=s3cr3t" },
      { "x-api-key": "s3cr3t" },
      { "proxy-authorization": "Bearer s3cr3t" },
    ];
    const refused: Headers[] = [...BEGINNINGS, ...ENDS, ...SPELLINGS].map((text) => ({ authorization: text }));
    for (const headers of [...refused, ...elsewhere])
      expect({ headers, answer: await whole(await status(headers)) }).toEqual({ headers, answer: expected });
    for (const query of ["?token=s3cr3t", "?access_token=s3cr3t", "?authorization=Bearer%20s3cr3t"])
      expect(await whole(await status({}, query))).toEqual(expected);
  });

  test.each([
    ["s3cr3t", "s3cr3t"],
    ["s3cr3t", "x"],
    ["x", "s3cr3t"],
  ])("a second header is a second credential: %s and %s are refused", async (first, second) => {
    const client = await RawHttp.connect(server.port);
    const headers = [first, second].map((secret) => `Authorization: Bearer ${secret}\r\n`).join("");
    await client.write(`GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    expect(await client.answer()).toEqual({ status: 401, body: UNAUTHORIZED });
    client.close();
  });

  test("a 401 says which scheme is wanted, and is kept by no cache", async () => {
    const { headers } = await status();
    expect([headers.get("www-authenticate"), headers.get("cache-control")]).toEqual(["Bearer", "no-store"]);
  });
});

describe("ambiguous secret #ambiguous-secret", () => {
  test.each<[string, Partial<TokenConfig>, Partial<TokenConfig>]>([
    ["role", { role: "viewer" }, { role: "operator" }],
    ["tenant", { tenant: "acme" }, { tenant: "other" }],
    ["tenant, where one has none", { tenant: "acme" }, { tenant: null }],
    ["node", { role: "agent", node: "fra1" }, { role: "agent", node: "ams1" }],
    ["node, where one has none", { role: "agent", node: "fra1" }, { role: "agent" }],
  ])("one secret of tokens that differ in %s is refused with 401 and logged", async (_, first, second) => {
    admit({ a: "same", b: "same" }, first, second);
    for (let i = 0; i < 3; i++) await expectError(status(bearer("same")), 401, "missing or invalid bearer token");
    expect(server.logged).toEqual([{ token_names: ["a", "b"], suppressed: 0 }]);
  });

  test("it is judged again for each request, and touches no other secret", async () => {
    admit({ a: "same", b: "same", c: "own" }, {}, { role: "viewer" });
    expect([await codeFor("same"), await codeFor("own")]).toEqual([401, 200]);
    server.secrets.set("b", "different");
    expect(await codeFor("same")).toBe(200);
  });

  test("equal secrets of equal rights are fine: the first entry's name is the operator", async () => {
    admit({ a: "same", b: "same" });
    expect((await command("ban", bearer("same"))).status).toBe(200);
    expect(server.audited).toMatchObject([{ operator: "a" }]);
  });
});

test("no token and an unknown one are 401, too little rank is 403 #refused-credentials #error-401", async () => {
  callers.admitCallers(server);
  const codes = [{}, bearer("unknown"), as("viewer")].map(async (headers) => (await command("ban", headers)).status);
  expect([await Promise.all(codes), server.backend.calls]).toEqual([[401, 401, 403], []]);
});

test("the dashboard's shell is the same for everyone, whatever the token #open-without-a-token", async () => {
  admit({ NOC: "right" });
  for (const headers of [{}, bearer("wrong"), bearer("right")]) {
    const answer = await fetch(`${server.base}/`, { headers });
    const shown = [answer.status, answer.headers.get("content-type"), await answer.text()];
    expect(shown).toEqual([200, "text/html; charset=utf-8", PAGE_TEXT]);
  }
});

describe("roles and tenants #roles-and-tenants", () => {
  beforeEach(() => callers.admitCallers(server));

  test.each(["ban", "unban"])("%s of any other target is one uniform 403, banned or not #error-403", async (path) => {
    server.backend.onUnban = (target) => ({ ban: ban({ target, state: "withdrawn" }), routeState: null });
    const ask = async (ip: string) => whole(await command(path, as("tenantOperator"), { ip }));
    const first = await ask(callers.OTHER_HOST);
    expect(first).toMatchObject({ status: 403, body: '{"error":"target is outside your tenant"}' });
    for (const ip of [callers.UNOWNED_HOST, callers.OUTSIDE_HOST, "2001:db8::1"]) expect(await ask(ip)).toEqual(first);
    expect(server.backend.calls).toEqual([]);
  });

  test("no answer, no log line and no row holds a secret", async () => {
    server.backend.fault = new Error("for the log alone");
    const seen: unknown[] = [];
    for (const caller of ["viewer", "operator", "agent", "tenantOperator"] as const)
      seen.push(await whole(await command("ban", as(caller))));
    const text = JSON.stringify([seen, server.logged, server.audited]);
    for (const caller of Object.values(callers.CALLERS)) expect(text).not.toContain(callers.secretOf(caller));
  });
});
