/**
 * The source-block channel and the life of a block (docs/interface.md#source-block-command), by the whole service over a
 * kernel that stands for the real one. The table of blocks by itself is in src/sourceblock.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { NOON } from "../fixtures/browser/views.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { ManualClock } from "../fixtures/manual-clock.ts";
import { metricIn } from "../fixtures/metric-value.ts";
import { TableKernel } from "../fixtures/mitigation/source-blocks.ts";
import type { Answer } from "../fixtures/service.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

type Wire = SourceBlockWire & { readonly error?: string };
type Caller = "noc" | "acme" | "node" | "eyes";

const BLOCK = "/api/v1/dataplane/sources";
const VICTIM = "203.0.113.7";
const OTHERS_VICTIM = "203.0.113.200";
const SOURCE = "198.51.100.1";
const NAME = `${SOURCE}->${VICTIM}`;
/** Room for 18 pairs beside the bans. */
const LIVE = `dry_run: false
networks: [203.0.113.0/24, 2001:db8::/32]
protected_whitelist: [203.0.113.53]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25], tenant: acme }
  - { name: mail, networks: [203.0.113.128/25], tenant: other }
ban: { max_active_bans: 1 }
dataplane: { interfaces: [fw-absent0], allowlist: [198.51.100.53, 2001:db9:1::/48], limits: { max_dynamic_rules: 26 } }
`;
const DRY = LIVE.replace("dry_run: false", "dry_run: true");
const TOKENS = [
  { ...agent("noc"), role: "operator" },
  { ...agent("acme"), role: "operator", tenant: "acme" },
  agent("node"),
  { ...agent("eyes"), role: "viewer" },
] as const;

let directory: string;
let clock: ManualClock;
let kernel: TableKernel;
let service: ServiceInProcess;

function start(config = LIVE): void {
  service = new ServiceInProcess({ directory, config, kernel, clock, tokens: TOKENS });
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-blocks-${process.pid}-`));
  clock = new ManualClock();
  kernel = new TableKernel();
  start();
});
afterEach(async () => {
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

const block = (fields: object = {}, caller: Caller = "noc") =>
  service.post<Wire>(BLOCK, { victim: VICTIM, source: SOURCE, ttl_seconds: 60, ...fields }, caller);
const unblock = (fields: object = {}, caller: Caller = "noc") =>
  service.post<Wire>(`${BLOCK}/unblock`, { victim: VICTIM, source: SOURCE, ...fields }, caller);
const listed = async (caller: Caller = "noc") =>
  (await service.get<{ sources: SourceBlockWire[] }>(BLOCK, caller)).sources;
const stored = () => service.state.sourceBlocks();
const metric = async (line: string) => metricIn(await service.metrics.text(), line);
const refused = (status: number, error: string): Answer<Wire> => ({ status, body: { error } as Wire });

async function reload(config: string): Promise<void> {
  service.writeConfig(config);
  expect((await service.post("/api/v1/config/reload", {}, "noc")).status).toBe(200);
}

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
    await reload(DRY);
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

  test("created by a block is live, until an unblock removes and returns it", async () => {
    const { status, body } = await block({ reason: "scan" });
    expect([status, await listed()]).toMatchObject([200, [body]]);
    expect(await unblock()).toEqual({ status: 200, body });
    expect([await listed(), kernel.names, stored()]).toEqual([[], [], []]);
  });

  test("refreshed by a block of the same pair stays live: created_at stays, the new TTL holds, shorter ones too", async () => {
    const first = (await block({ ttl_seconds: 600, reason: "first" })).body;
    clock.advance(1000);
    const again = (await block({ ttl_seconds: 30, reason: "again" })).body;
    expect(again).toMatchObject({ created_at: first.created_at, reason: "again" });
    expect(again.expires_at).toBe(new Date(NOON + 31_000).toISOString());
    expect(await listed()).toMatchObject([again]);
  });

  test("lapsed by its TTL is removed by itself, from list, kernel, metrics and state", async () => {
    await block({ ttl_seconds: 30 });
    expect(await metric('svc_source_blocks{state="installed"}')).toBe(1);
    clock.advance(29_999);
    expect(await listed()).toHaveLength(1);
    clock.advance(1);
    expect(await listed()).toEqual([]);
    clock.advance(300);
    expect([kernel.names, stored(), await metric('svc_source_blocks{state="installed"}')]).toEqual([[], [], 0]);
    expect((await unblock()).status).toBe(404);
  });

  test("in the kernel: a live one is there with an expiry of its own, and in the state database", async () => {
    await block({ ttl_seconds: 90 });
    expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(NOON + 90_000);
    expect(stored()).toMatchObject([{ source: SOURCE, victim: VICTIM, expiresAt: NOON + 90_000 }]);
  });

  test("refresh gives the kernel the new expiry", async () => {
    await block({ ttl_seconds: 90 });
    clock.advance(1000);
    await block({ ttl_seconds: 10 });
    expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(NOON + 11_000);
  });

  test("removal takes the pair out of the kernel at once, and no other", async () => {
    for (const victim of [VICTIM, "203.0.113.8"]) await block({ victim });
    await unblock();
    expect(kernel.names).toEqual([`${SOURCE}->203.0.113.8`]);
  });

  test("expiry holds also while the service is down", async () => {
    await block({ ttl_seconds: 30 });
    await service.stop();
    clock.advance(30_000);
    start();
    expect([await listed(), kernel.names]).toEqual([[], []]);
    clock.advance(300);
    expect(stored()).toEqual([]);
  });

  test("install failure: go all pairs of that source, and the error says so", async () => {
    for (const victim of ["203.0.113.1", "203.0.113.2"]) await block({ victim });
    await block({ source: "198.51.100.2" });
    kernel.broken.add("put");
    const error = `the kernel did not take the block: all blocks of ${SOURCE} were removed`;
    expect(await block({ victim: "203.0.113.3" })).toEqual(refused(503, error));
    expect((await listed()).map(({ source }) => source)).toEqual(["198.51.100.2"]);
    expect([kernel.names, stored().length]).toEqual([[`198.51.100.2->${VICTIM}`], 1]);
    expect(service.logged).toContainEqual(
      expect.objectContaining({ level: "error", reason: "install_failed", count: 3 }),
    );
    expect(await metric('svc_source_blocks_ended_total{reason="install_failed"}')).toBe(3);
  });

  test("install failure: a removal that fails leaves the block in force, and says so", async () => {
    await block();
    kernel.broken.add("remove");
    expect(await unblock()).toEqual(refused(503, "the kernel did not give up the block: it is still in force"));
    expect([await listed(), kernel.names, stored()]).toMatchObject([[{}], [NAME], [{}]]);
  });
});

describe("source blocks", () => {
  test.each(["kept", "lost"])("survive a restart, with the pairs in the kernel %s", async (what) => {
    const { body } = await block({ reason: "scan" });
    await service.stop();
    if (what === "lost") kernel.pairs.clear();
    clock.advance(10_000);
    start();
    expect(await listed()).toMatchObject([body]);
    expect([...kernel.pairs.values()]).toMatchObject([{ source: SOURCE, expiresAtMs: NOON + 60_000 }]);
  });

  test("survive a start whose kernel fails: they are shown as not installed until it works", async () => {
    await block();
    await service.stop();
    kernel = new TableKernel();
    kernel.broken.add("put");
    start();
    expect(await listed()).toMatchObject([{ source: SOURCE, installed: false }]);
    expect(await metric('svc_source_blocks{state="missing"}')).toBe(1);
    kernel.broken.clear();
    clock.advance(300);
    expect((await listed())[0]).not.toHaveProperty("installed");
    expect(kernel.names).toEqual([NAME]);
  });

  test("in dry run: what was real becomes virtual, no kernel map is written, and all becomes real with the end of it", async () => {
    await block();
    await reload(DRY);
    expect([(await listed())[0]?.dry_run, kernel.names]).toEqual([true, []]);
    kernel.calls.length = 0;
    await block({ victim: "203.0.113.8" });
    expect(kernel.calls.filter((call) => call.startsWith("put"))).toEqual([]);
    await reload(LIVE);
    expect([(await listed()).map(({ dry_run }) => dry_run), kernel.names.length]).toEqual([[false, false], 2]);
  });

  test.each([
    ["a victim that is whitelisted now", LIVE.replace("113.53]", `113.53, ${VICTIM}]`), "victim_whitelisted"],
    [
      "a victim outside the networks now",
      LIVE.replace("[203.0.113.0/24", "[203.0.113.128/25").replace(/ {2}- { name: web.*\n/, ""),
      "victim_outside_networks",
    ],
    ["a source that is allowlisted now", LIVE.replace("198.51.100.53", "198.51.100.0/28"), "source_allowlisted"],
    ["a source inside the networks now", LIVE.replace("[203.", "[198.51.100.0/28, 203."), "source_in_networks"],
  ])("that a reload removes, and names in the log: %s", async (_, config, reason) => {
    await block();
    await block({ source: "198.51.100.99", victim: OTHERS_VICTIM });
    await reload(config);
    expect((await listed()).map(({ source }) => source)).toEqual(["198.51.100.99"]);
    expect(kernel.names).toEqual([`198.51.100.99->${OTHERS_VICTIM}`]);
    expect(service.logged).toContainEqual(expect.objectContaining({ level: "warn", reason, count: 1, pairs: [NAME] }));
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
    expect((await service.post(BLOCK, "{", "noc")).status).toBe(400);
  });

  test.each([1, 86_400])("is no ttl_seconds of %d", async (seconds) => {
    expect((await block({ ttl_seconds: seconds })).status).toBe(200);
  });
});

test("source unblock ignores ttl_seconds, whatever it is, and takes a reason for the audit trail", async () => {
  await block();
  expect((await unblock({ ttl_seconds: "never", reason: "ticket 18" })).status).toBe(200);
  expect(service.audited[1]).toMatchObject({ action: "source_unblock", result: "removed", reason: "ticket 18" });
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
    await service.stop();
    start(live.replace("dry_run: false", `dry_run: ${dryRun}`));
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
    expect<unknown>(service.audited).toEqual([
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
    expect(service.audited).toHaveLength(1);
    expect(service.audited).toMatchObject([{ ...row, action: "source_block", targetType: "source" }]);
  });

  test("an unblock of nothing is one row", async () => {
    await unblock();
    const row = { ...PAIR, action: "source_unblock", result: "rejected", reason: "no such source block" };
    expect<unknown>(service.audited).toMatchObject([row]);
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
