/** The data plane over a fake kernel. With the real one: src/dataplane/filter-attachment.test.ts. */

import { beforeEach, describe, expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { TableFilters } from "../../test/fixtures/dataplane/table-filter.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { pair } from "../../test/fixtures/mitigation/source-blocks.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import { ban, udpRules } from "../../test/fixtures/views.ts";
import type { Config } from "../config/config.ts";
import { buildScrub } from "../config/sections/scrub.ts";
import type { Ban } from "../mitigation/ban.ts";
import { wideRule } from "../mitigation/rules/rule.ts";
import { exactly } from "../net/range.ts";
import { pairName } from "../sourceblock/source-block.ts";
import { DataPlane } from "./data-plane.ts";
import type { DataplaneConfig } from "./dataplane-config.ts";
import type { NamedSets } from "./kernel-filter.ts";

const CONFIG = `
dry_run: false
networks: [192.0.2.0/24]
protected_whitelist: [192.0.2.53, 192.0.2.53/32]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [eth0], pin_path: /nowhere/pins, allowlist: [198.51.100.53] }
`;

const edited = (text: string, ...[from, to]: [string, string]) => configOf(text.replace(from, to));
const dry = () => edited(CONFIG, "dry_run: false", "dry_run: true");

let clock: ManualClock;
let kernel: TableFilters;
let bans: Ban[];
let events: string[];
let plane: DataPlane;
/** What the named sets are: none, some, or some that could not be made. */
let sets: NamedSets | null | Error;

function make(config: Config = configOf(CONFIG)): DataPlane {
  const timers = new ManualTimers(clock);
  plane = new DataPlane({
    kernel,
    config,
    dataplane: config.dataplane as DataplaneConfig,
    bans: () => bans,
    filterRules: () => [],
    chosen: () => [],
    pairs: () => kernel.kernel.pairs.size,
    prefixSets: {
      forKernel() {
        if (sets instanceof Error) throw sets;
        return sets;
      },
      bitOf: () => null,
    },
    putPairs: () => kernel.calls.push("pairs"),
    closeSources: (interfaces) => kernel.calls.push(`close ${interfaces.join()}`),
    openSources: () => kernel.calls.push("open sources"),
    every: (ms, fn) => timers.every(ms, fn),
    after: (ms, fn) => timers.after(ms, fn),
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    observer: {
      up: () => events.push("up"),
      down: (end) => events.push(`down ${end}`),
      fault: (operation, cause) => events.push(`${operation}: ${(cause as Error).message}`),
      interfaceChanged: (name, error) => events.push(`${name}: ${error}`),
      leftOut: (rules) => events.push(`left out ${JSON.stringify(rules)}`),
      filterRulesLeftOut: (destinations) => events.push(`filter rules left out ${destinations}`),
    },
  });
  return plane;
}

beforeEach(() => {
  clock = new ManualClock();
  kernel = new TableFilters();
  bans = [];
  events = [];
  sets = null;
});

const changed = (one: Ban, previous: Ban | null = null) => plane.banChanged({ ban: one, previous });
const puts = () => kernel.calls.filter((call) => call === "set rules").length;

describe("named sets", () => {
  const made = { size: () => ({ prefixes: 1, ranges: 1, bytes: 1 }), close: () => {} };
  const order = () => kernel.calls.filter((call) => call.endsWith("named sets") || call === "set rules");

  test("reads the counts of the pairs alone that are removed", () => {
    make().start();
    const pairs = Array.from({ length: 300 }, (_, i) => pair(`198.51.${i >> 8}.${i & 255}`));
    plane.putPairs(pairs.map((each) => ({ ...each, expiresAtMs: 1e12 })));
    kernel.calls.length = 0;
    plane.removePairs(pairs.slice(0, 1));
    expect([...plane.lastDropped(pairs.slice(0, 2)).keys()]).toEqual(pairs.slice(0, 2).map(pairName));
    expect(kernel.calls).toEqual(["read 1 pairs", "read 2 pairs"]);
  });

  test("are in force before the rules that name them, at the start and at a reload", async () => {
    sets = made;
    bans = [ban()];
    make().start();
    expect(order()).toEqual(["set named sets", "set rules"]);
    const { promise, resolve } = Promise.withResolvers<void>();
    kernel.setsHeld = promise;
    sets = { ...made };
    plane.reconfigure(configOf(CONFIG));
    clock.advance(900);
    // The event loop goes on, and the rules wait.
    expect(order().slice(2)).toEqual(["exchange named sets"]);
    resolve();
    await new Promise<void>((settled) => setImmediate(settled));
    clock.advance(1000);
    expect(order().slice(3)).toEqual(["set rules"]);
    plane.reconfigure(dry());
    plane.reconfigure(configOf(CONFIG));
    expect(order().slice(4)).toEqual(["set named sets", "set rules"]);
  });

  test("that could not be made keep the filter from being opened without them, until they are", () => {
    sets = new Error("no memory");
    make().start();
    expect(plane.isUp()).toBe(false);
    expect(events).toEqual(["open: no memory"]);
    sets = made;
    clock.advance(1000);
    expect(plane.isUp()).toBe(true);
  });
});

describe("the data plane", () => {
  test("is filled before it is attached, and sources open after that", () => {
    bans = [ban()];
    make().start();
    expect(kernel.calls).toEqual(["open", "set rules", "pairs", "close eth0", "attach", "open sources"]);
    expect([kernel.allowlist, kernel.whitelist]).toEqual([["198.51.100.53/32"], ["192.0.2.53/32"]]);
    expect(kernel.rules).toMatchObject([{ expiresAtMs: ban().expiresAt }]);
    expect(kernel.opened).toMatchObject([
      { pinPath: "/nowhere/pins", interfaces: ["eth0"], maxPairs: 4096, maxRules: 4096 },
    ]);
    expect(plane.view()).toMatchObject({ state: "up", error: null, filter: { rules: 1 } });
    expect(events).toEqual(["up"]);
  });

  test("is not even opened in dry run, nor when it is disabled", () => {
    make(dry()).start();
    clock.advance(5000);
    expect(kernel.calls).toEqual([]);
    expect(plane.view()).toEqual({
      state: "dry_run",
      filter: null,
      error: null,
      rulesLeftOut: {},
      filterRulesLeftOut: 0,
    });
    make(edited(CONFIG, "dataplane: {", "dataplane: { enabled: false,")).start();
    expect(kernel.calls).toEqual([]);
    expect(plane.view().state).toBe("disabled");
  });

  test("goes with the beginning of a dry run, and comes back filled with its end", () => {
    make().start();
    kernel.calls.length = 0;
    plane.reconfigure(dry());
    expect(kernel.calls).toEqual(["close eth0", "close detach", "open sources"]);
    expect([plane.isUp(), plane.filter]).toEqual([false, null]);
    bans = [ban()];
    plane.reconfigure(configOf(CONFIG));
    expect(kernel.calls.slice(3)).toEqual(["open", "set rules", "pairs", "close eth0", "attach", "open sources"]);
    expect(kernel.rules).toHaveLength(1);
    expect(events).toEqual(["up", "down detach", "up"]);
  });

  test("that cannot be had is tried again each second; until then nothing can be put, and why is shown", () => {
    kernel.fault = "mount a BPF file system";
    make().start();
    expect(plane.view()).toMatchObject({ state: "failed", error: "mount a BPF file system" });
    expect(() => plane.putPairs([])).toThrow("the data plane is not in force: mount a BPF file system");
    expect(() => plane.removePairs([pair()])).toThrow("mount a BPF");
    expect(() => plane.readPairs()).toThrow("mount a BPF");
    clock.advance(2000);
    expect(kernel.opened).toHaveLength(3);
    kernel.fault = null;
    clock.advance(1000);
    expect(plane.isUp()).toBe(true);
    expect(events).toEqual([...new Array(3).fill("open: mount a BPF file system"), "up"]);
  });

  test("that cannot be attached leaves what was in force, and does not reopen the sources of packets for a while", () => {
    kernel.attachFault = "cannot pin";
    make().start();
    expect(kernel.calls.slice(3)).toEqual(["close eth0", "attach", "close keep", "open sources"]);
    expect(plane.view()).toMatchObject({ state: "failed", error: "cannot pin" });
    clock.advance(29_000);
    expect(kernel.opened).toHaveLength(1);
    kernel.attachFault = null;
    clock.advance(1000);
    expect(plane.isUp()).toBe(true);
  });

  test("takes the lists of a reload over", () => {
    make().start();
    plane.reconfigure(edited(CONFIG, "[192.0.2.53, 192.0.2.53/32]", "[192.0.2.64/26]"));
    plane.reconfigure(edited(CONFIG, "allowlist: [198.51.100.53]", "allowlist: []"));
    expect([kernel.allowlist, kernel.whitelist]).toEqual([[], ["192.0.2.53/32"]]);
  });

  test("forwards by itself only where configured, to the networks, also to those of a reload", () => {
    make().start();
    expect(kernel.opened).toMatchObject([{ forward: null }]);
    const redirecting = edited(CONFIG, "pin_path:", "forward: redirect, pin_path:");
    make(redirecting).start();
    expect(kernel.opened.at(-1)).toMatchObject({ forward: { tunnels: [] } });
    expect(kernel.forwarded).toEqual(["192.0.2.0/24"]);
    plane.reconfigure({ ...redirecting, networks: [prefix("198.51.100.0/24")] });
    expect(kernel.forwarded).toEqual(["198.51.100.0/24"]);
  });

  test("passes everything to addresses that the service itself needs", () => {
    const bgp = "bgp: { local_asn: 64500, router_id: 192.0.2.1, next_hop: 192.0.2.66, neighbors: [NEIGHBOR] }";
    const neighbor = (address: string) => bgp.replace("NEIGHBOR", `{ address: ${address}, remote_asn: 64501 }`);
    make(configOf(CONFIG + neighbor("198.51.100.7"))).start();
    expect(kernel.whitelist).toContain("198.51.100.7/32");
    plane.reconfigure(configOf(CONFIG + neighbor("192.0.2.8")));
    const own = ["192.0.2.1/32", "192.0.2.8/32", "192.0.2.66/32", "100::1/128"];
    expect(kernel.whitelist).toEqual(["192.0.2.53/32", ...own]);
  });

  test.each(["keep", "detach"] as const)("a stop does what on_exit says at last: %s", (end) => {
    make().start();
    plane.reconfigure(edited(CONFIG, "pin_path:", `on_exit: ${end}, pin_path:`));
    plane.stop();
    expect(kernel.calls).toContain(`close ${end}`);
    expect(clock.pending).toBe(0);
  });

  test("an interface that fails is reported once, and once when it recovers", () => {
    kernel.interfaceError = "eth0 does not exist";
    make().start();
    clock.advance(3000);
    kernel.interfaceError = null;
    clock.advance(2000);
    expect(events).toEqual(["up", "eth0: eth0 does not exist", "eth0: null"]);
  });

  test("in dry run the filter of an earlier process is removed, unless another process owns it", () => {
    using directory = new TemporaryFolder("pins");
    const config = edited(CONFIG, "dry_run: false", "dry_run: true");
    const there = { ...config, dataplane: { ...(config.dataplane as DataplaneConfig), pinPath: directory.path } };
    make(there).start();
    expect(kernel.calls).toEqual([]);
    kernel.pinned = "healthy";
    make(there).start();
    expect(kernel.calls).toEqual(["open", "attach", "close detach"]);
  });
});

describe("standing rules", () => {
  test.each([
    ["networks: [192.0.2.0/24]", "hostgroups: [{ name: web, networks: [192.0.2.0/24] }]"],
    ["networks: ['2001:db8:1111:2222:3333:4444:5555:6600/120']", ""],
  ])("are in the kernel beside those of bans: %s, %s", (networks, hostgroups) => {
    const text = `${CONFIG.replace("networks: [192.0.2.0/24]", networks)}mitigation: scrub\n${hostgroups}\n`;
    bans = [ban()];
    make(configOf(text)).start();
    expect(events).toEqual(["up"]);
    expect(kernel.rules.map(({ rule }) => rule.action.kind)).toEqual(["discard", "learn"]);
  });
});

describe("rules of bans", () => {
  test("all changes of a tenth of a second are one", () => {
    make().start();
    for (let i = 0; i < 10; i++) {
      bans = [...bans, ban({ id: `b${i}` })];
      changed(ban({ id: `b${i}` }));
      clock.advance(20);
    }
    expect(puts()).toBe(3);
    clock.advance(100);
    expect(kernel.rules).toHaveLength(10);
    const before = puts();
    clock.advance(10_000);
    expect(puts()).toBe(before);
  });

  test("of bans that are only extended wait no longer than the extension, and less if a write is cheap", () => {
    bans = [ban()];
    make().start();
    const push = (byMs: number) => {
      const [before] = bans;
      if (before === undefined) throw new Error("no ban");
      bans = [{ ...before, expiresAt: before.expiresAt + byMs }];
      changed(bans[0] as Ban, before);
    };
    clock.advance(1000);
    push(10_000);
    clock.advance(0);
    expect(kernel.rules).toMatchObject([{ expiresAtMs: ban().expiresAt + 10_000 }]);
    for (let i = 0; i < 50; i++) {
      push(10_000);
      clock.advance(10);
    }
    expect(puts()).toBe(2);
    changed(ban({ id: "b2" }));
    clock.advance(0);
    expect(puts()).toBe(3);
    push(200);
    clock.advance(199);
    expect(puts()).toBe(3);
    clock.advance(1);
    expect(puts()).toBe(4);
  });

  test("are as they are wanted when a stop leaves them in force", () => {
    make().start();
    bans = [ban()];
    changed(ban());
    plane.stop();
    expect([kernel.rules.length, kernel.calls.at(-2)]).toEqual([1, "close keep"]);
  });

  test("that the kernel refuses are retried, and the old ones stay", () => {
    bans = [ban()];
    make().start();
    kernel.rulesFault = "no room";
    bans = [ban(), ban({ id: "b2" })];
    changed(bans[0] ?? ban());
    clock.advance(1200);
    expect(events).toEqual(["up", "rules: no room", "rules: no room"]);
    expect(kernel.rules).toHaveLength(1);
    kernel.rulesFault = null;
    clock.advance(1000);
    expect(kernel.rules).toHaveLength(2);
  });

  test("find the room that pairs leave, and more when some go", () => {
    const small = "allowlist: [198.51.100.53], limits: { max_dynamic_rules: 8 } }\nban: { max_active_bans: 1 }";
    for (let i = 0; i < 7; i++) kernel.kernel.putPairs([{ ...pair(`198.51.100.${i}`), expiresAtMs: 1 }]);
    bans = [ban(), ban({ id: "b2" })];
    make(edited(CONFIG, "allowlist: [198.51.100.53] }", small)).start();
    expect(kernel.rules).toHaveLength(1);
    expect(plane.view().rulesLeftOut).toEqual({ max_dynamic_rules: 1 });
    kernel.kernel.removePairs([pair("198.51.100.1")]);
    clock.advance(1100);
    expect(kernel.rules).toHaveLength(2);
    expect(events).toEqual(['left out {"max_dynamic_rules":1}', "up", "left out {}"]);
  });

  test("what they dropped is added up for their ban, also over a change of its rules", () => {
    const rules = udpRules();
    bans = [ban({ measure: rules })];
    make().start();
    kernel.dropped.set(String(kernel.rules[0]?.id), 7);
    expect(plane.droppedBy("b1")).toEqual({ packets: 7, bytes: 420, byReason: { rule: 7 } });
    const [rule] = rules.rules;
    const tcp = { ...(rule ?? wideRule(ban().prefix, { kind: "discard" })), protocols: exactly(6) };
    bans = [ban({ measure: { ...rules, rules: [tcp] } })];
    changed(bans[0] ?? ban());
    clock.advance(1000);
    kernel.dropped.set(String(kernel.rules[0]?.id), 2);
    clock.advance(1000);
    expect(plane.droppedBy("b1")).toEqual({ packets: 9, bytes: 540, byReason: { rule: 9 } });
    expect(plane.droppedBy("other")).toBeNull();
    expect(plane.droppedOf(ban())).toEqual({ packets: 9, bits: 4320 });
    expect(plane.droppedOf(null)).toBeNull();
    // What the victim itself was kept from sending is no part of the attack on it.
    const outgoing = { ...wideRule(ban().prefix, { kind: "discard" }), destination: null, source: ban().prefix };
    bans = [ban({ measure: { ...rules, rules: [...rules.rules, outgoing] } })];
    changed(bans[0] ?? ban());
    clock.advance(1000);
    kernel.dropped.set(String(kernel.rules.find(({ rule }) => rule.destination === null)?.id), 4);
    clock.advance(1000);
    expect(plane.droppedBy("b1")).toMatchObject({ packets: 20, outgoing: { packets: 4, bytes: 240 } });
    expect(plane.droppedOf(ban())).toEqual({ packets: 16, bits: 7680 });
    const filter = buildScrub({ dry_run: true }, []);
    expect(plane.droppedOf(ban({ measure: { kind: "scrub", rules, filter } }))).toBeNull();
    bans = [];
    changed(bans[0] ?? ban());
    clock.advance(2000);
    expect(plane.droppedBy("b1")).toBeNull();
  });
});
