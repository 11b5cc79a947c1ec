/** What a BIRD's record of its routes says of each moment. */
import { afterEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Undo } from "../../fixtures/undo.ts";
import { eventsIn } from "./events.ts";
import { RouteLog } from "./route-log.ts";

const PREFIX = "203.0.113.7/32";
const undo = new Undo();
afterEach(() => undo.all());

const at = (seconds: string) => Date.parse(`2026-11-29T17:47:${seconds}`);
const line = (seconds: string, text: string) => `2026-11-29 17:47:${seconds} <TRACE> ${text}`;
const change = (seconds: string, what: string, prefix = PREFIX) =>
  line(seconds, `brain1.ipv4 > ${what} ${prefix} 0L 2G unreachable`);

function logOf(...lines: string[]): RouteLog {
  const path = join(undo.folder("route-log"), "bird.log");
  writeFileSync(path, `${lines.join("\n")}\n`);
  return new RouteLog(path);
}

test("a route that goes and comes again is missing in between, one that only loses one of two sessions is not", () => {
  const log = logOf(
    line("05.000000", "brain1: State changed to start"),
    change("09.000000", "added [best]"),
    change("09.100000", "added"),
    change("10.000000", "removed [replaced]"),
    change("11.000000", "removed [sole]", "203.0.113.70/32"),
    change("12.500000", "removed [sole]"),
    change("12.750000", "added [best]"),
  );
  expect(log.longestGapMs(PREFIX, at("09.500"), at("12.000"))).toBe(0);
  expect(log.longestGapMs(PREFIX, at("09.500"), at("20.000"))).toBe(250);
  expect(log.longestGapMs(PREFIX, at("08.000"), at("20.000"))).toBe(1000);
  expect(log.longestGapMs(PREFIX, at("12.600"), at("20.000"))).toBe(150);
  expect(log.goneAtMs(PREFIX)).toBeNull();
  expect(log.goneAtMs("203.0.113.70/32")).toBe(at("11.000"));
  expect(log.goneAtMs("203.0.113.99/32")).toBeNull();
});

test("with the end of the process all routes are gone", () => {
  const log = logOf(change("09.000000", "added [best]"));
  const fromMs = Date.now();
  expect(log.isThere(PREFIX, fromMs)).toBe(true);
  log.stopped();
  expect(log.goneAtMs(PREFIX)).toBeGreaterThanOrEqual(fromMs);
  expect(log.longestGapMs(PREFIX, at("10.000"), Date.now() + 5000)).toBeGreaterThanOrEqual(5000);
});

test("an attack is notified when it began and when it ended; what began again is a repetition", () => {
  const lines = (victim: string, ...events: string[]) => events.map((event) => `${event} id attack ${victim}`);
  const output = [
    ...lines("203.0.113.7", "attack_started", "ban_active", "attack_ended"),
    ...lines("203.0.113.37", "attack_started", "attack_started", "attack_ended"),
    ...lines("203.0.113.17", "attack_started"),
    ...lines("203.0.113.27", "attack_ended"),
  ].join("\n");
  expect(eventsIn(output)).toEqual({ lost: ["203.0.113.17", "203.0.113.27", "203.0.113.71"], repeated: 1 });
});
