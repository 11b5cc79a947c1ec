/**
 * The life of a source block out of dry run (docs/interface.md#source-block-states), by the whole service over a kernel
 * that stands for the real one.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { NOON } from "../fixtures/browser/views.ts";
import { ManualClock } from "../fixtures/manual-clock.ts";
import { TableKernel } from "../fixtures/mitigation/source-blocks.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

const BLOCK = "/api/v1/dataplane/sources";
const REST = `
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0], allowlist: [198.51.100.53] }
`;
const LIVE = `dry_run: false\nnetworks: [203.0.113.0/24]${REST}`;
const VICTIM = "203.0.113.7";
const SOURCE = "198.51.100.1";
const NAME = `${SOURCE}->${VICTIM}`;

let directory: string;
let clock: ManualClock;
let kernel: TableKernel;
let service: ServiceInProcess;

function start(config = LIVE): void {
  service = new ServiceInProcess({ directory, config, kernel, clock });
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

type Wire = SourceBlockWire & { readonly error?: string };

const block = (fields: object = {}) =>
  service.post<Wire>(BLOCK, { victim: VICTIM, source: SOURCE, ttl_seconds: 60, ...fields });
const unblock = (fields: object = {}) =>
  service.post<Wire>(`${BLOCK}/unblock`, { victim: VICTIM, source: SOURCE, ...fields });
const listed = async () => (await service.get<{ sources: SourceBlockWire[] }>(BLOCK)).sources;

async function reload(config: string): Promise<void> {
  service.writeConfig(config);
  expect((await service.post("/api/v1/config/reload", {})).status).toBe(200);
}

test("source block in the kernel: a live one is there with an expiry of its own, and in the state database", async () => {
  const { status, body } = await block({ ttl_seconds: 90 });
  expect(status).toBe(200);
  expect(body).toMatchObject({ dry_run: false, expires_at: new Date(NOON + 90_000).toISOString() });
  expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(NOON + 90_000);
  expect(service.state.sourceBlocks()).toMatchObject([{ source: SOURCE, victim: VICTIM, expiresAt: NOON + 90_000 }]);
});

test("source block refresh gives the kernel the new expiry", async () => {
  await block({ ttl_seconds: 90 });
  clock.advance(1000);
  expect((await block({ ttl_seconds: 10 })).body.created_at).toBe(new Date(NOON).toISOString());
  expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(NOON + 11_000);
});

test("source block removal takes the pair out of the kernel at once, and no other", async () => {
  await block();
  await block({ victim: "203.0.113.8" });
  expect((await unblock()).status).toBe(200);
  expect(kernel.names).toEqual([`${SOURCE}->203.0.113.8`]);
});

describe("source block install failure:", () => {
  test("go all pairs of that source, and the error says so", async () => {
    for (const victim of ["203.0.113.1", "203.0.113.2"]) await block({ victim });
    await block({ source: "198.51.100.2" });
    kernel.broken.add("put");
    expect(await block({ victim: "203.0.113.3" })).toEqual({
      status: 503,
      body: { error: `the kernel did not take the block: all blocks of ${SOURCE} were removed` } as Wire,
    });
    expect((await listed()).map(({ source }) => source)).toEqual(["198.51.100.2"]);
    expect(kernel.names).toEqual([`198.51.100.2->${VICTIM}`]);
    expect(service.state.sourceBlocks()).toHaveLength(1);
    expect(service.logged).toContainEqual(
      expect.objectContaining({ level: "error", reason: "install_failed", count: 3 }),
    );
    expect(await service.metrics.text()).toContain('svc_source_blocks_ended_total{reason="install_failed"} 3');
  });

  test("a removal that fails leaves the block in force, and says so", async () => {
    await block();
    kernel.broken.add("remove");
    expect(await unblock()).toEqual({
      status: 503,
      body: { error: "the kernel did not give up the block: it is still in force" } as Wire,
    });
    expect([await listed(), kernel.names, service.state.sourceBlocks()]).toMatchObject([[{}], [NAME], [{}]]);
  });
});

describe("source block expiry holds", () => {
  test("in list, kernel, metrics and state", async () => {
    await block({ ttl_seconds: 30 });
    clock.advance(29_999);
    expect(await listed()).toHaveLength(1);
    clock.advance(1);
    expect(await listed()).toEqual([]);
    clock.advance(300);
    expect([kernel.names, service.state.sourceBlocks()]).toEqual([[], []]);
    expect(await service.metrics.text()).toContain('svc_source_blocks{state="installed"} 0');
  });

  test("and not when the wall clock is set", async () => {
    await block({ ttl_seconds: 30 });
    clock.setWall("2026-03-01T18:00:00.000Z");
    clock.advance(29_000);
    expect(await listed()).toHaveLength(1);
    expect(service.state.sourceBlocks()).toMatchObject([{ expiresAt: Date.parse("2026-03-01T18:00:30.000Z") }]);
    clock.advance(1000);
    expect(await listed()).toEqual([]);
  });

  test("also while the service is down", async () => {
    await block({ ttl_seconds: 30 });
    await service.stop();
    clock.advance(30_000);
    start();
    expect([await listed(), kernel.names, service.state.sourceBlocks()]).toMatchObject([[], [], [{}]]);
    clock.advance(300);
    expect(service.state.sourceBlocks()).toEqual([]);
  });
});

describe("source blocks survive", () => {
  test.each(["kept", "lost"])("a restart, with the pairs in the kernel %s", async (what) => {
    const { body } = await block({ reason: "scan" });
    await service.stop();
    if (what === "lost") kernel.pairs.clear();
    clock.advance(10_000);
    start();
    expect(await listed()).toMatchObject([body]);
    expect([...kernel.pairs.values()]).toMatchObject([{ source: SOURCE, expiresAtMs: NOON + 60_000 }]);
  });

  test("a start whose kernel fails: they are shown as not installed until it works", async () => {
    await block();
    await service.stop();
    kernel = new TableKernel();
    kernel.broken.add("put");
    start();
    expect(await listed()).toMatchObject([{ source: SOURCE, installed: false }]);
    expect(await service.metrics.text()).toContain('svc_source_blocks{state="missing"} 1');
    kernel.broken.clear();
    clock.advance(300);
    expect((await listed())[0]).not.toHaveProperty("installed");
    expect(kernel.names).toEqual([NAME]);
  });
});

describe("source blocks in dry run:", () => {
  test("no kernel map is written", async () => {
    await reload(`dry_run: true\nnetworks: [203.0.113.0/24]${REST}`);
    kernel.calls.length = 0;
    expect((await block()).body).toMatchObject({ dry_run: true });
    clock.advance(60_000);
    expect(kernel.calls.filter((call) => call.startsWith("put"))).toEqual([]);
    expect(kernel.names).toEqual([]);
  });

  test("what was real becomes virtual, and what is virtual becomes real with the end of it", async () => {
    await block();
    await reload(`dry_run: true\nnetworks: [203.0.113.0/24]${REST}`);
    expect([(await listed())[0]?.dry_run, kernel.names]).toEqual([true, []]);
    await reload(LIVE);
    expect([(await listed())[0]?.dry_run, kernel.names]).toEqual([false, [NAME]]);
  });
});

describe("source blocks that a reload removes, and names in the log:", () => {
  test.each([
    ["a victim that is whitelisted now", `${LIVE}protected_whitelist: [${VICTIM}]\n`, "victim_whitelisted"],
    [
      "a victim outside the networks now",
      LIVE.replace("203.0.113.0/24", "203.0.113.128/25"),
      "victim_outside_networks",
    ],
    ["a source that is allowlisted now", LIVE.replace("198.51.100.53", "198.51.100.0/28"), "source_allowlisted"],
    ["a source inside the networks now", LIVE.replace("[203.", "[198.51.100.0/28, 203."), "source_in_networks"],
  ])("%s", async (_, config, reason) => {
    await block();
    await block({ source: "198.51.100.99", victim: "203.0.113.200" });
    await reload(config);
    expect((await listed()).map(({ source }) => source)).toEqual(["198.51.100.99"]);
    expect(kernel.names).toEqual(["198.51.100.99->203.0.113.200"]);
    expect(service.logged).toContainEqual(expect.objectContaining({ level: "warn", reason, count: 1, pairs: [NAME] }));
    clock.advance(300);
    expect(service.state.sourceBlocks()).toHaveLength(1);
  });
});

describe.each([
  ["absent", LIVE.replace(/dataplane:.*\n/, "")],
  ["disabled", LIVE.replace("interfaces:", "enabled: false, interfaces:")],
])("source block refused for a data plane that is %s", (_, live) => {
  const error = "the data plane is absent or disabled: see dataplane in the configuration";

  test.each(["false", "true"])("of a block and of an unblock, with dry_run: %s", async (dryRun) => {
    await service.stop();
    start(live.replace("dry_run: false", `dry_run: ${dryRun}`));
    const refused = { status: 409, body: { error } as Wire };
    expect([await block(), await unblock()]).toEqual([refused, refused]);
    // What is refused in any case is refused for that; bad input comes before.
    expect(await block({ victim: "192.0.2.1" })).toEqual(refused);
    expect((await block({ ttl_seconds: 0 })).status).toBe(400);
    expect((await unblock({ source: "x" })).status).toBe(400);
    expect(await listed()).toEqual([]);
  });
});
