import { expect, test } from "bun:test";
import { edgeReport, type ZoneWire, zoneWire } from "../../../test/fixtures/edge/edge-reports.ts";
import { address } from "../../../test/fixtures/host-rows.ts";
import { NOON } from "../../../test/fixtures/views.ts";
import { EDGE_CLOCK_AHEAD_MS, EDGE_CLOCK_BEHIND_MS, reportWindows } from "./report-windows.ts";

const serves = (zone: string) => zone !== "foreign";
const timeText = (ms: number) => new Date(ms).toISOString();
const windowsOf = (zones: ZoneWire[], { previous = [] as ZoneWire[], nowMs = NOON } = {}) =>
  reportWindows({
    node: "e1",
    report: edgeReport({ zones }),
    previous: edgeReport({ zones: previous }),
    nowMs,
    serves,
  });

test("a window has its counters and reported sources, without zones that the node does not serve #edge-history-leaves-out-claims", () => {
  const top_sources = [
    { source: "192.0.2.1", state: "denied", requests: 7 },
    { source: "192.0.2.2", state: "allow", requests: 9 },
  ];
  const { windows } = windowsOf([zoneWire("a", { denied: 3, top_sources }), zoneWire("foreign")]);
  expect(windows).toMatchObject([
    {
      node: "e1",
      zone: "a",
      atMs: NOON,
      seconds: 10,
      counts: { requests: 100, denied: 3, h3_requests: 0 },
      sources: [{ source: address("192.0.2.1"), state: "denied", requests: 7 }],
    },
  ]);
  expect(windows).toHaveLength(1);
});

test("a zone of which no window has closed has none", () => {
  const open = { zone: "a", requests: 3, window_seconds: 10 };
  expect(windowsOf([open, zoneWire("b", { window_seconds: 0 })]).windows).toEqual([]);
});

test.each([
  [-EDGE_CLOCK_BEHIND_MS - 1, true],
  [-EDGE_CLOCK_BEHIND_MS, false],
  [EDGE_CLOCK_AHEAD_MS, false],
  [EDGE_CLOCK_AHEAD_MS + 1, true],
])(
  "edge history takes a node's clock within its bounds: a window that ended %d ms from now is skewed: %p #edge-history-takes-a-nodes-clock",
  (ms, isSkewed) => {
    const { windows, isClockSkewed } = windowsOf([zoneWire("a", { at: timeText(NOON + ms) })]);
    expect([windows[0]?.atMs, isClockSkewed]).toEqual([isSkewed ? NOON : NOON + ms, isSkewed]);
  },
);

test("clocks of zones that the node does not serve are no matter", () => {
  expect(windowsOf([zoneWire("foreign", { at: "1999-01-01T00:00:00Z" })]).isClockSkewed).toBe(null);
});

test("a window that is sent again is another one by the service's time, and is left out there", () => {
  const skewed = [zoneWire("a", { at: "1999-01-01T00:00:00Z" })];
  expect(windowsOf(skewed, { previous: skewed })).toEqual({ windows: [], isClockSkewed: null });
  const later = [zoneWire("a", { at: "1999-01-01T00:00:10Z" })];
  expect(windowsOf(later, { previous: skewed }).windows).toHaveLength(1);
  const right = [zoneWire("a")];
  expect(windowsOf(right, { previous: right }).windows).toHaveLength(1);
});

test("a window that is sent until it is too old says nothing of the clock, one that is new does", () => {
  const [old, late] = [[zoneWire("a")], { previous: [zoneWire("a")], nowMs: NOON + EDGE_CLOCK_BEHIND_MS + 1 }];
  expect(windowsOf(old, late)).toEqual({ windows: [], isClockSkewed: null });
  const right = zoneWire("b", { at: timeText(late.nowMs) });
  expect(windowsOf([...old, right], late).isClockSkewed).toBe(false);
  const wrong = zoneWire("c", { at: timeText(NOON - 1) });
  for (const zones of [
    [wrong, ...old, right],
    [right, wrong],
  ])
    expect(windowsOf(zones, late).isClockSkewed).toBe(true);
});
