import { expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { slotsPerBan } from "./ban-slots.ts";

function slots(text: string): number {
  const common = "networks: [192.0.2.0/24]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
  return slotsPerBan(configOf(`${common}dataplane: {interfaces: [eth0]}\n${text}`));
}

test("a ban has eight slots for the rules of its attack", () => {
  expect(slots("")).toBe(8);
  expect(slots("scrub: {profile: web}\n")).toBe(8);
});

test.each([
  ["two more that validate and limit", "mitigation: scrub\n", 10],
  ["those of a profile", "mitigation: scrub\nscrub: {profile: dns}\n", 8 + 3 + 2 + 6],
  ["as a fallback", "ban: {fallback: scrub}\n", 10],
  ["of prefixes", "carpet: {thresholds: {pps: 1000}, mitigation: scrub}\n", 10],
  ["and one for questions", 'mitigation: scrub\nscrub: {tcp: "off", answers: asked}\n', 9],
  [
    "of the hostgroup with the most",
    "mitigation: scrub\nhostgroups: [{name: web, networks: [192.0.2.0/28], scrub: {profile: web}}]\n",
    8 + 1 + 2 + 6,
  ],
])("with scrubbing %s", (_, text, expected) => {
  expect(slots(text)).toBe(expected);
});
