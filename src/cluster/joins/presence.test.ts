import { describe, expect, test } from "bun:test";
import { type BrainView, elsewhere, UNKNOWN_MAX_MS } from "./presence.ts";

const [STALE_MS, NOW] = [15_000, 1_000_000];
const LEFT = NOW - UNKNOWN_MAX_MS;
const at = { nowMs: NOW, staleAfterMs: STALE_MS };

const up = (sinceMs = 0) => ({ isUp: true, sinceMs, wasUp: true });
const down = (sinceMs: number) => ({ isUp: false, sinceMs, wasUp: true });
const neverUp = (sinceMs: number) => ({ isUp: false, sinceMs, wasUp: false });
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
      1000,
      { reach: down(LEFT), sighting: seen(LEFT, LEFT) },
      "unknown",
    ],
    [
      "is lost if that brain is away for too long",
      1,
      { reach: down(LEFT - 1), sighting: seen(LEFT - 1, LEFT - 1) },
      null,
    ],
    ["is lost if it was seen here later", LEFT + 1, { reach: down(LEFT), sighting: seen(LEFT, LEFT) }, null],
    [
      "is lost if it was lost there before",
      null,
      { reach: down(LEFT), sighting: seen(LEFT - STALE_MS - 1, LEFT) },
      null,
    ],
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
      { reach: neverUp(LEFT), sighting: null },
      "unknown",
    ],
    ["is lost if that lasts for too long", null, { reach: neverUp(LEFT - 1), sighting: null }, null],
    [
      "is lost if it was seen here, and that brain never was in reach",
      1000,
      { reach: neverUp(LEFT), sighting: null },
      null,
    ],
  ])("%s", (_name, ownSeenMs, brain, expected) => {
    expect(elsewhere(ownSeenMs, [brain], at)).toBe(expected as never);
  });

  test("is alive if one of the brains sees it, whatever the others know", () => {
    const brains = [
      { reach: down(LEFT), sighting: seen(LEFT, LEFT) },
      { reach: up(), sighting: held },
    ];
    expect(elsewhere(null, brains, at)).toBe("alive");
  });
});
