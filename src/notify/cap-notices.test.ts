import { expect, test } from "bun:test";
import { CAP_PAUSE_MS, CapNotices } from "./cap-notices.ts";
import type { CapReached } from "./event.ts";

const bans = (refused: number, replaced = 0): CapReached => ({ name: "max_active_bans", limit: 50, refused, replaced });
const attacks = (refused: number): CapReached => ({ name: "attacks", limit: 4096, refused, replaced: 0 });

test("a cap is notified when it is reached, then at most every ten minutes, each time with what came since", () => {
  const notices = new CapNotices();
  expect(notices.take([bans(0), attacks(0)], 0)).toEqual([]);
  expect(notices.take([bans(3, 1), attacks(0)], 1000)).toEqual([bans(3, 1)]);
  expect(notices.take([bans(3, 1), attacks(7)], 2000)).toEqual([attacks(7)]);
  expect(notices.take([bans(9, 1), attacks(7)], 1000 + CAP_PAUSE_MS - 1)).toEqual([]);
  expect(notices.take([bans(9, 4), attacks(7)], 1000 + CAP_PAUSE_MS)).toEqual([bans(6, 3)]);
  expect(notices.take([bans(9, 4), attacks(7)], 10 * CAP_PAUSE_MS)).toEqual([]);
  expect(notices.take([bans(9, 5), attacks(7)], 10 * CAP_PAUSE_MS)).toEqual([bans(0, 1)]);
});
