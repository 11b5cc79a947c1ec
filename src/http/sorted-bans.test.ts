import { expect, test } from "bun:test";
import { ran } from "../../test/fixtures/steps.ts";
import { ban, NOON } from "../../test/fixtures/views.ts";
import { sortedBans } from "./sorted-bans.ts";

test("bans are in order of address, IPv4 first, then by number, of one address the newest first", () => {
  const targets = ["2001:db8::1", "10.0.0.10", "192.0.2.1", "10.0.0.9", "2001:db8::", "9.0.0.1"];
  const bans = targets.map((target) => ban({ target }));
  bans.push(ban({ target: "10.0.0.9", id: "newer", startedAt: NOON + 1 }));
  const sorted = ran(sortedBans(bans)).map(({ ban: { target, id } }) => `${target} ${id}`);
  expect(sorted).toEqual([
    "9.0.0.1 b1",
    "10.0.0.9 newer",
    "10.0.0.9 b1",
    "10.0.0.10 b1",
    "192.0.2.1 b1",
    "2001:db8:: b1",
    "2001:db8::1 b1",
  ]);
});
