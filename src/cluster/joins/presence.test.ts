import { describe, expect, test } from "bun:test";
import { type BrainView, elsewhere } from "./presence.ts";

const [STALE_MS, NOW] = [15_000, 100_000];
const at = { nowMs: NOW, staleAfterMs: STALE_MS };

const up = (sinceMs = 0) => ({ isUp: true, sinceMs });
const down = (sinceMs: number) => ({ isUp: false, sinceMs });
const held = { isHolding: true, seenMs: 1000, leftMs: null };
const seen = (seenMs: number, leftMs: number | null = null) => ({ isHolding: false, seenMs, leftMs });

describe("a node that is not alive by the own polls", () => {
  test.each<[string, number | null, BrainView, string | null]>([
    ["is alive while another brain holds its poll", null, { reach: up(), sighting: held }, "alive"],
    ["is alive as long after its last poll there", null, { reach: up(), sighting: seen(NOW - STALE_MS) }, "alive"],
    ["is lost one ms later", null, { reach: up(), sighting: seen(NOW - STALE_MS - 1) }, null],
    ["is not known of a brain that did not see it", null, { reach: up(), sighting: null }, null],
    [
      "is unknown if it was alive at a brain that went away",
      null,
      { reach: down(5000), sighting: seen(5000, 5000) },
      "unknown",
    ],
    ["is unknown however long that brain is away", 1000, { reach: down(5000), sighting: seen(5000, 5000) }, "unknown"],
    ["is lost if it was seen here later than there", 6000, { reach: down(5000), sighting: seen(5000, 5000) }, null],
    ["is lost if it was lost there before", null, { reach: down(50_000), sighting: seen(34_999, 50_000) }, null],
    [
      "is unknown just after that brain is back",
      1000,
      { reach: up(NOW - STALE_MS), sighting: seen(5000, 5000) },
      "unknown",
    ],
    ["is lost if that brain says so when it is back", 1000, { reach: up(NOW), sighting: seen(5000) }, null],
    [
      "is lost if it did not poll that brain in time after that",
      1000,
      { reach: up(NOW - STALE_MS - 1), sighting: seen(5000, 5000) },
      null,
    ],
    [
      "is unknown if it was never seen, and a brain never was in reach",
      null,
      { reach: null, sighting: null },
      "unknown",
    ],
    ["is lost if it was seen here, and that brain never was in reach", 1000, { reach: null, sighting: null }, null],
  ])("%s", (_name, ownSeenMs, brain, expected) => {
    expect(elsewhere(ownSeenMs, [brain], at)).toBe(expected as never);
  });

  test("is alive if one of the brains sees it, whatever the others know", () => {
    const brains = [
      { reach: down(5000), sighting: seen(5000, 5000) },
      { reach: up(), sighting: held },
    ];
    expect(elsewhere(null, brains, at)).toBe("alive");
  });
});
