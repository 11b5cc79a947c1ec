/**
 * The challenge lever, statement by statement (docs/interface.md#lever-command), over a real listener. A lever by itself
 * is in src/edge/zones/levers.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { EDGE_ORDER_BYTES_MAX, LEVERS_MAX } from "../../src/limits.ts";
import { STATE_WAIT_MS } from "../../src/storage/state-store.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { expectError } from "../fixtures/http/http.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { eventually } from "../fixtures/service.ts";
import { NOON } from "../fixtures/views.ts";

const WWW = "www.example.net";
const SHOP = "shop.example.net";
const MAIL = "mail.example.net";
const BARE = "bare.example.net";
const MANUAL = { mode: "manual", ttl_seconds: 600, reason: "ticket 7" };
const OFF = { mode: "off" };
const path = (zone: string) => `/api/v1/edge/zones/${zone}/challenge`;

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

async function taken(answer: Response | Promise<Response>): Promise<unknown> {
  const { status } = await answer;
  expect(status).toBe(200);
  return (await answer).json();
}

const clock = () => channel.server.clock;
const lever = (body: unknown = MANUAL, zone = WWW, token?: string) => taken(channel.lever(zone, body, token));
const isSet = (zone = WWW) => channel.edge.levers.of(zone, clock().wallMs()) !== null;
const override = async (zone = WWW, node: string | null = null) =>
  (await channel.document({ token: "admin", node })).zones.find(({ name }) => name === zone)?.["challenge_override"];
const audited = () => channel.server.audited;
/** Every way to order something for a zone. */
const everyOrder = async (zone: string, token?: string) => [
  await channel.lever(zone, MANUAL, token),
  await channel.lever(zone, OFF, token),
  await channel.clearLever(zone, token),
];

describe("lever response #lever-response", () => {
  const FILE = { file_mode: "auto", zone_watch_only: true, rung_watch_only: true };
  const nodes = [
    { name: "e1", alive: false },
    { name: "e2", alive: false },
  ];

  test("shows zone, mode, until, reason, the file's say, and the nodes of the zone", async () => {
    await channel.poll();
    channel.edge.dryRuns.set("e2", false);
    expect(await lever()).toEqual({
      ...{ zone: WWW, mode: "manual", until: "2026-03-01T12:10:00.000Z", reason: "ticket 7", ...FILE },
      nodes: [
        { name: "e1", alive: true },
        { name: "e2", alive: false, dry_run: false },
      ],
    });
  });

  test("has no mode, until and reason when the zone follows its file, and an empty file_mode when it has left it", async () => {
    await lever();
    expect(await lever(OFF)).toEqual({ zone: WWW, ...FILE, nodes });
    expect(await taken(channel.clearLever(WWW))).toEqual({ zone: WWW, ...FILE, nodes });
    await lever();
    channel.configure({ zones: [] });
    const gone = { file_mode: "", zone_watch_only: false, rung_watch_only: false, nodes: [] };
    expect(await taken(channel.clearLever(WWW))).toEqual({ zone: WWW, ...gone });
  });

  test("has zone_watch_only and rung_watch_only of the file, and the nodes of the zone alone", async () => {
    const shop = { file_mode: "off", zone_watch_only: false, rung_watch_only: true, nodes: [{ name: "e1" }] };
    const mail = { zone_watch_only: true, rung_watch_only: false, nodes: [{ name: "e2" }] };
    expect([await lever(MANUAL, SHOP), await lever(MANUAL, MAIL)]).toMatchObject([shop, mail]);
  });
});

test("a lever overrides the file until `until`, and another POST replaces it #lever-following-file", async () => {
  await lever();
  const shown = { mode: "manual", until: "2026-03-01T12:10:00.000Z", reason: "ticket 7" };
  expect([await override(), await override(WWW, "e1")]).toEqual([shown, shown]);
  clock().advance(1000);
  await lever({ mode: "auto", ttl_seconds: 60 });
  expect(await override()).toEqual({ mode: "auto", until: "2026-03-01T12:01:01.000Z", reason: "" });
});

describe("lever override in force #lever-override-in-force", () => {
  const CLEARINGS: readonly [string, () => unknown][] = [
    ["by POST with mode off", () => lever(OFF)],
    ["by DELETE", () => taken(channel.clearLever(WWW))],
    ["when time reaches until", () => clock().advance(600_000)],
  ];
  test.each(CLEARINGS)("ends %s, and the document has the bytes of before", async (_, clear) => {
    const etag = await channel.etag();
    await lever();
    expect(await channel.etag()).not.toBe(etag);
    await clear();
    expect([isSet(), await override(), await channel.etag()]).toEqual([false, undefined, etag]);
    await channel.edge.state.flush();
    expect(channel.edge.state.file.rows.levers.size).toBe(0);
  });

  test("is not gated by the global dry_run, and survives a zone that leaves the file and comes back", async () => {
    channel.server.backend.statusView = { ...channel.server.backend.statusView, dryRun: true };
    await lever();
    expect(audited()).toMatchObject([{ result: "set", dryRun: false }]);
    channel.configure({ zones: [] });
    expect(isSet()).toBe(true);
    await expectError(channel.lever(WWW, MANUAL), 404, "unknown zone");
    channel.configure();
    expect(await override()).toMatchObject({ mode: "manual" });
  });
});

describe("fields of a lever #lever-fields", () => {
  const TTL = "ttl_seconds must be a whole number from 60 to 86400";
  const MODE = "mode must be manual, auto or off";
  test.each([
    ...[59, 86_401, 0, -60, 60.5, "60", null, undefined].map((ttl) => [{ ...MANUAL, ttl_seconds: ttl }, TTL] as const),
    [{ ...MANUAL, mode: "on" }, MODE],
    [{ ...MANUAL, mode: "Manual" }, MODE],
    [{ ttl_seconds: 60 }, "mode is required"],
    [{ ...MANUAL, mode: 1 }, "mode must be a string"],
    [{ ...MANUAL, reason: 1 }, "reason must be a string"],
    [{ ...MANUAL, reason: "a".repeat(201) }, "reason has more than 200 characters"],
    [{ mode: "off", reason: "a".repeat(201) }, "reason has more than 200 characters"],
    [{ ...MANUAL, zone: WWW }, 'unknown field "zone"'],
  ] as const)("%j is 400", async (body, detail) => {
    await expectError(channel.lever(WWW, body), 400, `invalid JSON body: ${detail}`);
    expect(isSet()).toBe(false);
  });

  test("ttl_seconds is not required when mode is off, nor is a reason", async () => {
    expect(await lever({ mode: "auto", ttl_seconds: 60 })).toMatchObject({ reason: "" });
    for (const body of [{ mode: "off", ttl_seconds: 0, reason: "over" }, OFF]) await lever(body);
    expect(isSet()).toBe(false);
  });

  test("the name of a zone is folded to lower case", async () => {
    expect(await lever(MANUAL, "WWW.Example.NET")).toMatchObject({ zone: WWW });
    expect(audited()).toMatchObject([{ target: WWW }]);
  });
});

describe("refusals of a lever #lever-refusals", () => {
  test("unknown zone is 404, for setting and clearing", async () => {
    for (const name of ["nowhere.example.net", "%20", "x".repeat(300)])
      for (const answer of await everyOrder(name)) await expectError(answer, 404, "unknown zone");
    expect(audited()).toHaveLength(9);
    const row = { action: "edge_challenge", result: "rejected", target: "nowhere.example.net", reason: "unknown zone" };
    expect(audited()[0]).toMatchObject(row);
  });

  test("a zone with policy.mode none is 409 for setting; clearing is allowed", async () => {
    const error = "the zone's policy.mode is none: its requests are not decided, there is nothing to challenge";
    await expectError(channel.lever(BARE, MANUAL), 409, error);
    await lever(OFF, BARE);
    await taken(channel.clearLever(BARE));
  });

  test("403 for the role is a row of the audit trail, with the zone", async () => {
    await expectError(channel.lever(WWW, MANUAL, "eyes"), 403, "this token's role may not perform this action");
    expect(audited()).toMatchObject([{ result: "rejected", target: WWW }]);
  });

  test("a lever more than there may be is 409, those that are set may be set again", async () => {
    const [zone] = channel.edge.nodes.zones();
    if (zone === undefined) throw new Error("the test has zones");
    channel.edge.isConfigured = () => true;
    for (const name of [...Array.from({ length: LEVERS_MAX - 1 }, (_, i) => `gone${i}.example.net`), WWW]) {
      const decides = { ...zone, name, policy: { ...zone.policy, mode: "decide" as const } };
      await channel.edge.levers.set(decides, { mode: "auto", ttlSeconds: 60, reason: "" }, NOON);
    }
    await expectError(channel.lever(SHOP, MANUAL), 409, `${LEVERS_MAX} levers are set: clear one of them`);
    for (const [zone, body] of [
      [WWW, MANUAL],
      [WWW, OFF],
      [SHOP, MANUAL],
    ] as const)
      await lever(body, zone);
  });
});

describe("saved", () => {
  test("is false for what ends while the disk refuses it; what begins is 503 and changes nothing #saved", async () => {
    await lever();
    const etag = await channel.etag();
    const { file } = channel.edge.state;
    file.isBroken = true;
    await expectError(channel.lever(WWW, { ...MANUAL, mode: "auto" }), 503, "disk full; nothing was changed");
    expect([await channel.etag(), isSet()]).toEqual([etag, true]);
    expect(await (await channel.clearLever(WWW)).json()).toMatchObject({ zone: WWW, saved: false });
    expect([isSet(), file.rows.levers.size]).toEqual([false, 1]);
    expect(audited().map(({ result }) => result)).toEqual(["set", "error", "cleared"]);
  });

  test("given up after 8 s, an order that reaches the disk later is removed and never in force #saved-given-up", async () => {
    const { file, clock: diskClock, flush } = channel.edge.state;
    file.isHeld = true;
    const begun = channel.lever(WWW, MANUAL);
    await eventually(() => file.isWaiting, "the order does not come to the disk");
    diskClock.advance(STATE_WAIT_MS);
    await expectError(begun, 503, "the disk has not taken the command within 8 s; nothing was changed");
    file.isHeld = false;
    await file.release();
    expect([isSet(), file.names("levers")]).toEqual([false, [WWW]]);
    await flush();
    expect([isSet(), file.names("levers")]).toEqual([false, []]);
  });
});

describe("lever by a tenant's operator #lever-by-a-tenants-operator", () => {
  test("sets and clears the levers of its own zones", async () => {
    expect(await lever(MANUAL, WWW, "acme")).toMatchObject({ mode: "manual", nodes: [{ name: "e1" }, { name: "e2" }] });
    await taken(channel.clearLever(WWW, "acme"));
    const own = { tenant: "acme", operator: "acme" };
    expect(audited()).toMatchObject([
      { ...own, result: "set" },
      { ...own, result: "cleared" },
    ]);
  });

  test.each([MAIL, BARE, "nowhere.example.net"])(
    "is refused %s with 404, the same bytes, without a row",
    async (zone) => {
      await lever(MANUAL, MAIL);
      for (const answer of await everyOrder(zone, "acme")) await expectError(answer, 404, "unknown zone");
      expect(await channel.metric('svc_api_zone_refused_total{route="edge_lever"}')).toBe(3);
      expect([audited().length, isSet(MAIL)]).toEqual([1, true]);
    },
  );

  test("is refused before the body is read, whatever that is", async () => {
    for (const body of ["", "{", "x".repeat(EDGE_ORDER_BYTES_MAX + 1)])
      await expectError(channel.post(path(MAIL), body, "acme"), 404, "unknown zone");
    const answer = channel.post(path(MAIL), "{}", "acme", "text/plain");
    await expectError(answer, 415, "Content-Type must be application/json");
  });

  test("is refused a lever on a zone that is gone from the file, its own once", async () => {
    await lever(MANUAL, WWW, "acme");
    channel.configure({ zones: [] });
    await expectError(channel.clearLever(WWW, "acme"), 404, "unknown zone");
    expect(isSet()).toBe(true);
  });

  test.each([MANUAL, OFF])("is refused %j when a reload gives the zone away while the body comes", async (body) => {
    if (body === OFF) await lever();
    const giveAway = () => channel.configure({ zones: [{ name: WWW, tenant: "other" }] });
    const answer = await channel.postSlowly(path(WWW), JSON.stringify(body), "acme", giveAway);
    expect([answer, isSet()]).toEqual([{ status: 404, body: '{"error":"unknown zone"}' }, body === OFF]);
  });

  test("is logged once a minute per token, with neither zone nor reason", async () => {
    const operator = { role: "operator", tenant: "acme" } as const;
    channel.admit({ ...agent("acme"), ...operator }, { ...agent("acme2"), ...operator });
    for (const token of ["acme", "acme", "acme2"]) await channel.clearLever(MAIL, token);
    clock().advance(60_000);
    await channel.clearLever(MAIL, "acme");
    const line = (token_name: string, suppressed: number) => ({
      tenant: "acme",
      route: "edge_lever",
      token_name,
      suppressed,
    });
    expect(channel.server.logged).toEqual([line("acme", 0), line("acme2", 0), line("acme", 1)]);
  });
});

test("setting and clearing are audited as edge_challenge, with the zone, the caller and the reason #lever-audit", async () => {
  await lever();
  await lever({ mode: "off", reason: "over" });
  await channel.clearLever(WWW);
  const row = {
    ...{ wallMs: NOON, action: "edge_challenge", operator: "admin", role: "operator", tenant: "" },
    ...{ target: WWW, targetType: "zone", source: "api", banState: "", dryRun: false },
  } as const;
  expect<unknown>(audited()).toEqual([
    { ...row, result: "set", reason: "ticket 7" },
    { ...row, result: "cleared", reason: "over" },
    { ...row, result: "cleared", reason: "" },
  ]);
});
