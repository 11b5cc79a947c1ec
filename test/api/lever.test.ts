/** The challenge lever, statement by statement (docs/interface.md#lever-command), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { EDGE_ORDER_BYTES_MAX, LEVERS_MAX } from "../../src/limits.ts";
import { NOON } from "../fixtures/browser/views.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { expectError } from "../fixtures/http/http.ts";
import { agent } from "../fixtures/http/node-channel.ts";

const WWW = "www.example.net";
const MANUAL = { mode: "manual", ttl_seconds: 600, reason: "ticket 7" };
const PATH = `/api/v1/edge/zones/${WWW}/challenge`;

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

async function lever(zone: string, body: unknown, token?: string): Promise<Record<string, unknown>> {
  const answer = await channel.lever(zone, body, token);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}

const clock = () => channel.server.clock;
const isSet = (zone = WWW) => channel.edge.levers.of(zone, clock().wallMs()) !== null;
const override = async (zone = WWW, node: string | null = null) =>
  (await channel.document({ token: "admin", node })).zones.find(({ name }) => name === zone)?.["challenge_override"];

describe("lever response", () => {
  test("tells zone, mode, until, reason, the file's say, and the nodes of the zone", async () => {
    await channel.poll();
    channel.edge.dryRuns.set("e2", false);
    expect(await lever(WWW, MANUAL)).toEqual({
      zone: WWW,
      mode: "manual",
      until: "2026-03-01T12:10:00.000Z",
      reason: "ticket 7",
      file_mode: "auto",
      zone_watch_only: true,
      rung_watch_only: true,
      nodes: [
        { name: "e1", alive: true },
        { name: "e2", alive: false, dry_run: false },
      ],
    });
  });

  test("mode, until and reason are absent when the zone follows its file", async () => {
    await channel.lever(WWW, MANUAL);
    const follows = {
      zone: WWW,
      file_mode: "auto",
      zone_watch_only: true,
      rung_watch_only: true,
      nodes: [
        { name: "e1", alive: false },
        { name: "e2", alive: false },
      ],
    };
    expect(await lever(WWW, { mode: "off" })).toEqual(follows);
    expect(await (await channel.clearLever(WWW)).json()).toEqual(follows);
  });

  test("zone_watch_only and rung_watch_only are the file's booleans, and nodes are those of the zone alone", async () => {
    expect(await lever("shop.example.net", MANUAL)).toMatchObject({
      file_mode: "off",
      zone_watch_only: false,
      rung_watch_only: true,
      nodes: [{ name: "e1" }],
    });
    expect(await lever("mail.example.net", MANUAL)).toMatchObject({
      zone_watch_only: true,
      rung_watch_only: false,
      nodes: [{ name: "e2" }],
    });
  });

  test("file_mode is empty for a zone removed from the file", async () => {
    await channel.lever(WWW, MANUAL);
    channel.configure({ zones: [] });
    expect(await (await channel.clearLever(WWW)).json()).toEqual({
      zone: WWW,
      file_mode: "",
      zone_watch_only: false,
      rung_watch_only: false,
      nodes: [],
    });
  });
});

describe("lever following file", () => {
  test.each(["manual", "auto"])("to an override in force until `until`, by POST with mode %s", async (mode) => {
    await lever(WWW, { ...MANUAL, mode });
    const told = { mode, until: "2026-03-01T12:10:00.000Z", reason: "ticket 7" };
    expect([await override(), await override(WWW, "e1")]).toEqual([told, told]);
  });

  test("an override that is set anew has the new mode, time and reason", async () => {
    await lever(WWW, MANUAL);
    clock().advance(1000);
    await lever(WWW, { mode: "auto", ttl_seconds: 60 });
    expect(await override()).toEqual({ mode: "auto", until: "2026-03-01T12:01:01.000Z", reason: "" });
  });
});

describe("lever override in force", () => {
  const CLEARINGS: readonly [string, () => Promise<Response>][] = [
    ["POST with mode off", () => channel.lever(WWW, { mode: "off" })],
    ["DELETE", () => channel.clearLever(WWW)],
  ];
  test.each(CLEARINGS)("to following file by %s", async (_, clear) => {
    const etag = await channel.etag();
    await lever(WWW, MANUAL);
    expect((await clear()).status).toBe(200);
    expect([isSet(), await override(), await channel.etag()]).toEqual([false, undefined, etag]);
  });

  test("to following file when time reaches until, by itself: bytes move exactly then, and back to what they were", async () => {
    const etag = await channel.etag();
    await lever(WWW, MANUAL);
    const set = await channel.etag();
    clock().advance(599_999);
    expect(await channel.etag()).toBe(set);
    clock().advance(1);
    expect([await channel.etag(), isSet()]).toEqual([etag, false]);
    await channel.edge.state.flush();
    expect(channel.edge.state.file.rows.levers.size).toBe(0);
  });

  test("keeps its until over a wall clock that is set, lapses if that is past, and never holds for longer than it was set for", async () => {
    await lever(WWW, MANUAL);
    await lever("shop.example.net", { ...MANUAL, ttl_seconds: 7200 });
    clock().setWall("2026-03-01T12:30:00.000Z");
    clock().advance(1000);
    expect([isSet(), isSet("shop.example.net")]).toEqual([false, true]);
    expect(await override("shop.example.net")).toMatchObject({ until: "2026-03-01T14:00:00.000Z" });
    clock().setWall("2026-02-01T12:00:00.000Z");
    clock().advance(1000);
    expect(await override("shop.example.net")).toMatchObject({ until: "2026-02-01T14:00:01.000Z" });
  });

  test("is not gated by the global dry_run", async () => {
    channel.server.backend.statusView = { ...channel.server.backend.statusView, dryRun: true };
    await lever(WWW, MANUAL);
    expect(await override()).toMatchObject({ mode: "manual" });
    expect(channel.server.audited).toMatchObject([{ result: "set", dryRun: false }]);
  });

  test("survives a zone that leaves the file and comes back", async () => {
    await lever(WWW, MANUAL);
    channel.configure({ zones: [] });
    expect(isSet()).toBe(true);
    await expectError(channel.lever(WWW, MANUAL), 404, "unknown zone");
    channel.configure();
    expect(await override()).toMatchObject({ mode: "manual" });
  });
});

describe("lever fields:", () => {
  test.each([59, 86_401, 0, -60, 60.5, "60", null, undefined])("ttl_seconds %p is 400", async (ttl) => {
    const error = "invalid JSON body: ttl_seconds must be a whole number from 60 to 86400";
    await expectError(channel.lever(WWW, { ...MANUAL, ttl_seconds: ttl }), 400, error);
    expect(isSet()).toBe(false);
  });

  test("ttl_seconds is not required when mode is off, nor is a reason", async () => {
    expect(await lever(WWW, { mode: "auto", ttl_seconds: 60 })).toMatchObject({ reason: "" });
    await lever(WWW, { mode: "off", ttl_seconds: 0, reason: "over" });
    await lever(WWW, { mode: "off" });
    expect(isSet()).toBe(false);
  });

  test("reason has at most 200 characters", async () => {
    const error = "invalid JSON body: reason has more than 200 characters";
    await expectError(channel.lever(WWW, { ...MANUAL, reason: "a".repeat(201) }), 400, error);
    await expectError(channel.lever(WWW, { mode: "off", reason: "a".repeat(201) }), 400, error);
  });

  test.each([
    [{ ...MANUAL, mode: "on" }, "mode must be manual, auto or off"],
    [{ ...MANUAL, mode: "Manual" }, "mode must be manual, auto or off"],
    [{ ttl_seconds: 60 }, "mode is required"],
    [{ ...MANUAL, mode: 1 }, "mode must be a string"],
    [{ ...MANUAL, reason: 1 }, "reason must be a string"],
    [{ ...MANUAL, zone: WWW }, 'unknown field "zone"'],
  ])("%j is 400", async (body, detail) => {
    await expectError(channel.lever(WWW, body), 400, `invalid JSON body: ${detail}`);
  });
});

describe("lever refusals:", () => {
  test("unknown zone is 404, for setting and clearing", async () => {
    for (const name of ["nowhere.example.net", "%20", "x".repeat(300)]) {
      await expectError(channel.lever(name, MANUAL), 404, "unknown zone");
      await expectError(channel.lever(name, { mode: "off" }), 404, "unknown zone");
      await expectError(channel.clearLever(name), 404, "unknown zone");
    }
    expect(channel.server.audited).toHaveLength(9);
    expect(channel.server.audited[0]).toMatchObject({
      action: "edge_challenge",
      result: "rejected",
      target: "nowhere.example.net",
      reason: "unknown zone",
    });
  });

  test("a zone with policy.mode none is 409 for setting; clearing is allowed", async () => {
    const error = "the zone's policy.mode is none: its requests are not decided, there is nothing to challenge";
    await expectError(channel.lever("bare.example.net", MANUAL), 409, error);
    await lever("bare.example.net", { mode: "off" });
    expect((await channel.clearLever("bare.example.net")).status).toBe(200);
  });

  test("the name of a zone is folded to lower case", async () => {
    expect(await lever("WWW.Example.NET", MANUAL)).toMatchObject({ zone: WWW });
    expect(channel.server.audited).toMatchObject([{ target: WWW }]);
  });

  test("403 for the role is a row of the audit trail, with the zone", async () => {
    await expectError(channel.lever(WWW, MANUAL, "eyes"), 403, "this token's role may not perform this action");
    expect(channel.server.audited).toMatchObject([{ result: "rejected", target: WWW }]);
  });

  test("a lever more than there may be is 409, those that are set may be set anew", async () => {
    const levers = Array.from({ length: LEVERS_MAX }, (_, i) => `gone${i}.example.net`);
    const [zone] = channel.edge.nodes.zones();
    for (const name of [...levers.slice(1), WWW]) {
      if (zone === undefined) throw new Error("the test has zones");
      const decides = { ...zone, name, policy: { ...zone.policy, mode: "decide" as const } };
      await channel.edge.levers.set(decides, { mode: "auto", ttlSeconds: 60, reason: "" }, NOON);
    }
    const error = `${LEVERS_MAX} levers are set: clear one of them`;
    await expectError(channel.lever("shop.example.net", MANUAL), 409, error);
    await lever(WWW, MANUAL);
    await lever(WWW, { mode: "off" });
    await lever("shop.example.net", MANUAL);
  });

  test("what cannot be kept is 503 and changes nothing; what ends a lever is in force, and kept later", async () => {
    await lever(WWW, MANUAL);
    const etag = await channel.etag();
    const { file } = channel.edge.state;
    file.isBroken = true;
    await expectError(await channel.lever(WWW, { ...MANUAL, mode: "auto" }), 503, "disk full; nothing was changed");
    expect([await channel.etag(), isSet()]).toEqual([etag, true]);
    expect(await (await channel.clearLever(WWW)).json()).toMatchObject({ zone: WWW, saved: false });
    expect([isSet(), file.rows.levers.size]).toEqual([false, 1]);
    expect(channel.server.audited.map(({ result }) => result)).toEqual(["set", "error", "cleared"]);
  });
});

describe("lever by a tenant's operator", () => {
  test("sets and clears the levers of its own zones", async () => {
    expect(await lever(WWW, MANUAL, "acme")).toMatchObject({ mode: "manual", nodes: [{ name: "e1" }, { name: "e2" }] });
    expect((await channel.clearLever(WWW, "acme")).status).toBe(200);
    expect(channel.server.audited).toMatchObject([
      { result: "set", tenant: "acme", operator: "acme" },
      { result: "cleared", tenant: "acme" },
    ]);
  });

  const FOREIGN = ["mail.example.net", "bare.example.net", "nowhere.example.net", "gone.example.net"];
  test.each(FOREIGN)("acting on a zone not its own gets 404, the same bytes: %s", async (zone) => {
    await channel.lever("mail.example.net", MANUAL);
    const audited = channel.server.audited.length;
    const answers = [
      await channel.lever(zone, MANUAL, "acme"),
      await channel.lever(zone, { mode: "off" }, "acme"),
      await channel.clearLever(zone, "acme"),
    ];
    for (const answer of answers) await expectError(answer, 404, "unknown zone");
    expect(await channel.metric('svc_api_zone_refused_total{route="edge_lever"}')).toBe(3);
    expect(channel.server.audited).toHaveLength(audited);
    expect(isSet("mail.example.net")).toBe(true);
  });

  test("is refused before the body is read, whatever that is", async () => {
    const path = PATH.replace(WWW, "mail.example.net");
    for (const body of ["", "{", "x".repeat(EDGE_ORDER_BYTES_MAX + 1)]) {
      await expectError(channel.post(path, body, "acme"), 404, "unknown zone");
    }
    await expectError(channel.post(path, "{}", "acme", "text/plain"), 415, "Content-Type must be application/json");
  });

  test("is refused a lever on a zone that is gone from the file, its own once", async () => {
    await lever(WWW, MANUAL, "acme");
    channel.configure({ zones: [] });
    await expectError(channel.clearLever(WWW, "acme"), 404, "unknown zone");
    expect(isSet()).toBe(true);
    expect((await channel.clearLever(WWW)).status).toBe(200);
  });

  test.each([
    ["setting", MANUAL],
    ["clearing", { mode: "off" }],
  ])("is refused %s it when a reload gives the zone away while the body comes", async (_, body) => {
    const before = body.mode === "off" ? await lever(WWW, MANUAL) : {};
    const giveAway = () => channel.configure({ zones: [{ name: WWW, tenant: "other" }] });
    const answer = await channel.postSlowly(PATH, JSON.stringify(body), "acme", giveAway);
    expect(answer).toEqual({ status: 404, body: '{"error":"unknown zone"}' });
    expect(isSet()).toBe("mode" in before);
  });

  test("is logged once a minute per token, with neither zone nor reason", async () => {
    channel.admit(
      { ...agent("acme"), role: "operator", tenant: "acme" },
      { ...agent("acme2"), role: "operator", tenant: "acme" },
    );
    for (const token of ["acme", "acme", "acme2"]) await channel.clearLever("mail.example.net", token);
    const line = { tenant: "acme", route: "edge_lever" };
    const told = () => channel.server.logged.map((fields) => ({ ...fields }));
    expect(told()).toEqual([
      { ...line, token_name: "acme", suppressed: 0 },
      { ...line, token_name: "acme2", suppressed: 0 },
    ] as object[]);
    clock().advance(60_000);
    await channel.clearLever("mail.example.net", "acme");
    expect(told().at(-1)).toEqual({ ...line, token_name: "acme", suppressed: 1 } as object);
  });
});

describe("lever audit: setting and clearing are edge_challenge", () => {
  test("with the zone, the caller and the reason", async () => {
    await lever(WWW, MANUAL);
    await lever(WWW, { mode: "off", reason: "over" });
    await channel.clearLever(WWW);
    const row = {
      ...{ wallMs: NOON, action: "edge_challenge", operator: "admin", role: "operator", tenant: "" },
      ...{ target: WWW, targetType: "zone", source: "api", banState: "", dryRun: false },
    };
    expect<unknown>(channel.server.audited).toEqual([
      { ...row, result: "set", reason: "ticket 7" },
      { ...row, result: "cleared", reason: "over" },
      { ...row, result: "cleared", reason: "" },
    ]);
  });
});
