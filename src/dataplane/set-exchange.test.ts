import { beforeEach, expect, test } from "bun:test";
import { TableFilters } from "../../test/fixtures/dataplane/table-filter.ts";
import type { KernelFilter, NamedSets } from "./kernel-filter.ts";
import { HELD_MAX_MS, SetExchange } from "./set-exchange.ts";

let kernel: TableFilters;
let filter: KernelFilter;
let nowMs: number;
let wanted: NamedSets | null;
let events: string[];
let exchange: SetExchange;

const sets = (): NamedSets => ({ size: () => ({ prefixes: 1, ranges: 1, bytes: 1 }), close: () => {} });
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const calls = () => kernel.calls.filter((call) => call.endsWith("named sets"));
const opened = () => {
  const bounds = { maxPairs: 9, maxRules: 9, maxPrefixes: 9, maxSources: 1024 };
  return kernel.open({ pinPath: "", interfaces: [], xdpMode: "auto", ...bounds });
};

beforeEach(() => {
  kernel = new TableFilters();
  filter = opened();
  [nowMs, wanted, events] = [0, null, []];
  exchange = new SetExchange({
    wanted: () => wanted,
    monotonicMs: () => nowMs,
    onFault: (cause) => events.push((cause as Error).message),
    onExchanged: () => events.push("exchanged"),
  });
});

test("sets that changed are exchanged once, one exchange at a time; none are left out", async () => {
  exchange.put(filter);
  expect([calls(), exchange.hasSets]).toEqual([[], false]);
  wanted = sets();
  exchange.put(filter);
  wanted = sets();
  exchange.put(filter);
  expect([calls().length, exchange.hasSets, exchange.isHeld]).toEqual([1, false, true]);
  await settled();
  expect([events, exchange.hasSets, exchange.isHeld]).toEqual([["exchanged"], true, false]);
  exchange.put(filter);
  await settled();
  exchange.put(filter);
  expect(calls()).toEqual(["exchange named sets", "exchange named sets"]);
});

test("sets that the kernel refuses leave the ones before in force, and are tried again", async () => {
  kernel.setsFault = "EPERM";
  wanted = sets();
  exchange.put(filter);
  await settled();
  expect([events, exchange.hasSets, exchange.isHeld]).toEqual([["EPERM"], false, false]);
  kernel.setsFault = null;
  exchange.put(filter);
  await settled();
  expect([events, exchange.hasSets]).toEqual([["EPERM", "exchanged"], true]);
});

test("an exchange that does not end holds rules up for a second, and is of no account for a filter opened after it", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  kernel.setsHeld = promise;
  wanted = sets();
  exchange.put(filter);
  nowMs = HELD_MAX_MS - 1;
  expect(exchange.isHeld).toBe(true);
  nowMs = HELD_MAX_MS;
  expect(exchange.isHeld).toBe(false);
  exchange.putInto(opened());
  wanted = sets();
  resolve();
  await settled();
  expect([events, exchange.hasSets, calls()]).toEqual([[], true, ["exchange named sets", "set named sets"]]);
});
