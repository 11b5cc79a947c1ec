/**
 * The life of a source block (docs/interface.md#source-block-states), by the whole service over a kernel that stands for
 * the real one. The table of blocks by itself is in src/sourceblock.
 */
import { describe, expect, test } from "bun:test";
import { Blocks, LIVE, NAME, OTHERS_VICTIM, refused, SOURCE, VICTIM } from "../fixtures/mitigation/blocks.ts";
import { TableKernel } from "../fixtures/mitigation/source-blocks.ts";
import { NOON } from "../fixtures/views.ts";

const blocks = new Blocks();
const { block, unblock, listed, stored, metric } = blocks;
const installed = () => metric('svc_source_blocks{state="installed"}');
const expiries = () => [...blocks.kernel.pairs.values()].map(({ expiresAtMs }) => expiresAtMs - NOON);

describe("source block", () => {
  test("created by a block is live, until an unblock removes and returns it", async () => {
    const { status, body } = await block({ reason: "scan" });
    expect([status, await listed()]).toMatchObject([200, [body]]);
    expect(await unblock()).toEqual({ status: 200, body });
    expect([await listed(), blocks.kernel.names, stored()]).toEqual([[], [], []]);
  });

  test("lapsed by its TTL is removed by itself, from list, kernel, metrics and state", async () => {
    await block({ ttl_seconds: 30 });
    blocks.clock.advance(29_999);
    expect([await installed(), (await listed()).length]).toEqual([1, 1]);
    blocks.clock.advance(1);
    expect(await listed()).toEqual([]);
    blocks.clock.advance(300);
    expect([blocks.kernel.names, stored(), await installed()]).toEqual([[], [], 0]);
    expect((await unblock()).status).toBe(404);
  });

  test("refresh gives the kernel the new expiry", async () => {
    await block({ ttl_seconds: 90 });
    await block({ ttl_seconds: 10 });
    expect(expiries()).toEqual([10_000]);
  });

  test("expiry holds also while the service is down", async () => {
    await block({ ttl_seconds: 30 });
    await blocks.service.stop();
    blocks.clock.advance(30_000);
    blocks.start();
    expect([await listed(), blocks.kernel.names]).toEqual([[], []]);
    blocks.clock.advance(300);
    expect(stored()).toEqual([]);
  });

  test("install failure: removes all blocks of a source when one cannot be installed", async () => {
    for (const victim of ["203.0.113.1", "203.0.113.2"]) await block({ victim });
    await block({ source: "198.51.100.2" });
    blocks.kernel.broken.add("put");
    const error = `the kernel did not take the block: all blocks of ${SOURCE} were removed`;
    expect(await block({ victim: "203.0.113.3" })).toEqual(refused(503, error));
    expect(await listed()).toMatchObject([{ source: "198.51.100.2" }]);
    expect([blocks.kernel.names, stored().length]).toEqual([[`198.51.100.2->${VICTIM}`], 1]);
    const line = { level: "error", reason: "install_failed", count: 3 };
    expect(blocks.service.logged).toContainEqual(expect.objectContaining(line));
    expect(await metric('svc_source_blocks_ended_total{reason="install_failed"}')).toBe(3);
  });

  test("install failure: a removal that fails leaves the block in force, and says so", async () => {
    await block();
    blocks.kernel.broken.add("remove");
    expect(await unblock()).toEqual(refused(503, "the kernel did not give up the block: it is still in force"));
    expect([await listed(), blocks.kernel.names, stored()]).toMatchObject([[{}], [NAME], [{}]]);
  });
});

describe("source blocks", () => {
  test("survive a restart whose kernel has lost them and fails: they are not installed until it works", async () => {
    const { body } = await block({ reason: "scan" });
    await blocks.service.stop();
    blocks.kernel = new TableKernel();
    blocks.kernel.broken.add("put");
    blocks.start();
    expect(await listed()).toEqual([{ ...body, installed: false }]);
    expect(await metric('svc_source_blocks{state="missing"}')).toBe(1);
    blocks.kernel.broken.clear();
    blocks.clock.advance(300);
    expect((await listed())[0]).not.toHaveProperty("installed");
    expect([blocks.kernel.names, expiries()]).toEqual([[NAME], [60_000]]);
  });

  const NARROW = LIVE.replace("[203.0.113.0/24", "[203.0.113.128/25").replace(/ {2}- { name: web.*\n/, "");
  test.each([
    ["a victim that is whitelisted now", LIVE.replace("113.53]", `113.53, ${VICTIM}]`), "victim_whitelisted"],
    ["a victim outside the networks now", NARROW, "victim_outside_networks"],
    ["a source that is allowlisted now", LIVE.replace("198.51.100.53", "198.51.100.0/28"), "source_allowlisted"],
    ["a source inside the networks now", LIVE.replace("[203.", "[198.51.100.0/28, 203."), "source_in_networks"],
  ])("that a reload removes, and names in the log: %s", async (_, config, reason) => {
    await block();
    await block({ source: "198.51.100.99", victim: OTHERS_VICTIM });
    await blocks.reload(config);
    expect(await listed()).toMatchObject([{ source: "198.51.100.99" }]);
    expect(blocks.kernel.names).toEqual([`198.51.100.99->${OTHERS_VICTIM}`]);
    const line = { level: "warn", reason, count: 1, pairs: [NAME] };
    expect(blocks.service.logged).toContainEqual(expect.objectContaining(line));
  });
});
