import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { knownOf } from "../../test/fixtures/baselines.ts";
import { pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { folder } from "../../test/fixtures/folders.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { networksOf } from "../../test/fixtures/networks.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import type { LearnedRates } from "../detection/baseline/learned-rates.ts";
import { addressToBytes } from "../net/address.ts";
import { allocateHostRows } from "../traffic/host-rows.ts";
import { loadAddon } from "./addon.ts";
import type { Engine } from "./native.d.ts";

const HOST = addressToBytes(address("10.0.0.1"));
const SECOND = { nowSeconds: 1, seconds: 1, hour: 0, intoSeconds: 1, idleSeconds: 0, windowMs: 1000 };

const native = loadAddon();
let engine: Engine;
let rates: LearnedRates;

beforeAll(() => {
  const path = join(directory, "one.pcap");
  const frame = ethernet(ip({ src: "192.0.2.1", dst: "10.0.0.1" }, udp({ sourcePort: 1, destinationPort: 2 })));
  writeFileSync(path, pcapBytes([{ frame, atNs: 1_700_000_000_000_000_000n }], { precision: "nano" }));
  engine = native.openEngine({
    ...{ maxHosts: 16, windowMs: 1000, tickMs: 100, countOutgoing: false, idleMs: 60_000 },
    clock: "capture",
  });
  engine.setNetworks(networksOf(["10.0.0.0/24"]));
  engine.openReplay(path).advance();
});
afterAll(() => engine.close());
// After the engine: Bun runs these in the order of the file.
const directory = folder("learning");

function opened(): LearnedRates {
  rates = native.openBaselines({ capacity: 16, directions: 1 });
  const rule = { warmupSeconds: 0, halfLifeSeconds: 60, factor: 3, floor: Float64Array.of(1, 1, 1), isSeasonal: false };
  rates.setGroups([{ isWhole: false, rule }]);
  rates.beginPass(SECOND);
  return rates;
}

describe("a pass over an engine's hosts", () => {
  test("teaches the same on this thread and on another one", async () => {
    const [here, aside] = [opened(), opened()];
    expect(engine.learnHosts(here, null, 0)).toBe(-1);
    expect(await engine.learnHostsAsync(aside, null, 0)).toBe(-1);
    expect(knownOf(here, HOST)).toEqual({ seconds: 1, normal: [1, expect.any(Number), 1] });
    expect(knownOf(aside, HOST)).toEqual(knownOf(here, HOST));
  });

  test("goes on where baselines and sums are closed meanwhile", async () => {
    const [learning, sums] = [opened(), native.openPrefixSums(4)];
    const slice = engine.learnHostsAsync(learning, sums, 0);
    learning.close();
    sums.close();
    expect(await slice).toBe(-1);
    expect(() => engine.learnHosts(learning, null, 0)).toThrow("baselines is closed");
    expect(() => engine.learnHosts(opened(), sums, 0)).toThrow("prefix sums is closed");
    for (const close of [learning, sums]) close.close();
  });

  test("refuses what is no handle of the addon", () => {
    const given = {} as LearnedRates;
    expect(() => engine.learnHosts(given, null, 0)).toThrow("baselines must be baselines of the addon");
    expect(() => engine.learnHosts(opened(), given as never, 0)).toThrow("sums must be prefix sums of the addon");
    expect(() => engine.learnHosts(opened(), null, "0" as never)).toThrow("cursor must be a number");
  });
});

describe("baselines of the addon", () => {
  test.each([
    { capacity: 0, directions: 1 },
    { capacity: 2 ** 24, directions: 1 },
    { capacity: 1, directions: 3 },
  ])("have no size of %p", (options) => {
    expect(() => native.openBaselines(options as never)).toThrow(RangeError);
  });

  test("refuse columns without room, rows that there are not, and files of other directions", () => {
    const learned = opened();
    const [groups, out] = [Uint32Array.of(0, 0), new Float64Array(10)];
    const faults = [
      () => learned.read(HOST, 0, groups, 2, out),
      () => learned.read(new Uint8Array(32), 0, Uint32Array.of(0), 2, out),
      () => learned.read(new Uint8Array(32), 0, groups, 2, new Float64Array(9)),
      () => learned.read(new Uint8Array(32), 16, groups, 2, out),
      () => learned.read(new Uint8Array(32), 99, groups, 1, out),
      () => learned.learnRows(allocateHostRows(1), 2, null),
      () => learned.copyRows(0, 1, new Uint8Array(36)),
      () => learned.takeRows(new Uint8Array(0), 3, 1),
    ];
    for (const fault of faults) expect(fault).toThrow(RangeError);
    learned.read(new Uint8Array(32), 0, groups, 2, out);
    expect(out[0]).toBe(-1);
  });
});

test("sums refuse prefixes longer than an address, and columns that do not fit together", () => {
  const sums = native.openPrefixSums(4);
  expect(() => sums.setNetworks(Uint8Array.of(33), Uint8Array.of(1))).toThrow(RangeError);
  expect(() => sums.setNetworks(Uint8Array.of(24), new Uint8Array(0))).toThrow(RangeError);
  expect(() => sums.read(new Float64Array(12), new Float64Array(13), new Float64Array(2))).toThrow(RangeError);
  expect(() => native.openPrefixSums(0)).toThrow(RangeError);
});
