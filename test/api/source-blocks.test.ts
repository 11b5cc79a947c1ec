/** The source-block channel (docs/interface.md#source-block-command), by the whole service. */
import { describe, expect, test } from "bun:test";
import { NOON } from "../fixtures/browser/views.ts";
import {
  BLOCK,
  Blocks,
  type Caller,
  DRY,
  LIVE,
  NAME,
  OTHERS_VICTIM,
  refused,
  SOURCE,
} from "../fixtures/mitigation/blocks.ts";

const blocks = new Blocks();
const { block, unblock, listed, metric } = blocks;

describe("source block", () => {
  test("source and victim are addresses in their one spelling", async () => {
    const { body } = await block({ source: "2001:DB9:0::1", victim: "2001:DB8::7" });
    expect(body).toMatchObject({ source: "2001:db9::1", victim: "2001:db8::7" });
  });

  test("created_at and expires_at are RFC 3339, ttl_seconds apart", async () => {
    const times = { created_at: new Date(NOON).toISOString(), expires_at: new Date(NOON + 90_000).toISOString() };
    expect((await block({ ttl_seconds: 90 })).body).toMatchObject(times);
  });

  test("dry_run is a boolean: that of the service", async () => {
    expect((await block()).body.dry_run).toBe(false);
    await blocks.reload(DRY);
    expect((await block()).body.dry_run).toBe(true);
  });

  test("reason is a string that databases can hold: the caller's, empty where there was none", async () => {
    for (const [reason, told] of [
      ["ticket 17", "ticket 17"],
      [undefined, ""],
      ["a\ud83d", "a\ufffd"],
    ]) {
      expect((await block({ reason })).body.reason).toBe(told as string);
    }
    expect((await block({ reason: "😀".repeat(1000) })).body.reason).toBe("😀".repeat(1000));
  });

  test("no other field is there", async () => {
    const fields = ["created_at", "dry_run", "expires_at", "reason", "source", "victim"];
    expect(Object.keys((await block()).body).toSorted()).toEqual(fields);
  });
});

const TTL = "ttl_seconds must be a whole number from 1 to 86400";
const FAMILIES = "victim and source are of different address families";

describe("source block bad input", () => {
  test.each([
    [{ ttl_seconds: 0 }, TTL],
    [{ ttl_seconds: 1.5 }, TTL],
    [{ ttl_seconds: "60" }, "ttl_seconds must be a number"],
    [{ ttl_seconds: undefined }, "ttl_seconds is required"],
    [{ source: "2001:db9::1" }, FAMILIES],
    [{ victim: "2001:db8::1" }, FAMILIES],
    [{ victim: undefined }, "victim is required"],
    [{ source: 7 }, "source must be a string"],
    [{ reason: 7 }, "reason must be a string"],
    [{ reason: "x".repeat(1001) }, "reason has more than 1000 characters"],
    [{ ttl: 60 }, 'unknown field "ttl"'],
  ])("of a block is 400: %j", async (fields, error) => {
    expect(await block(fields)).toEqual(refused(400, `invalid JSON body: ${error}`));
    expect(await listed()).toEqual([]);
  });

  test.each(["203.0.113", "198.51.100.01", "198.51.100.0/24", "::ffff:198.51.100.1", ""])(
    "of a block is 400: the address %p",
    async (text) => {
      for (const field of ["source", "victim"]) {
        expect(await block({ [field]: text })).toEqual(refused(400, `invalid ip: ${text}`));
      }
    },
  );

  test.each([
    [{ victim: "x" }, "invalid ip: x"],
    [{ source: "2001:db9::1" }, `invalid JSON body: ${FAMILIES}`],
    [{ source: undefined }, "invalid JSON body: source is required"],
  ])("of an unblock is 400: %j", async (fields, error) => {
    expect(await unblock(fields)).toEqual(refused(400, error));
  });

  test("is what is no JSON", async () => {
    expect((await blocks.service.post(BLOCK, "{", "noc")).status).toBe(400);
  });

  test.each([1, 86_400])("is no ttl_seconds of %d", async (seconds) => {
    expect((await block({ ttl_seconds: seconds })).status).toBe(200);
  });
});

test("source unblock ignores ttl_seconds, whatever it is, and takes a reason for the audit trail", async () => {
  await block();
  expect((await unblock({ ttl_seconds: "never", reason: "ticket 18" })).status).toBe(200);
  expect(blocks.service.audited[1]).toMatchObject({ action: "source_unblock", result: "removed", reason: "ticket 18" });
});

test("source unblock without a live block of the pair is 404, also where the source has another", async () => {
  await block();
  expect(await unblock({ victim: "203.0.113.8" })).toEqual(refused(404, "no such source block"));
  expect([(await unblock()).status, (await unblock()).status]).toEqual([200, 404]);
});

describe("source block refused", () => {
  test.each([
    { fields: { victim: "203.0.113.53" }, error: "victim is in the protected whitelist" },
    { fields: { victim: "192.0.2.1" }, error: "victim is outside configured networks" },
    { fields: { source: "198.51.100.53" }, error: "source is in the data plane allowlist" },
    { fields: { source: "2001:db9:1::9", victim: "2001:db8::1" }, error: "source is in the data plane allowlist" },
    { fields: { source: "203.0.113.9" }, error: "source is inside the protected networks" },
  ])("$error: $fields", async ({ fields, error }) => {
    expect(await block(fields)).toEqual(refused(409, error));
    expect(await listed()).toEqual([]);
  });

  test("the ninth victim of a source, not for a refresh", async () => {
    for (let i = 1; i <= 8; i++) await block({ victim: `203.0.113.${i}` });
    const error = "source already holds 8 victims: unblock one of them";
    expect(await block({ victim: "203.0.113.9" })).toEqual(refused(409, error));
    expect((await block({ victim: "203.0.113.8" })).status).toBe(200);
  });

  test("more pairs than max_dynamic_rules less eight for each ban", async () => {
    for (let i = 0; i < 18; i++) await block({ source: `198.51.100.${100 + i}` });
    const error = "no policy slots left: unblock others, or raise dataplane.limits.max_dynamic_rules";
    expect(await block()).toEqual(refused(409, error));
  });

  test("is counted by its reason", async () => {
    await block({ source: "198.51.100.53" });
    await unblock();
    for (const reason of ["source_allowlisted", "not_blocked"]) {
      expect(await metric(`svc_source_blocks_refused_total{reason="${reason}"}`)).toBe(1);
    }
  });
});

describe.each([
  ["absent", LIVE.replace(/dataplane:.*\n/, "")],
  ["disabled", LIVE.replace("interfaces:", "enabled: false, interfaces:")],
])("source block refused for a data plane that is %s", (_, live) => {
  test.each(["false", "true"])("of a block and of an unblock, with dry_run: %s", async (dryRun) => {
    await blocks.service.stop();
    blocks.start(live.replace("dry_run: false", `dry_run: ${dryRun}`));
    const none = refused(409, "the data plane is absent or disabled: see dataplane in the configuration");
    // What is refused in any case is refused for that; bad input comes before.
    expect([await block(), await unblock(), await block({ victim: "192.0.2.1" })]).toEqual([none, none, none]);
    expect((await block({ ttl_seconds: 0 })).status).toBe(400);
    expect((await unblock({ source: "x" })).status).toBe(400);
    expect(await listed()).toEqual([]);
  });
});

const FOREIGN = refused(403, "target is outside your tenant");

describe("source block 403", () => {
  test("for a victim outside of the caller's tenant, uniformly, whatever there is of it", async () => {
    for (const victim of [OTHERS_VICTIM, "2001:db8::1", "192.0.2.1"]) {
      const source = victim.includes(":") ? "2001:db9::1" : SOURCE;
      await block({ victim, source });
      expect(await block({ victim, source }, "acme")).toEqual(FOREIGN);
      for (const last of ["1", "2"]) {
        expect(await unblock({ victim, source: source.replace(/1$/, last) }, "acme")).toEqual(FOREIGN);
      }
    }
    expect(await listed()).toHaveLength(2);
    for (const ask of [block, unblock]) expect((await ask({}, "acme")).status).toBe(200);
  });

  test("comes before all state and after all bad input", async () => {
    expect(await block({ victim: OTHERS_VICTIM, source: "198.51.100.53" }, "acme")).toEqual(FOREIGN);
    expect((await block({ victim: OTHERS_VICTIM, ttl_seconds: 0 }, "acme")).status).toBe(400);
    expect((await block({ victim: OTHERS_VICTIM, source: "2001:db9::1" }, "acme")).status).toBe(400);
  });

  test.each(["node", "eyes"] as const)("for the role of %s", async (caller) => {
    const denied = refused(403, "this token's role may not perform this action");
    expect([await block({}, caller), await unblock({}, caller)]).toEqual([denied, denied]);
  });
});

test("GET /api/v1/dataplane/sources lists what is live, the oldest first, and to a tenant what is for its victims", async () => {
  for (const last of [9, 2, 9]) await block({ source: `198.51.100.${last}` });
  await block({ victim: OTHERS_VICTIM, source: "198.51.100.3" });
  const sourcesFor = async (caller: Caller) => (await listed(caller)).map(({ source }) => source.split(".")[3]);
  expect([await sourcesFor("eyes"), await sourcesFor("acme")]).toEqual([
    ["9", "2", "3"],
    ["9", "2"],
  ]);
});

describe("source block audit:", () => {
  const PAIR = { target: NAME, targetType: "source", source: "api", banState: "", dryRun: false };

  test("a block and an unblock are one row each, with the operator and the caller's words", async () => {
    await block({ reason: "scan" }, "acme");
    await unblock({}, "acme");
    const own = { ...PAIR, wallMs: NOON, operator: "acme", role: "operator", tenant: "acme" };
    expect<unknown>(blocks.service.audited).toEqual([
      { ...own, action: "source_block", result: "blocked", reason: "scan" },
      { ...own, action: "source_unblock", result: "removed", reason: "" },
    ]);
  });

  const POLICY = "source is in the data plane allowlist";
  const ROWS: readonly [string, object, Caller, object][] = [
    ["a refusal by policy", { source: "198.51.100.53" }, "noc", { result: "rejected", reason: POLICY }],
    [
      "a foreign victim",
      { victim: OTHERS_VICTIM },
      "acme",
      { result: "rejected", reason: "target is outside your tenant" },
    ],
    ["a role that may not", {}, "node", { result: "rejected", operator: "node", role: "agent", target: "" }],
    ["a bad TTL", { ttl_seconds: 0 }, "noc", { result: "error", target: NAME }],
    ["a bad address", { source: "x" }, "noc", { result: "error", target: "", reason: "invalid ip: x" }],
    ["an unknown field", { x: 1 }, "noc", { result: "error", target: "" }],
  ];
  test.each(ROWS)("%s is one row", async (_, fields, caller, row) => {
    await block(fields, caller);
    expect(blocks.service.audited).toHaveLength(1);
    expect(blocks.service.audited).toMatchObject([{ ...row, action: "source_block", targetType: "source" }]);
  });

  test("an unblock of nothing is one row", async () => {
    await unblock();
    const row = { ...PAIR, action: "source_unblock", result: "rejected", reason: "no such source block" };
    expect<unknown>(blocks.service.audited).toMatchObject([row]);
  });
});

test("limit victims per source are 8, and one that ends makes room", async () => {
  const victims = async (...last: number[]) => {
    const statuses = last.map(async (i) => (await block({ victim: `203.0.113.${i}` })).status);
    return Promise.all(statuses);
  };
  expect(new Set(await victims(1, 2, 3, 4, 5, 6, 7, 8))).toEqual(new Set([200]));
  expect(await victims(9)).toEqual([409]);
  await unblock({ victim: "203.0.113.1" });
  expect(await victims(9)).toEqual([200]);
});

test("limit dynamic rules: installs count against max_dynamic_rules", async () => {
  const free = () => metric("svc_source_block_slots_free");
  const counts = [await free()];
  for (const ask of [block, unblock]) {
    await ask();
    counts.push(await free());
  }
  expect(counts).toEqual([18, 17, 18]);
});
