import { expect, test } from "bun:test";
import { NO_VERDICTS } from "../../../test/fixtures/dataplane/table-filter.ts";
import type { FilterVerdicts } from "../../dataplane/native.d.ts";
import { droppedIn, LoadMeter, xdpModeOf } from "./load-meter.ts";

/** Each packet of 1000 bytes. */
function verdicts(passed: number, dropped: number, limited = 0): FilterVerdicts {
  const of = (packets: number) => ({ packets, bytes: packets * 1000 });
  return { ...NO_VERDICTS, pass_default: of(passed), drop_rule: of(dropped), drop_rate_limit: of(limited) };
}

test("load is what arrives, dropped or not, since the last look", () => {
  const meter = new LoadMeter();
  expect(meter.measure(verdicts(1e6, 5), 0)).toEqual({ pps: 0, mbps: 0 });
  expect(meter.measure(verdicts(1e6 + 20_000, 10_005), 10_000)).toEqual({ pps: 3000, mbps: 24 });
  expect(meter.measure(verdicts(1e6 + 20_000, 10_005), 20_000)).toEqual({ pps: 0, mbps: 0 });
});

test("restarted counters are no load", () => {
  const meter = new LoadMeter();
  meter.measure(verdicts(1e6, 0), 0);
  expect(meter.measure(verdicts(10, 0), 1000)).toEqual({ pps: 0, mbps: 0 });
  expect(meter.measure(verdicts(20, 0), 2000)).toEqual({ pps: 10, mbps: 0.08 });
});

test("all reasons to drop are added up", () => {
  expect(droppedIn(verdicts(7, 2, 3))).toEqual({ packets: 5, bytes: 5000 });
});

test("the mode is the worst of all interfaces", () => {
  expect(xdpModeOf([{ mode: "native" }, { mode: "native" }])).toBe("native");
  expect(xdpModeOf([{ mode: "native" }, { mode: "generic (the driver has no XDP)" }])).toBe("generic");
  expect(xdpModeOf([{ mode: "generic" }, { mode: null }])).toBe("none");
});
