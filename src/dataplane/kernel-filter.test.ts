/** The filter in the real kernel, frame by frame; what interfaces and pins do is in filter-attachment.test.ts. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { randomFrame, randomRule } from "../../test/fixtures/dataplane/filter-cases.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { Chance, seededRandom } from "../../test/fixtures/seeded-random.ts";
import { ruleMatches } from "../mitigation/rules/match.ts";
import { type Rule, ruleText, wideRule } from "../mitigation/rules/rule.ts";
import { NAMED_PREFIXES_MAX } from "../native/constants.ts";
import { PrefixColumnsWriter } from "../net/prefix-columns.ts";
import { exactly } from "../net/range.ts";
import { decodeHeader, type PacketHeader } from "../traffic/packet-header.ts";
import {
  buildNamedSets,
  type FilterOptions,
  type KernelFilter,
  openKernelFilter,
  readPinnedStatus,
} from "./kernel-filter.ts";
import type { NamedPrefixes } from "./native.d.ts";

const VICTIM = "203.0.113.9";
const SOURCE = "198.51.100.7";
const VICTIM6 = "2001:db8::9";
const SOURCE6 = "2001:db9::7";
const BOUNDS = { maxPairs: 1000, maxRules: 64, maxPrefixes: 64, maxSources: 1000 } as const;
/** The burst that a limit allows. */
const BURST_MS = 100;
const HOUR_MS = 3_600_000;

let directory: BpfDirectory;
let filter: KernelFilter;

const options = (): FilterOptions => ({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...BOUNDS });
const later = () => Date.now() + HOUR_MS;
const frame = (src: string, dst: string) => ethernet(ip({ src, dst }, udp()));
const drops = (src: string, dst: string) => filter.native.drops(frame(src, dst));
const pair = (source: string, victim: string) => ({ source: address(source), victim: address(victim) });
const block = (source: string, victim: string) => filter.putPairs([{ ...pair(source, victim), expiresAtMs: later() }]);
const discard = (destination: string): Rule => wideRule(prefix(destination), { kind: "discard" });
const setRules = (...rules: Rule[]) =>
  filter.setRules(rules.map((rule, i) => ({ id: `r${i}`, rule, expiresAtMs: later() })));

/** Verdicts that are not zero, and how many packets had each. */
function verdicts(): Record<string, number> {
  const all = Object.entries(filter.status().verdicts).map(([name, { packets }]) => [name, packets] as const);
  return Object.fromEntries(all.filter(([, packets]) => packets > 0));
}

/** The contract of KernelFilter: the longest destination first, then the given order. */
function decisive(rules: readonly Rule[], packet: PacketHeader | null): Rule | undefined {
  if (packet === null) return undefined;
  const length = (rule: Rule) => rule.destination?.length ?? -1;
  return rules.filter((rule) => ruleMatches(rule, packet)).sort((a, b) => length(b) - length(a))[0];
}

describe.skipIf(bpfUnavailable !== null)(`filter${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  beforeEach(() => {
    directory = new BpfDirectory();
    filter = openKernelFilter(options());
  });
  afterEach(() => {
    filter.close("detach");
    directory.close();
  });

  test("agrees with ruleMatches() on random rules and packets", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const chance = new Chance(seededRandom(seed));
    const hit = new Map<string, number>();
    for (let round = 0; round < 300; round++) {
      const rules = Array.from({ length: 6 }, () => randomRule(chance));
      // New ids each time, so that counts start at zero.
      filter.setRules(rules.map((rule, i) => ({ id: `${round}-${i}`, rule, expiresAtMs: later() })));
      const expected = rules.map(() => 0);
      for (let i = 0; i < 30; i++) {
        const bytes = randomFrame(chance);
        const decision = decisive(rules, decodeHeader(bytes));
        const index = decision === undefined ? -1 : rules.indexOf(decision);
        if (index >= 0) expected[index] = (expected[index] ?? 0) + 1;
        const isDropped = filter.native.drops(bytes);
        const input = `seed ${seed}, round ${round}: ${rules.map(ruleText).join("; ")} on ${Buffer.from(bytes).toString("hex")}`;
        expect(`${input}: ${isDropped}`).toBe(`${input}: ${decision?.action.kind === "discard"}`);
      }
      const rows = new Map(filter.readRules().map(({ id, packets }) => [id, packets]));
      for (const [i, count] of expected.entries()) {
        expect(`seed ${seed}, ${round}-${i}: ${rows.get(`${round}-${i}`)}`).toBe(
          `seed ${seed}, ${round}-${i}: ${count}`,
        );
        hit.set(String(i), (hit.get(String(i)) ?? 0) + count);
      }
    }
    // Enough cases match to be meaningful.
    expect([...hit.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1000);
  });

  describe("named sets", () => {
    const named = (name: string, bit: number, ...texts: string[]): NamedPrefixes => {
      const writer = new PrefixColumnsWriter();
      for (const text of texts) writer.add(prefix(text));
      return { name, bit, ...writer.columns() };
    };
    const pinnedNames = () => readPinnedStatus(directory.path).namedSets.filter((name) => name !== "");

    test("are replaced at once, keep their names when the filter is left in force, and are adopted", async () => {
      filter.attach();
      const sets = await buildNamedSets([named("a", 1, "198.51.100.0/24", "198.51.100.0/25"), named("b", 0, "::/0")]);
      // ::/0 is one range, and IPv4 has three.
      expect(sets.size()).toMatchObject({ prefixes: 3, ranges: 4 });
      filter.setNamedSets(sets);
      sets.close();
      expect(pinnedNames()).toEqual(["b", "a"]);
      filter.close("keep");
      filter = openKernelFilter(options());
      expect(filter.status().origin).toBe("adopted");
      expect(pinnedNames()).toEqual(["b", "a"]);
      const next = await buildNamedSets([]);
      const exchanged = filter.exchangeNamedSets(next);
      next.close();
      await exchanged;
      expect(pinnedNames()).toEqual([]);
    });

    test("are refused with the reason, and those that are closed are named so", async () => {
      expect(buildNamedSets([named("a", 1), named("b", 1)])).rejects.toThrow("sets a and b have the same bit");
      expect(buildNamedSets([named("a", 64)])).rejects.toThrow("one bit of 64");
      const torn = { ...named("a", 0, "::/0"), addresses: new Uint8Array(15) };
      expect(buildNamedSets([torn])).rejects.toThrow("16 bytes of address for each length");
      const many = { name: "a", bit: 0, addresses: new Uint8Array(0), lengths: new Uint8Array(NAMED_PREFIXES_MAX + 1) };
      expect(() => buildNamedSets([many])).toThrow(`at most ${NAMED_PREFIXES_MAX} prefixes`);
      const sets = await buildNamedSets([]);
      sets.close();
      sets.close();
      expect(() => sets.size()).toThrow("named sets is closed");
      expect(() => filter.setNamedSets(sets)).toThrow("named sets is closed");
      expect(filter.exchangeNamedSets(sets)).rejects.toThrow("named sets is closed");
      expect(() => filter.setNamedSets({} as typeof sets)).toThrow("sets must be named sets of the addon");
    });
  });

  test.each([
    ["IPv4", SOURCE, VICTIM, "198.51.100.8", "203.0.113.10"],
    ["IPv6", SOURCE6, VICTIM6, "2001:db9::8", "2001:db8::a"],
  ])("drops a blocked pair of %s and nothing else", (_, source, victim, otherSource, otherVictim) => {
    block(source, victim);
    expect(drops(source, victim)).toBe(true);
    expect(drops(otherSource, victim)).toBe(false);
    expect(drops(source, otherVictim)).toBe(false);
    expect(drops(victim, source)).toBe(false);
    expect(verdicts()).toEqual({ drop_source: 1, pass_default: 3 });
    expect(filter.readPairs()).toEqual([
      { ...pair(source, victim), expiresAtMs: expect.any(Number), packets: 1, bytes: frame(source, victim).length },
    ]);
    // Each reading converts the times of the kernel by itself.
    const some = filter.readPairsOf([pair(otherSource, victim), pair(source, victim)]);
    expect(some).toEqual(filter.readPairs().map((row) => ({ ...row, expiresAtMs: expect.any(Number) })));
    filter.removePairs([pair(source, victim), pair(otherSource, victim)]);
    expect(drops(source, victim)).toBe(false);
    expect(filter.readPairs()).toEqual([]);
  });

  test("passes the allowlist first, then the protected whitelist, then blocks, then applies rules", () => {
    block(SOURCE, VICTIM);
    setRules(discard(`${VICTIM}/32`));
    expect(drops(SOURCE, VICTIM)).toBe(true);
    expect(drops("198.51.100.8", VICTIM)).toBe(true);
    filter.setWhitelist([prefix("203.0.113.8/30")]);
    expect(drops(SOURCE, VICTIM)).toBe(false);
    filter.setAllowlist([prefix("198.51.100.0/24"), prefix("2001:db8::/32")]);
    expect(drops(SOURCE, VICTIM)).toBe(false);
    expect(verdicts()).toEqual({ drop_source: 1, drop_rule: 1, pass_whitelist: 1, pass_allowlist: 1 });
    filter.setWhitelist([]);
    filter.setAllowlist([prefix("::/0")]);
    expect(drops(SOURCE, VICTIM)).toBe(true);
  });

  test("counts what is not IP and what cannot be read, and passes it", () => {
    setRules({ ...discard("0.0.0.0/0"), destination: null });
    expect(filter.native.drops(ethernet(ip({ src: SOURCE, dst: VICTIM }, udp()), { etherType: 0x0806 }))).toBe(false);
    expect(filter.native.drops(frame(SOURCE, VICTIM).subarray(0, 30))).toBe(false);
    expect(drops(SOURCE6, VICTIM6)).toBe(true);
    expect(verdicts()).toEqual({ pass_not_ip: 1, pass_malformed: 1, drop_rule: 1 });
  });

  test("drops what has more VLAN tags than are read, whatever its destination, and judges what has as many", () => {
    const tags = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
    const tagged = (count: number) =>
      filter.native.drops(ethernet(ip({ src: SOURCE, dst: VICTIM }, udp()), { vlans: tags(count) }));
    expect(tagged(8)).toBe(false);
    expect(tagged(9)).toBe(true);
    setRules(discard(`${VICTIM}/32`));
    expect(tagged(8)).toBe(true);
    expect(verdicts()).toEqual({ pass_default: 1, drop_tags: 1, drop_rule: 1 });
  });

  test("expired entries have no effect, even before they are removed", async () => {
    // The first frame waits for the program to be loaded.
    drops(SOURCE, VICTIM);
    const expiresAtMs = Date.now() + 500;
    filter.putPairs([{ ...pair(SOURCE, VICTIM), expiresAtMs }]);
    filter.setRules([{ id: "rule", rule: discard("203.0.113.10/32"), expiresAtMs }]);
    expect([drops(SOURCE, VICTIM), drops(SOURCE, "203.0.113.10")]).toEqual([true, true]);
    while (drops(SOURCE, VICTIM) || drops(SOURCE, "203.0.113.10")) await Bun.sleep(5);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs - 1);
    expect([filter.readPairs(), filter.readRules()]).toEqual([[], []]);
    expect(filter.status().rules).toBe(0);
  });

  test("a pair that is put again has the new expiry, later or sooner", () => {
    block(SOURCE, VICTIM);
    const before = filter.readPairs()[0]?.expiresAtMs ?? 0;
    filter.putPairs([{ ...pair(SOURCE, VICTIM), expiresAtMs: later() + HOUR_MS }]);
    expect((filter.readPairs()[0]?.expiresAtMs ?? 0) - before).toBeGreaterThan(HOUR_MS - 1000);
    filter.putPairs([{ ...pair(SOURCE, VICTIM), expiresAtMs: Date.now() - 1 }]);
    expect(drops(SOURCE, VICTIM)).toBe(false);
  });

  test("takes as many pairs as there is room for, and refuses one more whole", () => {
    const pairs = Array.from({ length: BOUNDS.maxPairs + 1 }, (_, i) => ({
      ...pair(`10.1.${i >> 8}.${i & 255}`, VICTIM),
      expiresAtMs: later(),
    }));
    const [last, before, ...others] = pairs.reverse();
    if (last === undefined || before === undefined) throw new Error("no pairs");
    filter.putPairs(others);
    expect(() => filter.putPairs([before, last])).toThrow(
      "no room for more than 1000 source blocks in the kernel: remove some, or let them expire",
    );
    expect(filter.status().pairs).toBe(BOUNDS.maxPairs - 1);
    expect(drops(before.source, VICTIM)).toBe(false);
    filter.putPairs([before]);
    expect(filter.readPairs()).toHaveLength(BOUNDS.maxPairs);
    for (const { source } of [before, ...others]) expect(drops(source, VICTIM)).toBe(true);
    filter.removePairs(others);
    filter.putPairs([last]);
    expect(filter.status().pairs).toBe(2);
  });

  test("takes as many rules as there is room for, and refuses more whole", () => {
    const rules = Array.from({ length: BOUNDS.maxRules + 1 }, (_, i) => discard(`10.1.0.${i}/32`));
    setRules(...rules.slice(0, -1));
    expect(() => setRules(...rules)).toThrow(
      "no room in the kernel for 65 dynamic rules, only 64: raise dataplane.limits.max_dynamic_rules and restart",
    );
    expect(filter.status().rules).toBe(BOUNDS.maxRules);
    expect([drops(SOURCE, "10.1.0.63"), drops(SOURCE, "10.1.0.64")]).toEqual([true, false]);
    setRules(...rules.slice(1));
    expect([drops(SOURCE, "10.1.0.0"), drops(SOURCE, "10.1.0.64")]).toEqual([false, true]);
  });

  test("an unchanged rule keeps its counts; a changed one starts at zero", () => {
    const put = (rule: Rule, ...others: Rule[]) =>
      filter.setRules([rule, ...others].map((one, i) => ({ id: `r${i}`, rule: one, expiresAtMs: later() })));
    put(discard(`${VICTIM}/32`));
    drops(SOURCE, VICTIM);
    put(discard(`${VICTIM}/32`), discard("10.0.0.1/32"));
    expect(filter.readRules().find(({ id }) => id === "r0")?.droppedPackets).toBe(1);
    put({ ...discard(`${VICTIM}/32`), protocols: exactly(17) });
    expect(filter.readRules()).toEqual([
      {
        id: "r0",
        expiresAtMs: expect.any(Number),
        ...{
          packets: 0,
          bytes: 0,
          droppedPackets: 0,
          droppedBytes: 0,
          answeredPackets: 0,
          answeredBytes: 0,
          validated: 0,
        },
      },
    ]);
  });

  test("a limit lets its rate through, and no more", () => {
    const bytesPerSecond = 20_000;
    const one = frame(SOURCE, VICTIM).length;
    setRules(wideRule(prefix(`${VICTIM}/32`), { kind: "rate_limit", bytesPerSecond }));
    drops("198.51.100.8", "203.0.113.10");
    const begun = performance.now();
    let [passed, sent, unusedMs, last] = [0, 0, 0, begun];
    while (sent < 4000 || last - begun < 1000) {
      sent++;
      if (!drops(SOURCE, VICTIM)) passed += one;
      const now = performance.now();
      // A pause longer than a burst leaves some of the rate unused.
      unusedMs += Math.max(0, now - last - BURST_MS / 2);
      last = now;
    }
    const seconds = (last - begun) / 1000;
    const burst = (bytesPerSecond * BURST_MS) / 1000;
    expect(passed).toBeGreaterThanOrEqual(Math.min(sent * one, bytesPerSecond * (seconds - unusedMs / 1000)) - one);
    expect(passed).toBeLessThanOrEqual(bytesPerSecond * seconds + burst + 2 * one);
    const [row] = filter.readRules();
    expect(row?.packets).toBe(sent);
    expect((row?.bytes ?? 0) - (row?.droppedBytes ?? 0)).toBe(passed);
  });

  test("refuses bad rows by name and changes nothing", () => {
    block(SOURCE, VICTIM);
    const native = filter.native;
    expect(() => native.putPairs(new Uint8Array(31), new Float64Array(1))).toThrow(RangeError);
    expect(() => native.putPairs(new Uint8Array(32), new Float64Array(2))).toThrow(RangeError);
    expect(() => native.setRules(["a"], new Uint8Array(111), new Uint8Array(), new Uint8Array())).toThrow(RangeError);
    expect(() => native.setAllowlist(new Uint8Array(16).fill(1), new Uint8Array([8]))).toThrow("no host bits");
    expect(() => setRules(wideRule(prefix("10.0.0.0/8"), { kind: "rate_limit", bytesPerSecond: 0.5 }))).toThrow(
      "bytesPerSecond must be 0 or at least 1",
    );
    expect(() => filter.setRules([{ id: "x".repeat(64), rule: discard("10.0.0.0/8"), expiresAtMs: later() }])).toThrow(
      "rule identifiers must differ and have 1 to 63 bytes",
    );
    expect(() => native.close("gone" as "keep")).toThrow(TypeError);
    expect(drops(SOURCE, VICTIM)).toBe(true);
  });

  test("is closed once; then every call says so", () => {
    filter.close("detach");
    filter.close("detach");
    expect(() => filter.status()).toThrow("filter is closed");
    expect(() => block(SOURCE, VICTIM)).toThrow("filter is closed");
  });

  test("refuses a second owner of the same pins, until the first is closed", () => {
    expect(() => openKernelFilter(options())).toThrow(
      `another floodwall process keeps its filter in ${directory.path}: stop it, or give this one its own dataplane.pin_path`,
    );
    filter.close("keep");
    filter = openKernelFilter(options());
    expect(filter.status().origin).toBe("made");
  });
});

test.skipIf(bpfUnavailable !== null)("a path that is not on a BPF file system is refused with the remedy", () => {
  const at = `${import.meta.dir}/pins`;
  const wanted = { pinPath: at, interfaces: [], xdpMode: "auto", ...BOUNDS } as const;
  expect(() => openKernelFilter(wanted)).toThrow(`${at} is not on a BPF file system: mount one with`);
});
