import { expect, test } from "bun:test";
import { rehearsals } from "./rule-rehearsal.ts";

test("a rehearsal goes through every round", () => {
  expect([...rehearsals(4)]).toHaveLength(4);
});
