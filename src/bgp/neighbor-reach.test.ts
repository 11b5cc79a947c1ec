/** What a reload that changes neighbors announces and withdraws, of bans that stay as they are. */
import { expect, test } from "bun:test";
import { blackhole, neighbor, SPEAKER_ASN } from "../../test/fixtures/bgp/bgp.ts";
import { ban } from "../../test/fixtures/views.ts";
import { NO_CHANGES, wantedChanges } from "../mitigation/wanted-changes.ts";
import type { BgpNeighbor } from "./bgp-config.ts";
import { reachChange } from "./neighbor-reach.ts";

const [FIRST, SECOND] = [neighbor({ name: "one" }), neighbor({ address: "192.0.2.9", name: "two" } as BgpNeighbor)];
const config = (...neighbors: BgpNeighbor[]) => {
  return { speaker: "managed", localAsn: SPEAKER_ASN, neighbors, communitiesAt: [] } as const;
};

const TEXT = "192.0.2.1/32 next-hop 192.0.2.1";

function changes(before: BgpNeighbor[], after: BgpNeighbor[], neighbors?: readonly string[]) {
  const route = { ...blackhole("192.0.2.1/32"), communities: [], ...(neighbors && { neighbors }) };
  const present = ban({ state: "active", route });
  const { announces, withdraws } = wantedChanges(
    [[present, present]],
    reachChange(config(...before), config(...after)),
  );
  return { announces, withdraws };
}

test("a neighbor that goes live, joins, leaves or goes into dry run is named with the routes #reload-lists-routes", () => {
  const dry = { ...SECOND, dryRun: true } as const;
  expect(changes([FIRST, dry], [FIRST, SECOND])).toEqual({ announces: [`${TEXT} at 192.0.2.9`], withdraws: [] });
  expect(changes([FIRST], [FIRST, SECOND])).toEqual({ announces: [`${TEXT} at 192.0.2.9`], withdraws: [] });
  expect(changes([FIRST, SECOND], [FIRST, dry])).toEqual({ announces: [], withdraws: [`${TEXT} at 192.0.2.9`] });
  expect(changes([SECOND], [])).toEqual({ announces: [], withdraws: [`${TEXT} at 192.0.2.9`] });
});

test("so is one that an order names no longer, since it has another name", () => {
  const renamed = { ...SECOND, name: "three" };
  expect(changes([FIRST, SECOND], [FIRST, renamed], ["two"]).withdraws).toEqual([`${TEXT} at 192.0.2.9`]);
});

test("neighbors that stay as they are change nothing", () => {
  expect(reachChange(config(FIRST), config(FIRST))).toBeNull();
  const present = ban({ state: "active" });
  expect(wantedChanges([[present, present]], reachChange(config(FIRST), config(FIRST)))).toEqual(NO_CHANGES);
});
