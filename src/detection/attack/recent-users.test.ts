import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { addressFromBytes } from "../../net/address.ts";
import { looksLikeUser, RECENT_USERS_MAX, RecentUsers } from "./recent-users.ts";

function seen(users: RecentUsers, nowMs: number): string[] {
  const rows = users.rows(nowMs);
  return Array.from({ length: rows.length / 16 }, (_, i) => addressFromBytes(rows, 16 * i));
}

test("users are remembered for a minute after they were last seen", () => {
  const users = new RecentUsers();
  users.add(address("192.0.2.1"), 0);
  users.add(address("2001:db8::1"), 1000);
  users.add(address("192.0.2.1"), 2000);
  expect(seen(users, 61_000)).toEqual(["2001:db8::1", "192.0.2.1"]);
  expect(seen(users, 61_001)).toEqual(["192.0.2.1"]);
  expect(seen(users, 62_001)).toEqual([]);
});

test("of more than there is room for, the one that was not seen for longest goes", () => {
  const users = new RecentUsers();
  for (let i = 0; i <= RECENT_USERS_MAX; i++) users.add(address(`10.0.${i >> 8}.${i & 255}`), i / 100);
  expect(seen(users, 1000)).toHaveLength(RECENT_USERS_MAX);
  expect(seen(users, 1000)[0]).toBe("10.0.0.1");
});

test.each([
  [6, 0x10, true],
  [6, 0x18, true],
  [6, 0x02, false],
  [6, 0x12, false],
  [6, 0x14, false],
  [17, null, true],
  [1, null, false],
])("a packet of protocol %d with flags %p is of a user: %p", (protocol, tcpFlags, isUser) => {
  const header = { protocol, tcpFlags, fragment: null } as unknown as Parameters<typeof looksLikeUser>[0];
  expect(looksLikeUser(header)).toBe(isUser);
  expect(looksLikeUser({ ...header, fragment: { first: true } } as unknown as typeof header)).toBe(false);
});
