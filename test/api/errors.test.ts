/** Refusals in their cases and what a caller reads of the tables (docs/interface.md#errors), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BackendFault } from "../../src/http/backend.ts";
import { BLOCK_REFUSALS } from "../../src/sourceblock/admission.ts";
import { attack, ban, host, NOON } from "../fixtures/browser/views.ts";
import { address } from "../fixtures/host-rows.ts";
import {
  ACME_HOST,
  admitCallers,
  as,
  CALLERS,
  type Caller,
  OTHER_HOST,
  OUTSIDE_HOST,
  secretOf,
  tenancyOf,
  UNOWNED_HOST,
} from "../fixtures/http/callers.ts";
import { expectError, JSON_TYPE, TestServer } from "../fixtures/http/http.ts";

const NOBODY = "missing or invalid bearer token";

let server: TestServer;

interface Fault {
  readonly status: number;
  readonly what: string;
  /** `POST` where there is a body. */
  readonly path: string;
  readonly body?: string;
  readonly caller?: Caller;
  readonly error: string;
  readonly prepare?: () => void;
}

const badUrl = "invalid URL: an escape is broken or not UTF-8";
const FAULTS: readonly Fault[] = [
  { status: 400, what: "for an invalid IP", path: "ban", body: '{"ip":"1.2.3"}', error: "invalid ip: 1.2.3" },
  { status: 400, what: "for no body", path: "ban", body: "", error: "invalid JSON body: empty" },
  {
    ...{ status: 400, what: "for an invalid configuration at reload", path: "config/reload", body: "" },
    error: "floodwall.yaml:3: networks: required",
    prepare: () => {
      server.backend.reloadOutcome = { kind: "invalid", problems: ["floodwall.yaml:3: networks: required"] };
    },
  },
  { status: 400, what: "for a broken escape", path: "hosts?q=%", error: badUrl },
  { status: 400, what: "for an escape that is not UTF-8", path: "attacks/%ff", error: badUrl },
  {
    ...{ status: 401, what: "for a secret of tokens with different rights", path: "status", error: NOBODY },
    prepare: () => void server.secrets.set("ACME_VIEWER", secretOf(CALLERS.viewer)),
  },
  {
    ...{ status: 403, what: "for a target outside of the tenant", path: "ban", body: `{"ip":"${OTHER_HOST}"}` },
    ...{ caller: "tenantOperator", error: "target is outside your tenant" },
  },
  {
    ...{ status: 404, what: "without an active ban to unban", path: "unban", body: `{"ip":"${ACME_HOST}"}` },
    error: `no active ban for ${ACME_HOST}`,
  },
  { status: 404, what: "for a path that there is not", path: "nothing", error: "not found" },
  { status: 404, what: "for an attack that there is not", path: "attacks/none", error: "unknown attack" },
  {
    ...{ status: 503, what: "of a command that could not be kept", path: "ban", body: `{"ip":"${ACME_HOST}"}` },
    error: "the ban could not be stored; nothing was changed",
    prepare: () => {
      server.backend.fault = new BackendFault("the ban could not be stored; nothing was changed");
    },
  },
];

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const get = (path: string, caller: Caller = "viewer") =>
  fetch(`${server.base}/api/v1/${path}`, { headers: as(caller) });
const post = (path: string, body: string, caller: Caller = "operator") =>
  fetch(`${server.base}/api/v1/${path}`, { method: "POST", headers: { ...JSON_TYPE, ...as(caller) }, body });

test.each(FAULTS)("error $status $what", async ({ status, path, body, caller, error, prepare }) => {
  prepare?.();
  await expectError(await (body === undefined ? get(path, caller) : post(path, body, caller)), status, error);
});

test.each(["whitelisted", "outside configured networks", "max_active_bans reached"])(
  "error 409 for a ban that is refused as %s, with a ban as its body",
  async (reason) => {
    server.backend.onBan = (target) => ({ ban: ban({ target, state: "rejected", reason }), routeState: null });
    const answer = await post("ban", `{"ip":"${ACME_HOST}"}`);
    expect([answer.status, await answer.json()]).toMatchObject([409, { state: "rejected", reason }]);
  },
);

test("errors tell nothing of the inside of the service", async () => {
  server.backend.fault = new Error("at /srv/floodwall/src/mitigation/ban-engine.ts:12 SELECT secret");
  await expectError(await post("ban", `{"ip":"${ACME_HOST}"}`), 500, "internal error");
});

const block = JSON.stringify({ source: OUTSIDE_HOST, victim: ACME_HOST, ttl_seconds: 60 });

test.each(BLOCK_REFUSALS)("errors of source blocks: 409 is for a refusal: %s", async (refusal) => {
  server.backend.onBlockSource = () => ({ kind: "refused", refusal });
  await expectError(await post("dataplane/sources", block), 409);
});

test("errors of source blocks: 404 is for an unblock without a live block, 503 for one that was not installed", async () => {
  await expectError(await post("dataplane/sources/unblock", block), 404, "no such source block");
  server.backend.fault = new BackendFault("the kernel did not take the block");
  await expectError(await post("dataplane/sources", block), 503, "the kernel did not take the block");
});

test("POST /api/v1/config/reload has an empty body or {}", async () => {
  for (const [body, status] of [
    ["", 200],
    ["{}", 200],
    ['{"x":1}', 400],
  ] as const) {
    expect((await post("config/reload", body)).status).toBe(status);
  }
});

test("GET /api/v1/attacks/{id} finds an attack in progress, one that is over, and one of the history", async () => {
  const view = (id: string) => ({ attack: attack({ id }), ban: null });
  server.backend.attacksView = { active: [view("a1")], recent: [view("a2")] };
  server.backend.storedAttacks.set("a3", view("a3"));
  for (const id of ["a1", "a2", "a3"]) {
    expect(await (await get(`attacks/${id}`)).json()).toMatchObject({ id, target: ACME_HOST, tenant: "acme" });
  }
});

test("GET /api/v1/attacks/{id} of another tenant is as unknown as one that never was, to the byte", async () => {
  server.backend.attacksView = {
    active: [{ attack: attack({ id: "theirs", target: address(OTHER_HOST) }), ban: null }],
    recent: [{ attack: attack({ id: "ours", target: address(ACME_HOST), endedAt: NOON }), ban: null }],
  };
  const answers = await Promise.all(
    ["theirs", "none", "%20", "x".repeat(3000)].map(async (id) => {
      const answer = await get(`attacks/${id}`, "tenantViewer");
      return `${answer.status} ${[...answer.headers.keys()].join()} ${await answer.text()}`;
    }),
  );
  expect(new Set(answers).size).toBe(1);
  expect(answers[0]).toMatch(/^404 .*{"error":"unknown attack"}$/);
  expect((await get("attacks/ours", "tenantViewer")).status).toBe(200);
});

test("GET /api/v1/hosts with parameters is a page, with where to go on", async () => {
  server.backend.hostViews = ["192.0.2.3", "192.0.2.1", "192.0.2.2"].map((target) => host({ target }));
  const first = (await (await get("hosts?limit=2")).json()) as { next: string };
  expect(first).toMatchObject({ hosts: [{ target: "192.0.2.1" }, { target: "192.0.2.2" }], total: 3 });
  const rest = await (await get(`hosts?limit=2&after=${first.next}`)).json();
  expect(rest).toEqual({ hosts: [expect.objectContaining({ target: "192.0.2.3" })], total: 3 });
});

test.each(["limit", "sort", "after", "q", "group"])(
  "GET /api/v1/hosts with parameters: a bad %s is named",
  async (name) => {
    await expectError(await get(`hosts?${name}=`), 400, expect.stringContaining(name));
    expect(server.backend.calls).toEqual([]);
  },
);

describe("tenants see only their own rows:", () => {
  const targets = [ACME_HOST, OTHER_HOST, UNOWNED_HOST];

  beforeEach(() => {
    const groups = ["web", "mail", "global"];
    server.backend.hostViews = targets.map((target, i) => host({ target, group: groups[i] ?? "" }));
    server.backend.banViews = targets.map((target) => ({ ban: ban({ target, manual: true }), routeState: null }));
    const views = (changes: object) =>
      targets.map((target) => ({ attack: attack({ target: address(target), ...changes }), ban: null }));
    server.backend.attacksView = { active: views({}), recent: views({ endedAt: NOON }) };
  });

  test.each([
    ["attacks", 2],
    ["hosts", 1],
    ["hosts?q=192.0.2.&sort=-pps&limit=10", 1],
    ["hosts?group=mail", 0],
    ["bans", 1],
  ])("GET %s, whoever asked before, also after a reload gave them to another", async (path, rows) => {
    const whole = await (await get(path)).text();
    const text = await (await get(path, "tenantViewer")).text();
    expect(text.match(/"target":/g) ?? []).toHaveLength(rows);
    for (const foreign of [OTHER_HOST, UNOWNED_HOST, "mail", '"other"']) expect(text).not.toContain(foreign);
    expect(whole.match(/"target":/g)?.length).toBeGreaterThan(rows);
    expect(await (await get(path)).text()).toBe(whole);
    server.backend.ownership = tenancyOf(`networks: [192.0.2.0/24]
tenant: other
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
`);
    expect(await (await get(path, "tenantViewer")).text()).not.toContain(ACME_HOST);
  });
});
