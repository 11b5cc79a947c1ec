/** From which length on a wider prefix is announced for bans. */
import { expect, test } from "bun:test";
import { buildBlackhole, buildDivert, NO_TERMS } from "./route-terms.ts";

test("a divert has the wider prefix in place of each longer one", () => {
  expect(buildDivert(NO_TERMS).enclosing).toBeUndefined();
  expect(buildDivert({ ...NO_TERMS, announce_v4: 24, announce_v6: 48 }).enclosing).toEqual({
    4: { length: 24, upTo: 24 },
    6: { length: 48, upTo: 48 },
  });
});

test("a blackhole has it from the length on that a neighbor does not take", () => {
  const at = (neighbors: readonly { readonly policy?: string }[]) =>
    buildBlackhole({
      ...{ ...NO_TERMS, announce_v4: 24, neighbors },
      policies: [
        { name: "short", ipv4_lengths: "8-28" },
        { name: "shorter", ipv4_lengths: "8-20" },
        { name: "rules", methods: ["flowspec"], ipv4_lengths: "24" },
        { name: "any" },
      ],
    }).enclosing?.[4];
  expect(at([{}, { policy: "any" }, { policy: "rules" }])).toEqual({ length: 24, upTo: 32 });
  expect(at([{}, { policy: "short" }])).toEqual({ length: 24, upTo: 28 });
  expect(at([{ policy: "shorter" }])).toEqual({ length: 24, upTo: 24 });
});
