/** Every status that a route can answer with (docs/interface.md#errors), and the form of each, over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { HistoryFault, ServiceFault } from "../../src/http/backend.ts";
import { BODY_BYTES_MAX } from "../../src/limits.ts";
import { BLOCK_REFUSALS } from "../../src/sourceblock/admission.ts";
import { ban } from "../fixtures/browser/views.ts";
import {
  ACME_HOST,
  admitCallers,
  as,
  bearer,
  CALLERS,
  OTHER_HOST,
  OUTSIDE_HOST,
  secretOf,
} from "../fixtures/http/callers.ts";
import { TestServer } from "../fixtures/http/http.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const get = (path: string, headers: Record<string, string> = as("viewer")) => fetch(server.base + path, { headers });
const post = (path: string, body: string, headers: Record<string, string> = as("operator")) =>
  fetch(server.base + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });

async function expectError(answer: Response, status: number, error?: string): Promise<void> {
  const body: unknown = await answer.json();
  expect([answer.status, body]).toEqual([status, { error: error ?? expect.stringMatching(/./) }]);
  expect(answer.headers.get("content-type")).toBe("application/json");
}

describe("error 400", () => {
  test("for an invalid IP", async () => {
    await expectError(await post("/api/v1/ban", '{"ip":"1.2.3"}'), 400, "invalid ip: 1.2.3");
  });

  test("for invalid JSON", async () => {
    await expectError(await post("/api/v1/ban", '{"ip"'), 400);
    await expectError(await post("/api/v1/ban", ""), 400, "invalid JSON body: empty");
  });

  test("for an invalid configuration at reload, with the error", async () => {
    server.service.reloadOutcome = { kind: "invalid", problems: ["floodwall.yaml:3: networks: required"] };
    await expectError(await post("/api/v1/config/reload", ""), 400, "floodwall.yaml:3: networks: required");
  });

  test.each([
    "/api/v1/audit?from=nonsense",
    "/api/v1/audit?action=nonsense",
    `/api/v1/traffic?key=${ACME_HOST}&step=-1`,
    "/api/v1/hosts?limit=-1",
  ])("for a bad range, step or filter: %s", async (path) => {
    await expectError(await get(path), 400);
  });

  test("for an escape that is broken or not UTF-8", async () => {
    for (const path of ["/api/v1/hosts?q=%ff", "/api/v1/hosts?q=%", "/api/v1/attacks/%ff"]) {
      await expectError(await get(path), 400, "invalid URL: an escape is broken or not UTF-8");
    }
  });
});

describe("error 401", () => {
  test("without a token, and with an unknown one", async () => {
    for (const headers of [{}, bearer("unknown")]) {
      await expectError(await get("/api/v1/status", headers), 401, "missing or invalid bearer token");
    }
  });

  test("for a secret that is that of tokens with different rights", async () => {
    server.secrets.set("ACME_VIEWER", secretOf(CALLERS.viewer));
    await expectError(await get("/api/v1/status"), 401, "missing or invalid bearer token");
  });
});

describe("error 403", () => {
  test("for too little role", async () => {
    const error = "this token's role may not perform this action";
    await expectError(await post("/api/v1/ban", `{"ip":"${ACME_HOST}"}`, as("viewer")), 403, error);
    await expectError(await get("/api/v1/status", as("agent")), 403, error);
  });

  test("for a reload with a tenant's token", async () => {
    await expectError(
      await post("/api/v1/config/reload", "", as("tenantOperator")),
      403,
      "restricted to unscoped tokens",
    );
  });

  test("for a target outside of the tenant", async () => {
    const answer = await post("/api/v1/ban", `{"ip":"${OTHER_HOST}"}`, as("tenantOperator"));
    await expectError(answer, 403, "target is outside your tenant");
  });
});

describe("error 404", () => {
  test("without an active ban to unban", async () => {
    const answer = await post("/api/v1/unban", `{"ip":"${ACME_HOST}"}`);
    await expectError(answer, 404, `no active ban for ${ACME_HOST}`);
  });

  test("for a path or a method that there is not", async () => {
    await expectError(await get("/api/v1/nothing"), 404, "not found");
    await expectError(await post("/api/v1/status", "{}"), 404, "not found");
  });

  test("for an attack that there is not", async () => {
    await expectError(await get("/api/v1/attacks/none"), 404, "unknown attack");
  });
});

test.each(["whitelisted", "outside configured networks", "max_active_bans reached"])(
  "error 409 for a ban that is refused as %s, with a ban as its body",
  async (reason) => {
    server.service.onBan = (target) => ({ ban: ban({ target, state: "rejected", reason }), routeState: null });
    const answer = await post("/api/v1/ban", `{"ip":"${ACME_HOST}"}`);
    expect([answer.status, await answer.json()]).toMatchObject([409, { target: ACME_HOST, state: "rejected", reason }]);
  },
);

describe("errors of source blocks:", () => {
  const pair = { source: OUTSIDE_HOST, victim: ACME_HOST };
  const order = (path: string, fields: object) => post(`/api/v1/dataplane/sources${path}`, JSON.stringify(fields));

  test("400 is for bad input", async () => {
    await expectError(await order("", { ...pair, ttl_seconds: 0 }), 400);
  });

  test("404 is for an unblock without a live block", async () => {
    await expectError(await order("/unblock", pair), 404, "no such source block");
  });

  test.each(BLOCK_REFUSALS)("409 is for a refusal: %s", async (refusal) => {
    server.service.onBlockSource = () => ({ kind: "refused", refusal });
    await expectError(await order("", { ...pair, ttl_seconds: 60 }), 409);
  });

  test("503 is for one that could not be kept or installed", async () => {
    server.service.fault = new ServiceFault("the kernel did not take the block");
    await expectError(await order("", { ...pair, ttl_seconds: 60 }), 503, "the kernel did not take the block");
  });
});

test("error 413 for a body that is too large", async () => {
  await expectError(await post("/api/v1/ban", "x".repeat(BODY_BYTES_MAX + 1)), 413, "request body exceeds 64 KiB");
});

test("error 415 for a POST without the JSON content type", async () => {
  const answer = await post("/api/v1/ban", "{}", { ...as("operator"), "content-type": "text/plain" });
  await expectError(answer, 415, "Content-Type must be application/json");
});

test.each([`/api/v1/traffic?key=${ACME_HOST}`, "/api/v1/audit"])(
  "error 502 for a history that fails: %s",
  async (path) => {
    const fail = () => {
      throw new HistoryFault("SQLITE_CORRUPT: /var/lib/floodwall/history.db");
    };
    server.service.onTraffic = fail;
    server.service.onAudit = fail;
    await expectError(await get(path), 502, "the history cannot be read");
  },
);

describe("error 503", () => {
  test("of the health probe before the start is complete", async () => {
    server.service.ready = false;
    const answer = await fetch(`${server.base}/healthz`);
    expect([answer.status, await answer.text()]).toEqual([503, "starting"]);
  });

  test("of all that is asked before, once the caller may ask it", async () => {
    server.service.ready = false;
    await expectError(await get("/api/v1/status"), 503, "the service is starting");
    await expectError(await get("/api/v1/status", {}), 401);
  });

  test("of a command that could not be kept", async () => {
    server.service.fault = new ServiceFault("the ban could not be stored; nothing was changed");
    const answer = await post("/api/v1/ban", `{"ip":"${ACME_HOST}"}`);
    await expectError(answer, 503, "the ban could not be stored; nothing was changed");
  });
});

test("errors tell nothing of the inside of the service", async () => {
  server.service.fault = new Error("at /srv/floodwall/src/mitigation/ban-engine.ts:12 SELECT secret");
  await expectError(await post("/api/v1/ban", `{"ip":"${ACME_HOST}"}`), 500, "internal error");
});
