/** What a start does with stored blocks and with pairs that an earlier process left in the kernel. */
import { describe, expect, test } from "bun:test";
import {
  bench,
  flush,
  ipv4,
  order,
  pair,
  SOURCE,
  TableStore,
  VICTIM,
} from "../../test/fixtures/mitigation/source-blocks.ts";

const NAME = `${SOURCE}->${VICTIM}`;

describe("a start", () => {
  test("restores the stored blocks, oldest first, and installs them in an empty kernel #source-blocks-survive", () => {
    const store = new TableStore();
    const block = { ...pair(), createdAt: 5, expiresAt: 60_000, reason: "" };
    store.put(block);
    store.put({ ...block, ...pair("198.51.100.2"), createdAt: 4 });
    const { live, kernel } = bench({ store, wallMs: 10 });
    expect(live(10)).toEqual([`198.51.100.2->${VICTIM}`, NAME]);
    expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(60_000);
  });

  test("takes over a kernel that was kept: what is wanted stays, what is not goes", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    first.kernel.putPairs([{ ...pair("198.51.100.9"), expiresAtMs: 99_000 }]);
    first.kernel.calls.length = 0;
    const { kernel } = bench({ kernel: first.kernel, store: first.store, wallMs: 1 });
    expect(kernel.names).toEqual([NAME]);
    // Not removed in between: its packets are dropped all the time.
    expect(kernel.calls).toEqual(["read", `remove 198.51.100.9->${VICTIM}`, `put ${NAME}`]);
  });

  test("does not restore expired blocks, and removes them from the store #source-block-expiry", async () => {
    const first = bench();
    await first.blocks.block(order({ ttlSeconds: 60 }), () => 0);
    const { live, kernel, blocks, store } = bench({ kernel: first.kernel, store: first.store, wallMs: 60_000 });
    await flush(blocks);
    expect([live(60_000), kernel.names, store.blockNames]).toEqual([[], [], []]);
  });

  test("limits blocks to the longest possible time, if the clock was set back before", async () => {
    const first = bench();
    await first.blocks.block(order({ ttlSeconds: 60 }), () => 400_000_000);
    const { blocks, kernel, store } = bench({ kernel: first.kernel, store: first.store, wallMs: 1000 });
    expect([...blocks.live(1000)][0]?.block).toMatchObject({ createdAt: 400_000_000, expiresAt: 86_401_000 });
    await flush(blocks);
    expect([kernel.pairs.get(NAME)?.expiresAtMs, store.blocks.get(NAME)?.expiresAt]).toEqual([86_401_000, 86_401_000]);
  });

  test("removes stored blocks that the configuration refuses", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    const { live, kernel } = bench({ ...first, policy: { isAllowlisted: () => true }, wallMs: 1 });
    expect([live(1), kernel.names]).toEqual([[], []]);
  });

  test("with a kernel that fails keeps the blocks, says which are not in it, and goes on trying #source-blocks-survive", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    first.kernel.pairs.clear();
    first.kernel.broken.add("put").add("read");
    const { blocks, live, kernel, recorder } = bench({ kernel: first.kernel, store: first.store, wallMs: 1 });
    expect(live(1)).toEqual([NAME]);
    expect([...blocks.live(1)][0]?.isInstalled).toBe(false);
    expect(recorder.events).toEqual(["kernel read", "kernel put"]);
    expect(blocks.counts()).toMatchObject({ missing: 1, installed: 0 });
    kernel.broken.clear();
    blocks.tick(2);
    expect([...blocks.live(2)][0]?.isInstalled).toBe(true);
    expect(kernel.names).toEqual([NAME]);
  });

  test("calls no kernel that is not up, and installs all blocks once it is", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    first.kernel.putPairs([{ ...pair("198.51.100.9"), expiresAtMs: 99_000 }]);
    first.kernel.isDown = true;
    first.kernel.calls.length = 0;
    const { blocks, kernel, recorder } = bench({ kernel: first.kernel, store: first.store, wallMs: 1 });
    blocks.tick(2);
    expect([kernel.calls, recorder.events]).toEqual([[], []]);
    expect([...blocks.live(2)][0]?.isInstalled).toBe(false);
    expect(blocks.counts()).toMatchObject({ missing: 1, installed: 0 });
    expect(blocks.block(order({ source: "198.51.100.2" }), () => 3)).rejects.toThrow(
      "all blocks of 198.51.100.2 are being removed, the kernel may still drop packets for some",
    );
    kernel.isDown = false;
    blocks.onKernelUp();
    expect(kernel.names).toEqual([NAME]);
    expect(blocks.counts()).toMatchObject({ missing: 0, installed: 1 });
    // Another kernel, in which another process left pairs.
    kernel.pairs.clear();
    kernel.putPairs([{ ...pair("198.51.100.8"), expiresAtMs: 99_000 }]);
    blocks.onKernelUp();
    expect(kernel.names).toEqual([NAME]);
  });

  test("brings in late what waited while the clock was set, with the time that it has", async () => {
    const first = bench();
    await first.blocks.block(order({ ttlSeconds: 60 }), () => 0);
    first.kernel.broken.add("put");
    const { blocks, kernel } = bench({ kernel: first.kernel, store: first.store, wallMs: 1 });
    blocks.clockStepped(3_600_000);
    kernel.broken.clear();
    blocks.tick(3_600_002);
    expect(kernel.pairs.get(NAME)?.expiresAtMs).toBe(3_660_000);
  });

  test("with fewer rules than there are pairs installs what fits, and the rest as there is room", async () => {
    const first = bench();
    for (let i = 0; i < 20; i++) await first.blocks.block(order({ source: ipv4(i), ttlSeconds: 10 + i }), () => i);
    const small = { maxDynamicRules: 16, maxActiveBans: 2 };
    first.kernel.pairs.clear();
    first.kernel.capacity = 16;
    const { blocks, kernel, live } = bench({ kernel: first.kernel, store: first.store, policy: small, wallMs: 100 });
    expect([live(100).length, kernel.pairs.size, blocks.counts().missing]).toEqual([20, 16, 4]);
    // The first four expire.
    blocks.tick(13_003);
    blocks.tick(13_004);
    expect([live(13_004).length, kernel.pairs.size, blocks.counts().missing]).toEqual([16, 16, 0]);
  });

  test("without a data plane keeps them for when it is back", async () => {
    const first = bench();
    await first.blocks.block(order(), () => 0);
    const without = bench({ store: first.store, installer: null, policy: { hasDataplane: false }, wallMs: 1 });
    expect([without.live(1), without.blocks.counts()]).toEqual([
      [NAME],
      { virtual: 0, installed: 0, missing: 1, slotsFree: 0 },
    ]);
    expect(bench({ store: first.store, wallMs: 2 }).kernel.names).toEqual([NAME]);
  });
});
