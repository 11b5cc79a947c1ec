import { describe, expect, test } from "bun:test";
import { ran } from "../../test/fixtures/steps.ts";
import { type MarkedPeak, type SuggestionTerms, suggestThresholds } from "./threshold-suggestion.ts";
import { type HostPeaks, isPeakSeries, type TrafficPeaks } from "./traffic-peaks.ts";

const host = (key: string, pps: number, more: Partial<HostPeaks> = {}): HostPeaks => ({
  ...{ key, outgoing: false, pps, mbps: pps / 100, flowsPerSec: pps / 10 },
  ...more,
});
const daysOf = (count: number, seconds = 86_400) =>
  Array.from({ length: count }, (_, i) => ({ day: 20_000 + i, seconds }));
const peaks = (hosts: readonly HostPeaks[], changes: Partial<TrafficPeaks> = {}): TrafficPeaks => ({
  ...{ days: daysOf(14), hosts, leftOut: 0 },
  ...changes,
});
const TERMS: SuggestionTerms = {
  groups: [
    { name: "global", isTotal: false, judgesOutgoing: false },
    { name: "web", isTotal: false, judgesOutgoing: true },
    { name: "uplink", isTotal: true, judgesOutgoing: false },
  ],
  groupOf: (key) => (key.startsWith("192.0.2.") ? "web" : key.startsWith("203.0.113.") ? "global" : null),
  margin: 2,
  marked: [],
};

describe("thresholds from the history", () => {
  test("are above the busiest host of each hostgroup and direction by the margin, rounded up", () => {
    const hosts = [
      host("192.0.2.1", 1234),
      host("192.0.2.2", 400, { flowsPerSec: 9999 }),
      host("192.0.2.1", 77, { outgoing: true }),
      host("203.0.113.1", 3, { mbps: 0 }),
      host("198.51.100.1", 1e6),
      host("hostgroup: uplink", 50_001),
    ];
    const made = ran(suggestThresholds(peaks(hosts), TERMS));
    if (made.kind !== "suggested") throw new Error("nothing is suggested");
    expect(made.days).toBe(14);
    expect(
      made.groups.map(({ name, direction, hosts: count, thresholds }) => [name, direction, count, thresholds]),
    ).toEqual([
      ["global", "incoming", 1, { pps: 6, mbps: 1, flowsPerSec: 1 }],
      ["web", "incoming", 2, { pps: 2500, mbps: 25, flowsPerSec: 20_000 }],
      ["web", "outgoing", 1, { pps: 160, mbps: 2, flowsPerSec: 16 }],
      ["uplink", "incoming", 1, { pps: 110_000, mbps: 1100, flowsPerSec: 11_000 }],
    ]);
  });

  describe("rise above attacks that were marked as no attacks #thresholds-marked", () => {
    const alarm = (pps: number, more: Partial<MarkedPeak> = {}): MarkedPeak => ({
      ...{ group: "web", direction: "incoming", isTotal: false, isFalse: true },
      ...{ peak: { pps, mbps: 1, flowsPerSec: 1 } },
      ...more,
    });
    const web = (...marked: MarkedPeak[]) => {
      const made = ran(suggestThresholds(peaks([host("192.0.2.1", 1000)]), { ...TERMS, marked }));
      return made.kind === "suggested" ? made.groups[0] : undefined;
    };

    test.each<[string, MarkedPeak[], number, object | null]>([
      ["none", [], 2000, null],
      ["below it", [alarm(1900)], 2100, { attacks: 1, isBounded: false }],
      ["far below it", [alarm(1800)], 2000, null],
      ["above it", [alarm(3000), alarm(5000)], 5500, { attacks: 2, highest: { pps: 5000 }, isBounded: false }],
      ["far above it", [alarm(1e6)], 8000, { attacks: 1, isBounded: true }],
      ["another hostgroup", [alarm(5000, { group: "global" })], 2000, null],
      ["another direction", [alarm(5000, { direction: "outgoing" })], 2000, null],
      ["a hostgroup as a whole", [alarm(5000, { isTotal: true })], 2000, null],
      ["a real one", [alarm(5000, { isFalse: false })], 2000, null],
      ["a real one below", [alarm(5000), alarm(4000, { isFalse: false })], 5500, { attacks: 1, hidesReal: 1 }],
      ["a real one above", [alarm(5000), alarm(6000, { isFalse: false })], 5500, { hidesReal: 0 }],
    ])("%s", (_, marked, pps, raised) => {
      const made = web(...marked);
      expect(made?.thresholds).toEqual({ pps, mbps: 20, flowsPerSec: 200 });
      if (raised === null) expect(made?.raised).toBeNull();
      else expect(made?.raised).toMatchObject(raised);
    });
  });

  test("look at each host once, a host or a hostgroup in each step", () => {
    const groups = Array.from({ length: 100 }, (_, i) => ({
      ...{ name: `g${i}`, isTotal: false, judgesOutgoing: true },
    }));
    let looks = 0;
    const groupOf = (key: string) => {
      looks++;
      return `g${key}`;
    };
    const hosts = Array.from({ length: 200 }, (_, i) => host(String(i % 100), i + 1));
    const steps = suggestThresholds(peaks(hosts), { ...TERMS, groups, groupOf });
    let most = 0;
    for (let [before, isDone] = [0, false]; !isDone; before = looks) {
      isDone = steps.next().done === true;
      most = Math.max(most, looks - before);
    }
    expect([looks, most]).toEqual([200, 1]);
  });

  test("name a host that is not like the others", () => {
    const made = ran(suggestThresholds(peaks([host("192.0.2.1", 9000), host("192.0.2.2", 80)]), TERMS));
    expect(made.kind === "suggested" && made.groups).toMatchObject([
      { isOutlier: true, busiest: [{ key: "192.0.2.1" }, {}] },
    ]);
  });

  test.each<[string, TrafficPeaks["days"], number, number]>([
    ["six days", daysOf(6), 6, 6],
    ["days with half of the records", daysOf(14, 43_200), 0, 0],
    ["no day", [], 0, 0],
    ["two weeks without a weekend", daysOf(14).filter(({ day }) => day % 7 > 1), 10, 5],
  ])("are refused with too little history: %s", (_, days, counted, weekdays) => {
    expect(ran(suggestThresholds(peaks([host("192.0.2.1", 9)], { days }), TERMS))).toEqual({
      ...{ kind: "too_little", days: counted, weekdays },
    });
  });
});

test("peaks are of hosts and of hostgroups as a whole", () => {
  const names = [
    "192.0.2.1",
    "2001:db8::1",
    "hostgroup: web",
    "hostgroup udp: web",
    "total",
    "total of acme",
    "by asn: AS1",
  ];
  expect(names.filter(isPeakSeries)).toEqual(["192.0.2.1", "2001:db8::1", "hostgroup: web"]);
});
