import { expect, test } from "bun:test";
import { sessionWord } from "./bgp-session.ts";

test.each([
  ["ESTABLISHED", "ok", "up"],
  ["established", "ok", "up"],
  ["active", "danger", "session down, dialling"],
  ["OPEN_SENT", "danger", "session down, negotiating"],
  ["Idle", "danger", "session down"],
  ["odd", "danger", "session down, odd"],
] as const)("a session that is %s is %s: %s", (state, tone, text) => {
  expect(sessionWord(state)).toEqual({ tone, text });
});
