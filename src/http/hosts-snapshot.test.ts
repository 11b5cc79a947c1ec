import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { host } from "../../test/fixtures/views.ts";
import { HostsSnapshot, SLICE_HOSTS, SNAPSHOT_MS } from "./hosts-snapshot.ts";
import type { HostView } from "./service.ts";
import { HostsWire } from "./wire/host.ts";

function snapshotOf(hosts: () => Iterable<HostView>) {
  const clock = new ManualClock();
  let turns = 0;
  let written = 0;
  const snapshot = new HostsSnapshot({
    hosts: () => {
      written++;
      return hosts();
    },
    timers: new ManualTimers(clock),
    nextTurn: async () => {
      turns++;
    },
  });
  return { clock, snapshot, turns: () => turns, written: () => written };
}

function manyHosts(count: number): HostView[] {
  return Array.from({ length: count }, (_, i) => host({ target: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }));
}

async function targets(blob: Blob): Promise<string[]> {
  const value: unknown = await blob.json();
  if (!Value.Check(HostsWire, value)) throw new Error("not as the schema has it");
  return value.hosts.map(({ target }) => target);
}

describe("the snapshot of hosts", () => {
  test.each([0, 1, SLICE_HOSTS - 1, SLICE_HOSTS, SLICE_HOSTS + 1, 3 * SLICE_HOSTS + 7])(
    "holds all of %d hosts, each once and in order",
    async (count) => {
      const hosts = manyHosts(count);
      const { snapshot, turns } = snapshotOf(() => hosts);
      expect(await targets(await snapshot.read())).toEqual(hosts.map(({ target }) => target as string));
      expect(turns()).toBe(Math.ceil(count / SLICE_HOSTS));
    },
  );

  test("is written once for all who ask within a second", async () => {
    const { clock, snapshot, written } = snapshotOf(() => manyHosts(3));
    const [first, second] = await Promise.all([snapshot.read(), snapshot.read()]);
    clock.advance(SNAPSHOT_MS - 1);
    expect(await snapshot.read()).toBe(first);
    expect(second).toBe(first);
    expect(written()).toBe(1);
    clock.advance(1);
    expect(await snapshot.read()).not.toBe(first);
    expect(written()).toBe(2);
  });

  test.each([0, SLICE_HOSTS])(
    "that fails after %d hosts is told to who asked, and the next try is fresh",
    async (at) => {
      let isBroken = true;
      function* hosts() {
        yield* manyHosts(at);
        if (isBroken) throw new Error("the packet counter is closed");
      }
      const { snapshot } = snapshotOf(hosts);
      for (const failure of await Promise.allSettled([snapshot.read(), snapshot.read()])) {
        expect(failure).toMatchObject({ status: "rejected", reason: { message: "the packet counter is closed" } });
      }
      isBroken = false;
      expect(await targets(await snapshot.read())).toHaveLength(at);
    },
  );

  test("leaves no timer behind when it is closed", async () => {
    const { clock, snapshot } = snapshotOf(() => manyHosts(1));
    await snapshot.read();
    expect(clock.pending).toBe(1);
    snapshot.close();
    expect(clock.pending).toBe(0);
  });

  test("leaves none either when it is closed while it is being written", async () => {
    const { clock, snapshot } = snapshotOf(() => manyHosts(1));
    const reading = snapshot.read();
    snapshot.close();
    expect(await targets(await reading)).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});
