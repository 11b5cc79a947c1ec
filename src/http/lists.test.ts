/** The filters of lists, their pages, and queries that no route has. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { address } from "../../test/fixtures/host-rows.ts";
import * as callers from "../../test/fixtures/http/callers.ts";
import { expectError, TestServer } from "../../test/fixtures/http/http.ts";
import { attack, ban, classification, NOON } from "../../test/fixtures/views.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { parseTarget, targetMatcher } from "../net/target.ts";
import { AttacksWire, type AttackWire } from "./wire/attack.ts";

let server: TestServer;
beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

const json = async (path: string) => (await (await server.get(path)).json()) as never;

describe("a query #unknown-query-keys", () => {
  test.each([
    [
      "bans?stat=active",
      'unknown parameter "stat": this route has from, group, method, operator, state, target, tenant, to',
    ],
    ["status?x", 'unknown parameter "x": this route has none'],
    ["bans/preview?ip=192.0.2.1&__proto__=1", 'unknown parameter "__proto__": this route has ip'],
  ])("with a key that the route does not have is refused: %s", async (path, detail) => {
    await expectError(server.get(`/api/v1/${path}`), 400, detail);
    expect(server.backend.calls).toEqual([]);
  });

  test("of an order is checked before its body", async () => {
    await expectError(server.post("/api/v1/ban?ip=192.0.2.1", "{"), 400, 'unknown parameter "ip": this route has none');
  });

  test("of a node's poll is taken with keys of later builds", async () => {
    expect((await server.get("/api/v1/dataplane/rules?later=1")).status).toBe(200);
  });
});

test.each([
  ["192.0.2.7", "192.0.2.7", true],
  ["192.0.2.7", "192.0.2.8", false],
  ["192.0.2.7", "192.0.2.0/24", true],
  ["192.0.2.7", "192.0.2.9/24", true],
  ["192.0.2.0/25", "192.0.2.0/24", true],
  ["192.0.2.0/24", "192.0.2.0/25", false],
  ["192.0.2.0/24", "192.0.2.200", true],
  ["192.0.3.0/24", "192.0.2.200", false],
  ["2001:db8::7", "2001:db8::/32", true],
  ["2001:db8::7", "0.0.0.0/1", false],
  ["192.0.2.7", "::/1", false],
])("%s is at %s: %p", (own, target, isIn) => {
  const parsed = parseTarget(target);
  if (parsed === null) throw new Error(target);
  expect(targetMatcher(parsed)(own)).toBe(isIn);
});

describe("GET /api/v1/attacks with filters #get-api-v1-attacks-filters", () => {
  const views: readonly Attack[] = [
    attack({ id: "a1", startedAt: NOON, target: address("192.0.2.1"), group: "web" }),
    attack({ id: "a2", startedAt: NOON + 2000, target: address("2001:db8::1"), direction: "outgoing" }),
    attack({ id: "a3", startedAt: NOON + 1000, classification: classification({ type: "dns_amplification" }) }),
    attack({ id: "a4", startedAt: NOON - 9000, endedAt: NOON - 2000 }),
    attack({ id: "a5", startedAt: NOON - 9000, endedAt: NOON - 1000 }),
  ];
  beforeEach(() => {
    const of = (isOver: boolean) =>
      views
        .filter(({ endedAt }) => (endedAt !== null) === isOver)
        .map((each) => ({ attack: each, ban: each.id === "a1" ? ban({ method: "flowspec" }) : null }));
    server.backend.attacksView = { active: of(false), recent: of(true).reverse() };
  });
  const ids = ({ active, recent }: { active: AttackWire[]; recent: AttackWire[] }) =>
    [active, recent].map((list) => list.map(({ id }) => id).join(" "));

  test.each([
    ["", ["a1 a2 a3", "a5 a4"]],
    ["state=active", ["a1 a2 a3", ""]],
    ["state=ended", ["", "a5 a4"]],
    ["group=web", ["a1", ""]],
    ["direction=outgoing", ["a2", ""]],
    ["kind=dns_amplification", ["a3", ""]],
    ["method=flowspec", ["a1", ""]],
    ["method=none&state=active", ["a2 a3", ""]],
    ["target=2001:DB8::/32", ["a2", ""]],
    ["target=192.0.2.1&state=active&group=web", ["a1", ""]],
    ["tenant=acme", ["", ""]],
    ["from=2026-03-01T11:59:59Z", ["a1 a2 a3", "a5"]],
    ["to=2026-03-01T12:00:00Z", ["a1", "a5 a4"]],
  ])("%s finds %p", async (query, found) => {
    expect(ids(await json(`/api/v1/attacks${query === "" ? "" : `?${query}`}`))).toEqual(found);
  });

  test.each([
    ["state=over", "state must be one of active, ended: over"],
    ["group=", "group must be a name: "],
    ["target=192.0.2.300", "target must be an address or a prefix as 192.0.2.0/24: 192.0.2.300"],
    ["from=noon", "from must be an RFC 3339 time (a + in it is written %2B): noon"],
    ["limit=201", "limit must be a whole number from 1 to 200: 201"],
    ["after=a1", "after must be what next was on the page before: a1"],
  ])("%s is refused", async (query, detail) => {
    await expectError(server.get(`/api/v1/attacks?${query}`), 400, detail);
  });

  test("in pages are all of them once, the newest first, also when one ends between two pages", async () => {
    const seen: string[] = [];
    let after = "";
    for (let page = 0; page < 9; page++) {
      const answer: { active: AttackWire[]; recent: AttackWire[]; next?: string; total: number } = await json(
        `/api/v1/attacks?limit=2${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`,
      );
      expect([...Value.Errors(AttacksWire, answer)]).toEqual([]);
      seen.push(ids(answer).join("|"));
      if (page === 0) {
        const { active, recent } = server.backend.attacksView;
        const over = { attack: { ...(views[0] as Attack), endedAt: NOON + 3000 }, ban: null };
        server.backend.attacksView = {
          active: active.filter(({ attack: { id } }) => id !== "a1"),
          recent: [over, ...recent],
        };
      }
      if (answer.next === undefined) break;
      after = answer.next;
    }
    expect(seen).toEqual(["a2 a3|", "|a1 a5", "|a4"]);
  });
});

describe("GET /api/v1/bans with filters #get-api-v1-bans-filters", () => {
  beforeEach(() => {
    callers.admitCallers(server);
    server.backend.banViews = [
      ban({ id: "b1", target: callers.ACME_HOST, operator: "anna", manual: true }),
      ban({ id: "b2", target: callers.OTHER_HOST, method: "divert", state: "withdrawn", withdrawnAt: NOON }),
    ].map((each) => ({ ban: each, routeState: null }));
  });
  const targets = async (query: string, caller: callers.Caller = "operator") => {
    const answer = await fetch(`${server.base}/api/v1/bans?${query}`, { headers: callers.as(caller) });
    return ((await answer.json()) as { bans: { target: string }[] }).bans.map(({ target }) => target);
  };

  test.each([
    ["state=active", [callers.ACME_HOST]],
    ["method=divert", [callers.OTHER_HOST]],
    ["operator=anna", [callers.ACME_HOST]],
    ["tenant=acme", [callers.ACME_HOST]],
    [`target=${callers.OTHER_HOST}/32`, [callers.OTHER_HOST]],
    ["operator=anna&state=withdrawn", []],
  ])("%s finds %p", async (query, found) => {
    expect(await targets(query)).toEqual(found);
  });

  test("do not show a tenant which token ordered one", async () => {
    expect(await targets("state=active", "tenantViewer")).toEqual([callers.ACME_HOST]);
    expect(await targets("operator=anna", "tenantViewer")).toEqual([]);
  });
});
