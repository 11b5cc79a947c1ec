/** Who may call, statement by statement (docs/interface.md#authentication), against the listener as it runs. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { parseConfig } from "../../src/config/load/load.ts";
import type { TokenConfig } from "../../src/config/sections/api.ts";
import { PAGE_TEXT } from "../fixtures/browser/dashboard-files.ts";
import { ban, configOf } from "../fixtures/browser/views.ts";
import {
  ACME_HOST,
  admitCallers,
  as,
  bearer,
  CALLERS,
  OTHER_HOST,
  OUTSIDE_HOST,
  secretOf,
  UNOWNED_HOST,
} from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";
import { RawHttp } from "../fixtures/http/raw-http.ts";

const UNAUTHORIZED = '{"error":"missing or invalid bearer token"}';

const PLAIN = "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

function token(changes: Partial<TokenConfig> = {}): TokenConfig {
  return { name: "noc", tokenEnv: "NOC", role: "operator", tenant: null, node: null, ...changes };
}

function status(headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${server.base}/api/v1/status`, { headers });
}

function command(path: string, headers: Readonly<Record<string, string>>, body: object = { ip: ACME_HOST }) {
  const type = { "content-type": "application/json" };
  return fetch(server.base + path, { method: "POST", headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

function problemsOf(api: string): string[] {
  const loaded = parseConfig(new TextEncoder().encode(PLAIN + api));
  return loaded.kind === "valid" ? [] : loaded.problems.map(({ path, rule }) => `${path.join(".")}: ${rule}`);
}

async function whole(answer: Response): Promise<object> {
  const headers = [...answer.headers].filter(([name]) => name !== "date");
  return { status: answer.status, headers, body: await answer.text() };
}

describe("open API:", () => {
  test("with no token configured the API is open, and everyone is an operator", async () => {
    const answer = await status();
    expect(await answer.json()).toMatchObject({ role: "operator", unscoped: true });
    expect((await command("/api/v1/ban", {})).status).toBe(200);
  });

  test("a credential changes nothing on an open API", async () => {
    expect(await (await status(bearer("anything"))).json()).toMatchObject({ role: "operator", unscoped: true });
  });

  test("on an open API the audit operator is empty", async () => {
    await command("/api/v1/ban", {});
    expect(server.audited).toMatchObject([{ operator: "", role: "operator", tenant: "" }]);
  });
});

test("token_env is exactly one operator token, of the name api", async () => {
  server.tokens = configOf(`${PLAIN}api: {token_env: NOC}`).api.tokens;
  server.secrets.set("NOC", "n0c");
  expect((await status()).status).toBe(401);
  expect(await (await status(bearer("n0c"))).json()).toMatchObject({ role: "operator", unscoped: true });
  await command("/api/v1/ban", bearer("n0c"));
  expect(server.audited).toMatchObject([{ operator: "api" }]);
});

describe("token entries:", () => {
  test.each(["name", "token_env", "role"])("%s is required of each entry", (key) => {
    const entry = ["name: a", "token_env: A", "role: viewer"].filter((part) => !part.startsWith(`${key}:`));
    expect(problemsOf(`api: {tokens: [{${entry.join()}}]}`)).toEqual([
      expect.stringContaining(`api.tokens.0.${key}: is required`),
    ]);
  });
});

test("token_env or tokens: they exclude each other", () => {
  expect(problemsOf("api: {token_env: A, tokens: [{name: a, token_env: A, role: viewer}]}")).toEqual([
    "api.token_env: goes without tokens: make it an entry of api.tokens, or remove those",
  ]);
});

describe("secret rotation:", () => {
  beforeEach(() => {
    server.tokens = [token()];
    server.secrets.set("NOC", "first");
  });

  test("a rotated secret holds with the next request, and the old one no more", async () => {
    expect((await status(bearer("first"))).status).toBe(200);
    server.secrets.set("NOC", "second");
    expect((await status(bearer("first"))).status).toBe(401);
    expect((await status(bearer("second"))).status).toBe(200);
  });

  test("entries come and go with the configuration in force", async () => {
    server.tokens = [token({ name: "web", tokenEnv: "WEB", role: "viewer" })];
    server.secrets.set("WEB", "web");
    expect((await status(bearer("first"))).status).toBe(401);
    expect(await (await status(bearer("web"))).json()).toMatchObject({ role: "viewer" });
  });

  test.each([undefined, ""])("a variable that is %p matches nothing, and closes the API", async (value) => {
    if (value === undefined) server.secrets.delete("NOC");
    else server.secrets.set("NOC", value);
    for (const authorization of ["", "Bearer", "Bearer ", "Bearer undefined", "Bearer null", 'Bearer ""']) {
      expect((await status({ authorization })).status).toBe(401);
    }
    expect((await status()).status).toBe(401);
  });
});

describe("bearer header:", () => {
  beforeEach(() => {
    server.tokens = [token()];
    server.secrets.set("NOC", "s3cr3t");
  });

  test.each(["Bearer s3cr3t", "bearer s3cr3t", "BEARER s3cr3t", "bEaReR   s3cr3t"])(
    "%p is taken",
    async (authorization) => {
      expect((await status({ authorization })).status).toBe(200);
    },
  );

  test("every other credential gets the same answer, to the byte", async () => {
    const expected = await whole(await status());
    expect(expected).toMatchObject({ status: 401, body: UNAUTHORIZED });
    const credentials = ["s3cr3t", "Bearers3cr3t", "Basic czNjcjN0", "Token s3cr3t", "Bearer", "Bearer s3cr3"];
    const more = ["t", " s3cr3t", ", Bearer s3cr3t", ","].map((end) => `Bearer s3cr3t${end}`);
    const others = ["Bearer S3CR3T", 'Bearer "s3cr3t"', "Bearer\ts3cr3t"];
    const refused: Record<string, string>[] = [...credentials, ...more, ...others].map((text) => ({
      authorization: text,
    }));
    refused.push({ cookie: "token=s3cr3t" }, { "x-api-key": "s3cr3t" }, { "proxy-authorization": "Bearer s3cr3t" });
    for (const headers of refused) {
      expect({ headers, answer: await whole(await status(headers)) }).toEqual({ headers, answer: expected });
    }
    for (const query of ["?token=s3cr3t", "?access_token=s3cr3t", "?authorization=Bearer%20s3cr3t"]) {
      expect(await whole(await fetch(`${server.base}/api/v1/status${query}`))).toEqual(expected);
    }
  });

  test("a second header is a second credential: refused, in whatever order", async () => {
    for (const [first, second] of [
      ["s3cr3t", "s3cr3t"],
      ["s3cr3t", "x"],
      ["x", "s3cr3t"],
    ]) {
      const client = await RawHttp.connect(server.port);
      await client.write(
        `GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${first}\r\nAuthorization: Bearer ${second}\r\n\r\n`,
      );
      expect(await client.answer()).toEqual({ status: 401, body: UNAUTHORIZED });
      client.close();
    }
  });

  test("a 401 says which scheme is wanted, and is kept by no cache", async () => {
    const { headers } = await status();
    expect([headers.get("www-authenticate"), headers.get("cache-control")]).toEqual(["Bearer", "no-store"]);
  });
});

describe("ambiguous secret:", () => {
  /** Of tokens a, b and so on, which have it in common. */
  function shareSecret(...tokens: readonly Partial<TokenConfig>[]): void {
    server.tokens = tokens.map((changes, i) => token({ name: "abc".charAt(i), tokenEnv: "ABC".charAt(i), ...changes }));
    for (const { tokenEnv } of server.tokens) server.secrets.set(tokenEnv, "same");
  }
  const VIEWER = { role: "viewer" } as const;

  test.each<[string, Partial<TokenConfig>, Partial<TokenConfig>]>([
    ["role", VIEWER, { role: "operator" }],
    ["tenant", { tenant: "acme" }, { tenant: "other" }],
    ["tenant, where one has none", { tenant: "acme" }, { tenant: null }],
    ["node", { role: "agent", node: "fra1" }, { role: "agent", node: "ams1" }],
    ["node, where one has none", { role: "agent", node: "fra1" }, { role: "agent" }],
  ])("one secret of tokens that differ in %s is refused with 401 and logged", async (_, first, second) => {
    shareSecret(first, second);
    for (let i = 0; i < 3; i++) {
      const answer = await status(bearer("same"));
      expect([answer.status, await answer.text()]).toEqual([401, UNAUTHORIZED]);
    }
    expect(server.logged).toEqual([{ token_names: ["a", "b"], suppressed: 0 }]);
    expect(JSON.stringify(server.logged)).not.toContain("same");
  });

  test("it is judged anew for each request, and touches no other secret", async () => {
    shareSecret({}, VIEWER, {});
    server.secrets.set("C", "own");
    expect([(await status(bearer("same"))).status, (await status(bearer("own"))).status]).toEqual([401, 200]);
    server.secrets.set("B", "different");
    expect((await status(bearer("same"))).status).toBe(200);
  });

  test("equal secrets of equal rights are fine: the first entry's name is the operator", async () => {
    shareSecret({}, {});
    expect((await command("/api/v1/ban", bearer("same"))).status).toBe(200);
    expect(server.audited).toMatchObject([{ operator: "a" }]);
  });
});

test("refused credentials: no token and an unknown one are 401, too little rank is 403", async () => {
  admitCallers(server);
  for (const [headers, refusal] of [
    [{}, 401],
    [bearer("unknown"), 401],
    [as("viewer"), 403],
  ] as const) {
    expect((await command("/api/v1/ban", headers)).status).toBe(refusal);
  }
  expect(server.backend.calls).toEqual([]);
});

test("open without a token: the dashboard's shell is the same for everyone, whatever the token", async () => {
  server.tokens = [token()];
  const shells = [];
  for (const headers of [{}, bearer("wrong"), bearer("right")]) {
    const answer = await fetch(`${server.base}/`, { headers });
    shells.push([answer.status, answer.headers.get("content-type"), await answer.text()]);
  }
  expect(shells).toEqual(Array.from({ length: 3 }, () => [200, "text/html; charset=utf-8", PAGE_TEXT]));
});

describe("roles and tenants:", () => {
  beforeEach(() => admitCallers(server));

  test.each(["/api/v1/ban", "/api/v1/unban"])(
    "%s of any other target is one uniform 403, banned or not",
    async (path) => {
      server.backend.onUnban = (target) => ({ ban: ban({ target, state: "withdrawn" }), routeState: null });
      const answers = [];
      for (const ip of [OTHER_HOST, UNOWNED_HOST, OUTSIDE_HOST, "2001:db8::1"]) {
        answers.push(await whole(await command(path, as("tenantOperator"), { ip })));
      }
      expect(answers[0]).toMatchObject({ status: 403, body: '{"error":"target is outside your tenant"}' });
      for (const answer of answers) expect(answer).toEqual(answers[0] as object);
      expect(server.backend.calls).toEqual([]);
    },
  );

  test("the name of the token is the operator of what it ordered", async () => {
    await command("/api/v1/ban", as("operator"));
    await command("/api/v1/ban", as("tenantOperator"));
    expect(server.audited).toMatchObject([
      { operator: "operator", tenant: "" },
      { operator: "acme-operator", tenant: "acme" },
    ]);
  });

  test("no answer, no log line and no row holds a secret", async () => {
    server.backend.fault = new Error("told in the log");
    const texts = [];
    for (const caller of ["viewer", "operator", "agent", "tenantOperator"] as const) {
      const answer = await command("/api/v1/ban", as(caller));
      texts.push(await answer.text(), JSON.stringify([...answer.headers]));
    }
    const seen = [...texts, JSON.stringify(server.logged), JSON.stringify(server.audited)].join();
    for (const caller of Object.values(CALLERS)) expect(seen).not.toContain(secretOf(caller));
  });
});
