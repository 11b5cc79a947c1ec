import { describe, expect, test } from "bun:test";
import {
  aligned,
  explorationOf,
  filteredExploration,
  ignoredTerms,
  isNamedByFilter,
  LINES_MAX,
  seriesPath,
  sumOf,
  toggled,
} from "./exploration.ts";
import { parseFilter } from "./filter.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const of = (query: string) => explorationOf(new URLSearchParams(query));
const point = (ts: string, pps: number) => ({ ts: `2026-03-01T${ts}Z`, pps });

describe("the choice in the page's address", () => {
  test("is all hosts by protocol of the last hour where nothing is chosen, or nothing valid", () => {
    const first = { by: "protocol", only: [], direction: "incoming", unit: "pps", isStacked: true, comparison: "none" };
    expect(of("")).toMatchObject({ ...first, range: "1h" });
    expect(of("by=x&direction=x&unit=x&form=x&compare=x&range=x")).toEqual(of(""));
  });

  test("has what was chosen", () => {
    expect(of("by=host&only=203.0.113.7,2001:db8::1&unit=mbps&form=lines&compare=week&range=7d")).toMatchObject({
      by: "host",
      only: ["203.0.113.7", "2001:db8::1"],
      unit: "mbps",
      isStacked: false,
      comparison: "week",
      range: "7d",
    });
  });

  test("has no flows by protocol, one hostgroup by protocol, addresses only by host, and no more lines than fit", () => {
    expect(of("unit=flows_per_sec").unit).toBe("pps");
    expect(of("only=web,mail").only).toEqual(["web"]);
    expect(of("by=host&only=web,203.0.113.7,203.0.113.7").only).toEqual(["203.0.113.7"]);
    const names = Array.from({ length: LINES_MAX + 1 }, (_, i) => `g${i}`);
    expect(of(`by=hostgroup&only=${names.join(",")}`).only).toEqual(names.slice(0, LINES_MAX));
  });

  test("gains and loses names", () => {
    expect([toggled(["web"], "mail"), toggled(["web", "mail"], "web"), toggled(["web"], "web")]).toEqual([
      "web,mail",
      "mail",
      null,
    ]);
  });
});

describe("the path of a series", () => {
  const now = { nowMs: NOW, earlierSeconds: 0 };

  test("is that of a host, of a hostgroup, or of all", () => {
    expect(seriesPath(of("by=host"), "203.0.113.7", now)).toBe(
      "/api/v1/traffic?direction=incoming&from=2026-03-01T11%3A00%3A00.000Z&step=10&key=203.0.113.7",
    );
    expect(seriesPath(of("by=hostgroup&direction=outgoing"), "web", now)).toBe(
      "/api/v1/traffic/total?direction=outgoing&from=2026-03-01T11%3A00%3A00.000Z&step=10&hostgroup=web",
    );
    expect(seriesPath(of(""), null, now)).not.toContain("hostgroup");
  });

  test("ends earlier for a comparison", () => {
    expect(seriesPath(of(""), null, { nowMs: NOW, earlierSeconds: 86_400 })).toBe(
      "/api/v1/traffic/total?direction=incoming&from=2026-02-28T11%3A00%3A00.000Z&to=2026-02-28T12%3A00%3A00.000Z&step=10",
    );
  });
});

describe("points of several answers", () => {
  const seconds = (ts: string) => Date.parse(`2026-03-01T${ts}Z`) / 1000;

  test("stand on one axis, with those of an earlier day where they are compared", () => {
    const { times, rows } = aligned(
      [
        { points: [point("12:00:00", 1), point("12:00:10", 2)], earlierSeconds: 0 },
        { points: [point("11:00:10", 3)], earlierSeconds: 3600 },
      ],
      10,
    );
    expect(times).toEqual([seconds("12:00:00"), seconds("12:00:10")]);
    expect(rows.map((row) => row.map((at) => at?.pps ?? null))).toEqual([
      [1, 2],
      [null, 3],
    ]);
  });

  test("have a gap where nothing was recorded for longer than a step", () => {
    const points = [point("12:00:00", 1), point("12:00:20", 2), point("12:01:00", 3)];
    const { times, rows } = aligned([{ points, earlierSeconds: 0 }], 10);
    expect(times).toEqual(["12:00:00", "12:00:20", "12:00:30", "12:01:00"].map(seconds));
    expect(rows[0]?.map((at) => at?.pps ?? null)).toEqual([1, 2, null, 3]);
  });

  test("add up as far as they were recorded", () => {
    expect([sumOf([1, null, 2]), sumOf([null, null]), sumOf([0])]).toEqual([3, null, 0]);
  });
});

describe("the filter in the explorer", () => {
  const kept = (query: string, filter: string) =>
    filteredExploration(explorationOf(new URLSearchParams(query)), parseFilter(filter)).only;

  test("is the choice of lines, or narrows it", () => {
    expect(kept("by=hostgroup", "hostgroup=web;country=DE")).toEqual(["web"]);
    expect(kept("by=hostgroup&only=web,dns", "hostgroup!=web")).toEqual(["dns"]);
    expect(kept("by=asn&only=AS1 A%252C B", "asn=AS1")).toEqual(["AS1 A, B"]);
    expect(kept("by=protocol", "hostgroup=web")).toEqual(["web"]);
  });

  test("is shown also where none of it is among the chosen, as the busiest are chosen at first", () => {
    expect(kept("by=hostgroup&only=dns,mail", "hostgroup=web")).toEqual(["web"]);
    expect(kept("by=hostgroup&only=web", "hostgroup!=web")).toEqual([]);
  });

  test("that names what can be shown needs no choice of the busiest", () => {
    const named = (filter: string) => isNamedByFilter("hostgroup", parseFilter(filter), ["dns", "web"]);
    expect([named("hostgroup=web"), named("hostgroup=WEB;hostgroup=dns")]).toEqual([true, true]);
    expect([named(""), named("hostgroup!=web"), named("hostgroup=other"), named("country=web")]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  test("of other fields than those of the rates is said to be ignored", () => {
    const ignored = (by: Parameters<typeof ignoredTerms>[0], filter: string) =>
      ignoredTerms(by, parseFilter(filter)).map(({ field }) => field);
    expect(ignored("protocol", "hostgroup=web;protocol=udp;country=DE")).toEqual(["country"]);
    expect(ignored("country", "hostgroup=web;country=DE")).toEqual(["hostgroup"]);
  });
});

test("a part of the traffic is incoming, without flows, and read by its key; all of it as the total", () => {
  const part = explorationOf(new URLSearchParams("by=asn&direction=outgoing&unit=flows_per_sec"));
  expect([part.direction, part.unit]).toEqual(["incoming", "pps"]);
  const time = { nowMs: Date.parse("2026-03-01T12:00:00Z"), earlierSeconds: 0 };
  expect(seriesPath(part, "AS1 A, B", time)).toStartWith("/api/v1/traffic/part?by=asn&key=AS1+A%2C+B&from=");
  expect(seriesPath(part, null, time)).toStartWith("/api/v1/traffic/total?direction=incoming&from=");
});
