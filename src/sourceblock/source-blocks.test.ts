import { describe, expect, test } from "bun:test";
import {
  bench,
  flush,
  ipv4,
  order,
  pair,
  policy,
  SOURCE,
  unsavedOf,
  VICTIM,
} from "../../test/fixtures/mitigation/source-blocks.ts";
import { SOURCE_BLOCKS_PER_PIECE } from "./kernel-pairs.ts";
import { InstallFault } from "./source-blocks.ts";

const NAME = `${SOURCE}->${VICTIM}`;

describe("source block", () => {
  test("is in the kernel and in the store when it is answered, until its time is over #source-block-in-the-kernel", async () => {
    const { blocks, store, kernel, live, recorder } = bench();
    const answer = await blocks.block(order({ ttlSeconds: 60, reason: "scan" }), () => 1000);
    const block = { ...pair(), createdAt: 1000, expiresAt: 61_000, reason: "scan" };
    expect(answer).toEqual({ kind: "done", view: { block, dryRun: false, isInstalled: true }, isSaved: true });
    expect([...store.blocks.values()]).toEqual([block]);
    expect([...kernel.pairs.values()]).toEqual([{ ...pair(), expiresAtMs: 61_000 }]);
    expect([live(60_999), live(61_000)]).toEqual([[NAME], []]);
    expect(recorder.events).toEqual([`blocked ${NAME}`]);
  });

  test("keeps its start, and takes the time and reason of another block of the pair #source-block-refreshed #source-block-refresh", async () => {
    const { blocks, store, kernel, live } = bench();
    await blocks.block(order({ ttlSeconds: 600, reason: "first" }), () => 1000);
    const again = await blocks.block(order({ ttlSeconds: 10, reason: "" }), () => 5000);
    expect(again).toMatchObject({ view: { block: { createdAt: 1000, expiresAt: 15_000, reason: "" } } });
    expect(live()).toEqual([NAME]);
    expect(store.blocks.get(NAME)).toMatchObject({ createdAt: 1000, expiresAt: 15_000 });
    expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(15_000);
  });

  test("after the last one expired is a new one", async () => {
    const { blocks } = bench();
    await blocks.block(order({ ttlSeconds: 1 }), () => 0);
    expect(await blocks.block(order(), () => 1000)).toMatchObject({ view: { block: { createdAt: 1000 } } });
  });

  test("that cannot be stored is not installed", async () => {
    const { blocks, store, kernel, live, refusals } = bench();
    await blocks.block(order({ ttlSeconds: 60 }), () => 0);
    store.isBroken = true;
    expect(blocks.block(order({ ttlSeconds: 90 }), () => 0)).rejects.toThrow("disk full");
    expect(blocks.block(order({ victim: "192.0.2.2" }), () => 0)).rejects.toThrow("disk full");
    expect(live()).toEqual([NAME]);
    expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(60_000);
    expect([kernel.names, refusals.length]).toEqual([[NAME], 2]);
  });
});

describe("an install that fails", () => {
  test("removes all blocks of the source, and no other's #source-block-install-failure", async () => {
    const { blocks, store, kernel, live, recorder } = bench();
    for (const victim of [1, 2, 3]) await blocks.block(order({ victim: `192.0.2.${victim}` }), () => 0);
    await blocks.block(order({ source: "198.51.100.2" }), () => 0);
    kernel.broken.add("put");
    const failing = () => blocks.block(order({ victim: "192.0.2.4" }), () => 0);
    expect(failing()).rejects.toThrow(InstallFault);
    const other = [`198.51.100.2->${VICTIM}`];
    expect([live(), store.blockNames, kernel.names]).toEqual([other, other, other]);
    expect(recorder.events.at(-1)).toBe(
      `install_failed ${[1, 2, 3, 4].map((victim) => `${SOURCE}->192.0.2.${victim}`).join()}`,
    );
    expect(failing()).rejects.toThrow(`all blocks of ${SOURCE} were removed`);
  });

  test("of a refresh removes the pair as well", async () => {
    const { blocks, store, kernel, live } = bench();
    await blocks.block(order(), () => 0);
    kernel.broken.add("put");
    expect(blocks.block(order(), () => 1)).rejects.toThrow("were removed");
    expect([live(), store.blockNames, kernel.names]).toEqual([[], [], []]);
  });

  test("with a kernel that gives up nothing either says so, and tries again", async () => {
    const { blocks, kernel, live } = bench();
    await blocks.block(order(), () => 0);
    kernel.broken.add("put").add("remove");
    expect(blocks.block(order({ victim: "192.0.2.2" }), () => 0)).rejects.toThrow(
      "the kernel may still drop packets for some",
    );
    expect([live(), kernel.names]).toEqual([[], [NAME]]);
    kernel.broken.clear();
    blocks.tick(1);
    expect(kernel.names).toEqual([]);
  });

  test("with a failing store ends the block too, and the store is written again later", async () => {
    const { blocks, store, kernel, live } = bench();
    await blocks.block(order(), () => 0);
    kernel.broken.add("put");
    kernel.before = () => {
      store.isBroken = true;
    };
    expect(blocks.block(order({ victim: "192.0.2.2" }), () => 0)).rejects.toThrow(InstallFault);
    expect([live(), store.blocks.size, unsavedOf(blocks)]).toEqual([[], 2, 2]);
    store.isBroken = false;
    await flush(blocks);
    expect([store.blocks.size, unsavedOf(blocks)]).toEqual([0, 0]);
  });

  test("is no reason to refuse the source later", async () => {
    const { blocks, kernel, live } = bench();
    kernel.broken.add("put");
    expect(blocks.block(order(), () => 0)).rejects.toThrow(InstallFault);
    kernel.broken.clear();
    expect((await blocks.block(order(), () => 1)).kind).toBe("done");
    blocks.tick(2);
    expect([live(), kernel.names]).toEqual([[NAME], [NAME]]);
  });
});

describe("an unblock", () => {
  test("removes the pair from everywhere and returns it, once #source-block-created #source-block-removal", async () => {
    const { blocks, store, kernel, live, recorder } = bench();
    await blocks.block(order({ reason: "scan" }), () => 0);
    await blocks.block(order({ victim: "192.0.2.2" }), () => 0);
    expect(await blocks.unblock(pair(), 1)).toMatchObject({
      kind: "done",
      view: { block: { ...pair(), reason: "scan" } },
    });
    const rest = [`${SOURCE}->192.0.2.2`];
    expect([live(), store.blockNames, kernel.names]).toEqual([rest, rest, rest]);
    expect(await blocks.unblock(pair(), 2)).toEqual({ kind: "refused", refusal: "not_blocked" });
    expect(recorder.events.slice(2)).toEqual([`unblocked ${NAME}`, "refused not_blocked"]);
  });

  test("of an expired pair finds none", async () => {
    const { blocks } = bench();
    await blocks.block(order({ ttlSeconds: 1 }), () => 0);
    expect(await blocks.unblock(pair(), 1000)).toMatchObject({ refusal: "not_blocked" });
  });

  test("that the kernel refuses is taken back", async () => {
    const { blocks, store, kernel, live } = bench();
    await blocks.block(order(), () => 0);
    kernel.broken.add("remove");
    expect(blocks.unblock(pair(), 1)).rejects.toThrow("the kernel did not give up the block: it is still in force");
    expect([live(), store.blockNames, kernel.names]).toEqual([[NAME], [NAME], [NAME]]);
    kernel.broken.clear();
    expect((await blocks.unblock(pair(), 2)).kind).toBe("done");
  });

  test("that finds none has made sure that none comes back", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    first.blocks.reconfigure(policy({ isAllowlisted: () => true }), 1);
    expect(first.store.blockNames).toEqual([NAME]);
    first.store.isBroken = true;
    expect(first.blocks.unblock(pair(), 2)).rejects.toThrow("a restart may bring it back");
    first.store.isBroken = false;
    expect(await first.blocks.unblock(pair(), 2)).toMatchObject({ refusal: "not_blocked" });
    expect(first.store.blockNames).toEqual([]);
  });
});

describe("limit", () => {
  test("victims per source are eight, and one that ends makes room #limit-victims-per-source", async () => {
    const { blocks } = bench();
    const block = (victim: number) => blocks.block(order({ victim: `192.0.2.${victim}`, ttlSeconds: victim }), () => 0);
    for (let victim = 1; victim <= 8; victim++) expect((await block(victim)).kind).toBe("done");
    expect(await block(9)).toEqual({ kind: "refused", refusal: "too_many_victims" });
    expect((await block(8)).kind).toBe("done");
    expect((await blocks.block(order({ victim: "192.0.2.9" }), () => 1000)).kind).toBe("done");
    await blocks.unblock(pair(SOURCE, "192.0.2.2"), 1000);
    expect((await blocks.block(order({ victim: "192.0.2.10" }), () => 1000)).kind).toBe("done");
  });

  test("pairs take the slots that bans leave, and one that ends makes room #limit-dynamic-rules", async () => {
    const { blocks } = bench();
    const block = (i: number, wallMs = 0) => blocks.block(order({ source: ipv4(i), ttlSeconds: 1 + i }), () => wallMs);
    for (let i = 0; i < 20; i++) expect((await block(i)).kind).toBe("done");
    expect(blocks.counts()).toMatchObject({ installed: 20, slotsFree: 0 });
    expect(await block(20)).toEqual({ kind: "refused", refusal: "no_slots" });
    expect((await block(20, 1000)).kind).toBe("done");
  });

  test("expired pairs are removed from the kernel before another is installed", async () => {
    const { blocks, kernel } = bench();
    kernel.capacity = 1;
    await blocks.block(order({ ttlSeconds: 1 }), () => 0);
    expect((await blocks.block(order({ source: "198.51.100.2" }), () => 1000)).kind).toBe("done");
  });
});

describe("time", () => {
  test("ends blocks by itself, in the table, the kernel and, soon, the store #source-block-lapsed", async () => {
    const { blocks, store, kernel, live, recorder } = bench();
    await blocks.block(order({ ttlSeconds: 1 }), () => 0);
    await blocks.block(order({ source: "198.51.100.2", ttlSeconds: 2 }), () => 0);
    blocks.tick(999);
    expect(live()).toHaveLength(2);
    blocks.tick(1000);
    expect([live().length, kernel.pairs.size, blocks.counts().installed]).toEqual([1, 1, 1]);
    await flush(blocks);
    expect(store.blocks.size).toBe(1);
    blocks.tick(2000);
    await flush(blocks);
    expect([live(), kernel.pairs.size, store.blocks.size]).toEqual([[], 0, 0]);
    expect(recorder.events.filter((line) => line.startsWith("expired"))).toHaveLength(2);
  });

  test.each([3_600_000, -3_600_000])(
    "that is set by %d ms changes no time left #source-block-expiry",
    async (stepMs) => {
      const { blocks, store, kernel, live } = bench();
      await blocks.block(order({ ttlSeconds: 10 }), () => 0);
      blocks.clockStepped(stepMs);
      await flush(blocks);
      expect(store.blocks.get(NAME)).toMatchObject({ createdAt: 0, expiresAt: 10_000 + stepMs });
      // The kernel uses another clock.
      expect(kernel.calls.filter((call) => call.startsWith("put"))).toHaveLength(1);
      blocks.tick(9999 + stepMs);
      expect(live(9999 + stepMs)).toEqual([NAME]);
      blocks.tick(10_000 + stepMs);
      expect([live(), kernel.names]).toEqual([[], []]);
    },
  );
});

describe("source blocks in dry run #source-blocks-in-dry-run", () => {
  test("a block is recorded as virtual, counts, and is not installed", async () => {
    const { blocks, store, kernel } = bench({ policy: { dryRun: true } });
    kernel.calls.length = 0;
    expect(await blocks.block(order(), () => 0)).toMatchObject({ view: { dryRun: true, isInstalled: false } });
    expect(store.blockNames).toEqual([NAME]);
    expect(blocks.counts()).toEqual({ virtual: 1, installed: 0, missing: 0, slotsFree: 19 });
    expect(await blocks.unblock(pair(), 1)).toMatchObject({ view: { dryRun: true } });
    expect(kernel.calls).toEqual([]);
  });

  test("a reload out of it installs what is in force, and one into it takes that out", async () => {
    const { blocks, kernel, live } = bench({ policy: { dryRun: true } });
    await blocks.block(order(), () => 0);
    blocks.reconfigure(policy(), 1);
    expect([kernel.names, blocks.counts().installed]).toEqual([[NAME], 1]);
    blocks.reconfigure(policy({ dryRun: true }), 2);
    expect([kernel.names, live(), blocks.counts().virtual]).toEqual([[], [NAME], 1]);
  });

  test("what could not be taken out for it is not taken out after it", async () => {
    const { blocks, kernel } = bench();
    await blocks.block(order(), () => 0);
    kernel.broken.add("remove");
    blocks.reconfigure(policy({ dryRun: true }), 1);
    expect(kernel.names).toEqual([NAME]);
    blocks.reconfigure(policy(), 2);
    kernel.broken.clear();
    blocks.tick(3);
    blocks.tick(4);
    expect(kernel.names).toEqual([NAME]);
    expect(kernel.calls.filter((call) => call.startsWith("remove"))).toHaveLength(1);
  });

  test("a start takes out what an earlier process put in", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    const { kernel, live } = bench({ kernel: first.kernel, store: first.store, policy: { dryRun: true } });
    expect([kernel.names, live()]).toEqual([[], [NAME]]);
  });

  test("without the kernel's side a data plane can be tried", async () => {
    const { blocks } = bench({ policy: { dryRun: true }, installer: null });
    expect((await blocks.block(order(), () => 0)).kind).toBe("done");
    blocks.reconfigure(policy(), 1);
    expect(blocks.counts()).toEqual({ virtual: 0, installed: 0, missing: 1, slotsFree: 0 });
    expect(await blocks.block(order(), () => 2)).toEqual({ kind: "refused", refusal: "no_dataplane" });
    expect(await blocks.unblock(pair(), 2)).toEqual({ kind: "refused", refusal: "no_dataplane" });
  });
});

describe("a reload", () => {
  test.each([
    ["victim_whitelisted", { isWhitelisted: (ip: string) => ip === VICTIM }],
    ["victim_outside_networks", { isInNetworks: (ip: string) => ip !== VICTIM && ip.startsWith("192.0.2.") }],
    ["victim_is_own_infrastructure", { isOwn: (ip: string) => ip === VICTIM }],
    ["source_allowlisted", { isAllowlisted: (ip: string) => ip === SOURCE }],
    ["source_in_networks", { isInNetworks: (ip: string) => ip === SOURCE || ip.startsWith("192.0.2.") }],
  ])("removes what it refuses: %s #source-blocks-that-a-reload-removes", async (refusal, change) => {
    const { blocks, store, kernel, live, recorder } = bench();
    await blocks.block(order(), () => 0);
    await blocks.block(order({ source: "198.51.100.2", victim: "192.0.2.2" }), () => 0);
    blocks.reconfigure(policy(change), 1);
    await flush(blocks);
    const rest = ["198.51.100.2->192.0.2.2"];
    expect([live(), store.blockNames, kernel.names]).toEqual([rest, rest, rest]);
    expect(recorder.events.at(-1)).toBe(`${refusal} ${NAME}`);
  });

  test("looks at very many piece by piece, and at all of them", async () => {
    const { blocks, kernel, live } = bench({ policy: { maxDynamicRules: 100_000 } });
    const count = SOURCE_BLOCKS_PER_PIECE * 2 + 5;
    for (let i = 0; i < count; i++) await blocks.block(order({ source: ipv4(i) }), () => 0);
    blocks.reconfigure(policy({ isAllowlisted: (ip) => ip !== ipv4(0), maxDynamicRules: 100_000 }), 1);
    expect(live().length).toBe(count - SOURCE_BLOCKS_PER_PIECE + 1);
    blocks.tick(2);
    blocks.tick(3);
    expect(live()).toEqual([`${ipv4(0)}->${VICTIM}`]);
    blocks.tick(4);
    expect(kernel.names).toEqual([`${ipv4(0)}->${VICTIM}`]);
  });

  test("to more bans keeps the pairs that are there, and takes no further", async () => {
    const { blocks, live } = bench();
    for (let i = 0; i < 10; i++) await blocks.block(order({ source: ipv4(i) }), () => 0);
    blocks.reconfigure(policy({ maxActiveBans: 4 }), 1);
    expect(live()).toHaveLength(10);
    expect(await blocks.block(order(), () => 1)).toMatchObject({ refusal: "no_slots" });
  });
});
