/**
 * The source-block channel (docs/interface.md#source-block-command), by the whole service over a kernel that stands for
 * the real one. The table of blocks by itself is in src/sourceblock.
 */
import { describe, expect, test } from "bun:test";
import * as fixture from "../fixtures/mitigation/blocks.ts";
import { TableKernel } from "../fixtures/mitigation/source-blocks.ts";
import { NOON } from "../fixtures/views.ts";

const { BLOCK, DRY, LIVE, NAME, OTHERS_VICTIM, refused, SOURCE, VICTIM } = fixture;
const blocks = new fixture.Blocks();
const { block, unblock, listed, metric } = blocks;
const ok = async (fields?: object) => (await block(fields)).body;

describe("source block", () => {
  test("source and victim are addresses in their one spelling #source-block-source-and-victim", async () => {
    const pair = { source: "2001:db9::1", victim: "2001:db8::7" };
    expect(await ok({ source: "2001:DB9:0::1", victim: "2001:DB8::7" })).toMatchObject(pair);
  });

  test("created_at and expires_at are RFC 3339, ttl_seconds apart #source-block-created-at", async () => {
    const times = { created_at: new Date(NOON).toISOString(), expires_at: new Date(NOON + 90_000).toISOString() };
    expect(await ok({ ttl_seconds: 90 })).toMatchObject(times);
  });

  test("dry_run is a boolean: that of the service #source-block-dry-run", async () => {
    expect((await ok()).dry_run).toBe(false);
    await blocks.reload(DRY);
    expect((await ok()).dry_run).toBe(true);
  });

  test.each([
    ["ticket 17", "ticket 17"],
    [undefined, ""],
    ["a\ud83d", "a\ufffd"],
    ["😀".repeat(1000), "😀".repeat(1000)],
  ])("reason is a string that databases can hold: %# #source-block-reason", async (reason, shown) => {
    expect((await ok({ reason })).reason).toBe(shown);
  });

  test("no other field is there #source-block-no-other-field", async () => {
    const fields = ["created_at", "dry_run", "expires_at", "reason", "source", "victim"];
    expect(Object.keys(await ok()).toSorted()).toEqual(fields);
  });
});

describe("source block bad input", () => {
  const TTL = "ttl_seconds must be a whole number from 1 to 86400";
  const FAMILIES = "victim and source are of different address families";

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
  ])("of a block is 400: %j #source-block-bad-input-of-a-block", async (fields, error) => {
    expect(await block(fields)).toEqual(refused(400, `invalid JSON body: ${error}`));
    expect(await listed()).toEqual([]);
  });

  test.each(["203.0.113", "198.51.100.0/24", ""])(
    "the address %p is 400 #source-block-bad-input-of-a-block",
    async (text) => {
      for (const field of ["source", "victim"])
        expect(await block({ [field]: text })).toEqual(refused(400, `invalid ip: ${text}`));
    },
  );

  test.each([
    [{ victim: "x" }, "invalid ip: x"],
    [{ source: "2001:db9::1" }, `invalid JSON body: ${FAMILIES}`],
    [{ source: undefined }, "invalid JSON body: source is required"],
  ])("of an unblock is 400: %j #source-block-bad-input-of-an-unblock", async (fields, error) => {
    expect(await unblock(fields)).toEqual(refused(400, error));
  });

  test("what is no JSON is 400 #source-block-bad-input-is-what-is-no-json", async () => {
    expect((await blocks.running.post(BLOCK, "{", "noc")).status).toBe(400);
  });

  test.each([1, 86_400])("ttl_seconds of %d is accepted #source-block-bad-input-is-no-ttl-seconds", async (seconds) => {
    expect((await block({ ttl_seconds: seconds })).status).toBe(200);
  });
});

test("an unblock ignores ttl_seconds, whatever it is, and takes a reason for the audit trail #source-unblock-ignores-ttl-seconds", async () => {
  await block();
  expect((await unblock({ ttl_seconds: "never", reason: "ticket 18" })).status).toBe(200);
  expect(blocks.running.audited[1]).toMatchObject({ action: "source_unblock", result: "removed", reason: "ticket 18" });
});

test("an unblock without a live block of the pair is 404, also where the source has another #source-unblock-without-a-live-block", async () => {
  await block();
  expect(await unblock({ victim: "203.0.113.8" })).toEqual(refused(404, "no such source block"));
  expect([(await unblock()).status, (await unblock()).status]).toEqual([200, 404]);
});

describe("source block refused", () => {
  test.each([
    ["victim is in the protected whitelist", { victim: "203.0.113.53" }],
    ["victim is outside configured networks", { victim: "192.0.2.1" }],
    ["source is in the data plane allowlist", { source: "198.51.100.53" }],
    ["source is in the data plane allowlist", { source: "2001:db9:1::9", victim: "2001:db8::1" }],
    ["source is inside the protected networks", { source: "203.0.113.9" }],
  ])(
    "%s: %j #source-block-refused-victim-is-outside-configured-networks #source-block-refused-source-is-inside-the-protected-networks #source-block-refused-victim-is-in-the-protected-whitelist #source-block-refused-source-is-in-the-data-plane-allowlist",
    async (error, fields) => {
      expect([await block(fields), await listed()]).toEqual([refused(409, error), []]);
    },
  );

  test("the ninth victim of a source #source-block-refused-the-ninth-victim", async () => {
    for (let i = 1; i <= 8; i++) await block({ victim: `203.0.113.${i}` });
    const error = "source already holds 8 victims: unblock one of them";
    expect(await block({ victim: "203.0.113.9" })).toEqual(refused(409, error));
  });

  test("more pairs than slots: a filter rule takes one at each of its destinations #source-block-refused-more-pairs", async () => {
    await blocks.restart(`${LIVE}filter_rules: [{ name: own, action: drop, protocol: udp }]\n`);
    for (let i = 0; i < 16; i++) expect((await block({ source: `198.51.100.${100 + i}` })).status).toBe(200);
    const error = "no policy slots left: unblock others, or raise dataplane.limits.max_dynamic_rules";
    expect(await block()).toEqual(refused(409, error));
  });

  test("is counted by its reason #source-block-refused-is-counted", async () => {
    await block({ source: "198.51.100.53" });
    await unblock();
    for (const reason of ["source_allowlisted", "not_blocked"])
      expect(await metric(`svc_source_blocks_refused_total{reason="${reason}"}`)).toBe(1);
  });

  test.each([
    ["absent", LIVE.replace(/dataplane:.*\n/, "")],
    ["disabled", LIVE.replace("interfaces:", "enabled: false, interfaces:")],
    ["disabled, in dry run", DRY.replace("interfaces:", "enabled: false, interfaces:")],
  ])(
    "for a data plane that is %s, after bad input #source-block-refused-for-a-data-plane-that-is-absent #source-block-refused-for-a-data-plane-that-is-disabled",
    async (_, config) => {
      await blocks.restart(config);
      const none = refused(409, "the data plane is absent or disabled: see dataplane in the configuration");
      // What is refused in any case is refused for that.
      expect([await block(), await unblock(), await block({ victim: "192.0.2.1" })]).toEqual([none, none, none]);
      expect([(await block({ ttl_seconds: 0 })).status, (await unblock({ source: "x" })).status]).toEqual([400, 400]);
    },
  );
});

const FOREIGN = refused(403, "target is outside your tenant");

describe("source block 403", () => {
  test.each([OTHERS_VICTIM, "2001:db8::1", "192.0.2.1"])(
    "for a victim outside of the caller's tenant, uniformly: %s #source-block-403-for-a-victim",
    async (victim) => {
      const [source, other] = victim.includes(":") ? ["2001:db9::1", "2001:db9::2"] : [SOURCE, "198.51.100.2"];
      await block({ victim, source });
      for (const ask of [() => block({ victim, source }, "acme"), () => unblock({ victim, source }, "acme")])
        expect(await ask()).toEqual(FOREIGN);
      expect(await unblock({ victim, source: other }, "acme")).toEqual(FOREIGN);
      for (const ask of [block, unblock]) expect((await ask({}, "acme")).status).toBe(200);
    },
  );

  test("comes before all state and after all bad input #source-block-403-comes-before", async () => {
    expect(await block({ victim: OTHERS_VICTIM, source: "198.51.100.53" }, "acme")).toEqual(FOREIGN);
    for (const fields of [{ ttl_seconds: 0 }, { source: "2001:db9::1" }])
      expect((await block({ victim: OTHERS_VICTIM, ...fields }, "acme")).status).toBe(400);
  });

  test.each(["node", "eyes"] as const)("for the role of %s #source-block-403-for-the-role", async (caller) => {
    const denied = refused(403, "this token's role may not perform this action");
    expect([await block({}, caller), await unblock({}, caller)]).toEqual([denied, denied]);
  });
});

test("GET /api/v1/dataplane/sources lists what is live, the oldest first, and to a tenant what is for its victims #get-api-v1-dataplane-sources", async () => {
  for (const last of [9, 2, 9]) await block({ source: `198.51.100.${last}` });
  await block({ victim: OTHERS_VICTIM, source: "198.51.100.3" });
  const sourcesFor = async (caller: fixture.Caller) => (await listed(caller)).map(({ source }) => source.slice(11));
  expect([await sourcesFor("eyes"), await sourcesFor("acme")]).toEqual([
    ["9", "2", "3"],
    ["9", "2"],
  ]);
});

describe("source block audit", () => {
  const PAIR = { target: NAME, targetType: "source", source: "api", banState: "", dryRun: false };

  test("a block and an unblock are one row each, with the operator and the caller's words #source-block-audit-a-block", async () => {
    await block({ reason: "scan" }, "acme");
    await unblock({}, "acme");
    const own = { ...PAIR, wallMs: NOON, operator: "acme", role: "operator", tenant: "acme" };
    expect<unknown>(blocks.running.audited).toEqual([
      { ...own, action: "source_block", result: "blocked", reason: expect.stringMatching(/^for \d+ s: scan$/) },
      { ...own, action: "source_unblock", result: "removed", reason: "" },
    ]);
  });

  const allowlisted = { result: "rejected", reason: "source is in the data plane allowlist" };
  const foreign = { result: "rejected", reason: "target is outside your tenant" };
  test.each<[string, object, fixture.Caller, object]>([
    ["by policy", { source: "198.51.100.53" }, "noc", allowlisted],
    ["of a foreign victim", { victim: OTHERS_VICTIM }, "acme", foreign],
    ["of a role that may not", {}, "node", { result: "rejected", operator: "node", target: "" }],
    ["of a bad TTL", { ttl_seconds: 0 }, "noc", { result: "error", target: NAME }],
    ["of a bad address", { source: "x" }, "noc", { result: "error", target: "", reason: "invalid ip: x" }],
  ])("a refusal %s is one row #source-block-audit-a-refusal", async (_, fields, caller, row) => {
    await block(fields, caller);
    const whole = { ...row, action: "source_block", targetType: "source" };
    expect(blocks.running.audited).toEqual([expect.objectContaining(whole)]);
  });

  test("an unblock of nothing is one row #source-block-audit-an-unblock", async () => {
    await unblock();
    const row = { ...PAIR, action: "source_unblock", result: "rejected", reason: "no such source block" };
    expect<unknown>(blocks.running.audited).toMatchObject([row]);
  });
});

test("blocks survive a restart whose kernel has lost them, and are installed when it works #source-blocks-survive", async () => {
  const body = await ok({ reason: "scan" });
  blocks.kernel = new TableKernel();
  blocks.kernel.broken.add("put");
  await blocks.restart();
  expect(await listed()).toEqual([{ ...body, installed: false }]);
  expect(await metric('svc_source_blocks{state="missing"}')).toBe(1);
  blocks.kernel.broken.clear();
  blocks.clock.advance(300);
  expect(await listed()).toEqual([body]);
  const pair = { source: SOURCE, victim: VICTIM, expiresAtMs: NOON + 60_000 };
  expect<unknown>([...blocks.kernel.pairs.values()]).toEqual([pair]);
});

test("an install that fails is 503, logged and counted with all blocks that it removes #source-block-install-failure", async () => {
  for (const victim of ["203.0.113.1", "203.0.113.2"]) await block({ victim });
  blocks.kernel.broken.add("put");
  const error = `the kernel did not take the block: all blocks of ${SOURCE} were removed`;
  expect(await block({ victim: "203.0.113.3" })).toEqual(refused(503, error));
  expect([await listed(), blocks.stored()]).toEqual([[], []]);
  const line = { level: "error", reason: "install_failed", count: 3 };
  expect(blocks.running.logged).toContainEqual(expect.objectContaining(line));
  expect(await metric('svc_source_blocks_ended_total{reason="install_failed"}')).toBe(3);
});

test("a reload names in the log what it removes #source-blocks-that-a-reload-removes", async () => {
  await block();
  await block({ source: "198.51.100.99", victim: OTHERS_VICTIM });
  await blocks.reload(LIVE.replace("113.53]", `113.53, ${VICTIM}]`));
  expect(await listed()).toMatchObject([{ source: "198.51.100.99" }]);
  const line = { level: "warn", reason: "victim_whitelisted", count: 1, pairs: [NAME] };
  expect(blocks.running.logged).toContainEqual(expect.objectContaining(line));
});
