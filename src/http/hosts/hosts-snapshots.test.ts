import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { host } from "../../../test/fixtures/views.ts";
import type { HostView } from "../backend.ts";
import { TablePass } from "../table-pass.ts";
import { HostsWire } from "../wire/traffic/host.ts";
import { HOST_SNAPSHOTS_MAX, HostsSnapshots, SNAPSHOT_MS, type VisibleGroups } from "./hosts-snapshots.ts";

function snapshotsOf(hosts: () => Iterable<HostView>, nextTurn = async () => {}) {
  const clock = new ManualClock();
  let passes = 0;
  const pass = new TablePass(
    () => {
      passes++;
      return hosts();
    },
    { clock, nextTurn },
  );
  const snapshots = new HostsSnapshots(pass, new ManualTimers(clock));
  const read = (tenant: string | null = null, groups: VisibleGroups = null) => snapshots.read(tenant, () => groups);
  return { clock, snapshots, read, passes: () => passes };
}

async function targets(blob: Blob): Promise<string[]> {
  const value: unknown = await blob.json();
  if (!Value.Check(HostsWire, value)) throw new Error("not as the schema has it");
  return value.hosts.map(({ target }) => target);
}

const twoGroups = () => [
  host({ target: "192.0.2.1", group: "web" }),
  host({ target: "192.0.2.2", group: "dns" }),
  host({ target: "192.0.2.3", group: "web" }),
];

describe("snapshots of hosts", () => {
  test("are written once for all who ask within a second", async () => {
    const { clock, read, passes } = snapshotsOf(twoGroups);
    const [first, second] = await Promise.all([read(), read()]);
    clock.advance(SNAPSHOT_MS - 1);
    expect(await read()).toBe(first);
    expect(second).toBe(first);
    expect(passes()).toBe(1);
    clock.advance(1);
    expect(await read()).not.toBe(first);
    expect(passes()).toBe(2);
  });

  test("are one for each tenant, of its own hosts", async () => {
    const { read } = snapshotsOf(twoGroups);
    expect(await targets(await read())).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    expect(await targets(await read("acme", new Set(["web"])))).toEqual(["192.0.2.1", "192.0.2.3"]);
    expect(await targets(await read("other", new Set(["dns"])))).toEqual(["192.0.2.2"]);
    expect(await targets(await read("none", new Set()))).toEqual([]);
  });

  test("are not served on after a reload gave a group away", async () => {
    const { read } = snapshotsOf(twoGroups);
    const before = new Set(["web"]);
    expect(await targets(await read("acme", before))).toHaveLength(2);
    expect(await targets(await read("acme", new Set(["dns"])))).toEqual(["192.0.2.2"]);
  });

  test("that fail are not kept", async () => {
    let isBroken = true;
    const { read, clock } = snapshotsOf(() => {
      if (isBroken) throw new Error("the packet counter is closed");
      return twoGroups();
    });
    const failures = await Promise.allSettled([read(), read()]);
    expect(failures.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    isBroken = false;
    expect(await targets(await read())).toHaveLength(3);
    expect(clock.pending).toBe(1);
  });

  test.each([HOST_SNAPSHOTS_MAX, HOST_SNAPSHOTS_MAX + 1])(
    "of %d tenants: as many are kept as the bound says",
    async (n) => {
      const { read, clock } = snapshotsOf(twoGroups);
      for (let i = 0; i < n; i++) expect(await targets(await read(`t${i}`, new Set()))).toEqual([]);
      expect(clock.pending).toBe(HOST_SNAPSHOTS_MAX);
    },
  );

  test("leave no timer behind when they are closed", async () => {
    const { clock, snapshots, read } = snapshotsOf(twoGroups);
    await read();
    await read("acme", new Set());
    expect(clock.pending).toBe(2);
    snapshots.close();
    expect(clock.pending).toBe(0);
  });

  test("leave none either when they are closed while one is being written", async () => {
    const { clock, snapshots, read } = snapshotsOf(twoGroups);
    const reading = read();
    snapshots.close();
    expect(await targets(await reading)).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });
});
