import { expect, test } from "bun:test";
import { movesWithText } from "./wider-prefix.ts";

const WIDE = { announced_prefix: "203.0.113.0/24" };

test("what moves with a ban is named, the busiest hosts first", () => {
  expect(movesWithText({})).toBeNull();
  expect(movesWithText(WIDE)).toBe("203.0.113.0/24");
  const hostgroups = ["global", "web"];
  expect(movesWithText({ ...WIDE, moves_with: { hostgroups } })).toBe("203.0.113.0/24: hostgroups global, web");
  const busiest = [{ target: "203.0.113.9", mbps: 4.2 }];
  expect(movesWithText({ ...WIDE, moves_with: { hostgroups, hosts: 1, busiest } })).toBe(
    "203.0.113.0/24: 1 other host with traffic in the last minute (203.0.113.9 4.20 Mbit/s), hostgroups global, web",
  );
  expect(movesWithText({ ...WIDE, moves_with: { hostgroups, hosts: 30, busiest } })).toContain("30 other hosts");
  expect(movesWithText({ ...WIDE, moves_with: { hostgroups, hosts: 30, busiest } })).toContain("Mbit/s …)");
});
