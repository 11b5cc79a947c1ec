/** Which routes and diversions change with bans. */
import { expect, test } from "bun:test";
import { prefix } from "../../test/fixtures/networks.ts";
import { ban } from "../../test/fixtures/views.ts";
import { NO_CHANGES, wantedChanges } from "./wanted-changes.ts";

test("what retires ends with a change of its ban, and stays where the ban stays as it is", () => {
  const wider = prefix("192.0.2.0/24");
  const retiring = ban({ state: "active", retiringDiversion: wider });
  expect(wantedChanges([[retiring, retiring]])).toEqual(NO_CHANGES);
  expect(wantedChanges([[retiring, { ...retiring }]]).diversions).toEqual({
    ...NO_CHANGES.diversions,
    ends: [wider.text],
  });
});
