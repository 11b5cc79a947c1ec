import { describe, expect, test } from "bun:test";
import { attackEvent } from "../../test/fixtures/notify/notify.ts";
import { buildRoutes, type RouteFile } from "../config/sections/notify-routes.ts";
import { isQuiet, routedOf, takenBy } from "./route-tree.ts";

const route = (keys: Partial<RouteFile>): RouteFile => ({ targets: ["noc"], continue: false, ...keys });

describe("in Berlin, whose 29th of March 2026 has 23 hours and whose 25th of October 25", () => {
  const night = { hours: "22:00-06:00" };
  const hour = { hours: "02:00-03:00" };
  test.each([
    ["2026-03-28T20:59:59Z", night, false],
    ["2026-03-28T21:00:00Z", night, true],
    ["2026-03-29T03:59:59Z", night, true],
    ["2026-03-29T04:00:00Z", night, false],
    ["2026-03-29T20:00:00Z", night, true],
    ["2026-03-29T00:59:59Z", hour, false],
    ["2026-03-29T01:00:00Z", hour, false],
    ["2026-10-25T00:00:00Z", hour, true],
    ["2026-10-25T01:59:59Z", hour, true],
    ["2026-10-25T02:00:00Z", hour, false],
  ])("at %s, %j is a quiet time: %p", (utc, hours, expected) => {
    // That of the route around it, in its time zone.
    const [outer] = buildRoutes([route({ time_zone: "Europe/Berlin", quiet: [hours], routes: [route({})] })], "UTC");
    expect(outer?.routes.map((inner) => isQuiet(inner, Date.parse(utc)))).toEqual([expected]);
  });
});

test("days begin at midnight of the time zone, of the route or of all", () => {
  const friday = route({ days: ["friday"] });
  const times = ["2026-03-06T04:59:59Z", "2026-03-06T05:00:00Z", "2026-03-07T04:59:59Z", "2026-03-07T05:00:00Z"];
  const takenIn = (file: RouteFile, zone: string) =>
    times.map((utc) => takenBy(buildRoutes([file], zone), routedOf(attackEvent({ atMs: Date.parse(utc) }))).length);
  expect(takenIn(friday, "America/New_York")).toEqual([0, 1, 1, 0]);
  expect(takenIn({ ...friday, time_zone: "America/New_York" }, "UTC")).toEqual([0, 1, 1, 0]);
  expect(takenIn(friday, "UTC")).toEqual([1, 1, 0, 0]);
});
