/**
 * Refusals in their cases and what a caller reads of the tables (docs/interface.md#errors), over a real listener. Those
 * that all routes have in common are in routes.test.ts, those of a ban in src/http/routes.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BLOCK_REFUSALS } from "../../src/sourceblock/admission.ts";
import { address } from "../fixtures/host-rows.ts";
import * as callers from "../fixtures/http/callers.ts";
import { expectError, JSON_TYPE, TestServer } from "../fixtures/http/http.ts";
import { attack, ban, host, NOON } from "../fixtures/views.ts";

const { ACME_HOST, OTHER_HOST, OUTSIDE_HOST, UNOWNED_HOST } = callers;
const PAIR = JSON.stringify({ source: OUTSIDE_HOST, victim: ACME_HOST, ttl_seconds: 60 });
const BLOCK = `dataplane/sources ${PAIR}`;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  callers.admitCallers(server);
});
afterEach(() => server.http.stop());

/** @param request a path, and a body where it is a command. */
function ask(request: string, caller: callers.Caller = "operator"): Promise<Response> {
  const [path, body] = request.split(" ", 2);
  const init = body === undefined ? {} : { method: "POST", body };
  return fetch(`${server.base}/api/v1/${path}`, { headers: { ...JSON_TYPE, ...callers.as(caller) }, ...init });
}
const textOf = async (path: string, caller?: callers.Caller) => (await ask(path, caller)).text();

describe("a command of source blocks #errors-of-source-blocks", () => {
  test.each(BLOCK_REFUSALS)("is 409 when it is refused as %s", async (refusal) => {
    server.backend.onBlockSource = () => ({ kind: "refused", refusal });
    await expectError(ask(BLOCK), 409);
  });
});

test.each([
  ["", 200],
  ["{}", 200],
  ['{"x":1}', 400],
])("POST /api/v1/config/reload with the body %p is %d #post-api-v1-config-reload", async (body, status) => {
  expect((await ask(`config/reload ${body}`)).status).toBe(status);
});

const view = (changes: Parameters<typeof attack>[0]) => ({ attack: attack(changes), ban: null });

describe("GET /api/v1/attacks/{id} #get-api-v1-attacks-id", () => {
  test("finds an attack in progress, one that is over, and one of the history", async () => {
    server.backend.attacksView = { active: [view({ id: "a1" })], recent: [view({ id: "a2" })] };
    server.backend.storedAttacks.set("a3", view({ id: "a3" }));
    for (const id of ["a1", "a2", "a3"])
      expect(await (await ask(`attacks/${id}`)).json()).toMatchObject({ id, target: ACME_HOST, tenant: "acme" });
  });

  test("of another tenant is as unknown as one that never was, to the byte", async () => {
    const recent = [view({ id: "ours", target: address(ACME_HOST), endedAt: NOON })];
    server.backend.attacksView = { active: [view({ id: "theirs", target: address(OTHER_HOST) })], recent };
    const answered = async (id: string) => {
      const answer = await ask(`attacks/${id}`, "tenantViewer");
      return `${answer.status} ${[...answer.headers.keys()].join()} ${await answer.text()}`;
    };
    const answers = new Set(await Promise.all(["theirs", "none", "%20", "x".repeat(3000)].map(answered)));
    expect([...answers]).toEqual([expect.stringMatching(/^404 .*{"error":"unknown attack"}$/)]);
    expect(await answered("ours")).toStartWith("200 ");
  });
});

describe("GET /api/v1/hosts with parameters #get-api-v1-hosts-with-parameters", () => {
  test("is a page, with where to go on", async () => {
    const [one, two, three] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    server.backend.hostViews = [three, one, two].map((target) => host({ target }));
    const first = (await (await ask("hosts?limit=2")).json()) as { next: string };
    expect(first).toMatchObject({ hosts: [{ target: one }, { target: two }], total: 3 });
    const rest = await (await ask(`hosts?limit=2&after=${first.next}`)).json();
    expect(rest).toEqual({ hosts: [expect.objectContaining({ target: three })], total: 3 });
  });

  test.each(["limit", "sort", "after", "q", "group"])("names a bad %s", async (name) => {
    await expectError(ask(`hosts?${name}=`), 400, expect.stringContaining(name));
  });
});

test.each([
  ["attacks", 2],
  ["hosts", 1],
  ["hosts?q=192.0.2.&sort=-pps&limit=10", 1],
  ["hosts?group=mail", 0],
  ["bans", 1],
])(
  "a tenant sees only its own rows of %s, also after a reload #tenants-see-only-their-own-rows",
  async (path, rows) => {
    const targets = [ACME_HOST, OTHER_HOST, UNOWNED_HOST];
    const attacks = (changes: object) => targets.map((target) => view({ target: address(target), ...changes }));
    server.backend.hostViews = targets.map((target, i) =>
      host({ target, group: ["web", "mail", "global"][i] as string }),
    );
    server.backend.banViews = targets.map((target) => ({ ban: ban({ target, manual: true }), routeState: null }));
    server.backend.attacksView = { active: attacks({}), recent: attacks({ endedAt: NOON }) };
    const [whole, text] = [await textOf(path), await textOf(path, "tenantViewer")];
    expect(text.match(/"target":/g) ?? []).toHaveLength(rows);
    for (const foreign of [OTHER_HOST, UNOWNED_HOST, "mail", '"other"']) expect(text).not.toContain(foreign);
    expect(whole.match(/"target":/g)?.length).toBeGreaterThan(rows);
    expect(await textOf(path)).toBe(whole);
    const thresholds = "{pps: 100000, mbps: 1000, flows_per_sec: 20000}";
    server.backend.ownership = callers.tenancyOf(
      `networks: [192.0.2.0/24]\ntenant: other\nthresholds: ${thresholds}\n`,
    );
    expect(await textOf(path, "tenantViewer")).not.toContain(ACME_HOST);
  },
);
