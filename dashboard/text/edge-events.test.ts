import { expect, test } from "bun:test";
import { edgeEventText } from "./edge-events.ts";

test.each([
  ["challenge_started", "zone_rps", "the zone has more requests than its file allows"],
  ["dry_run", "on", "on"],
  ["h3_state", "from ready to no_module", "from ready to the server has no module for it"],
  ["version", "from 1.4.2 to 1.5.0", "from 1.4.2 to 1.5.0"],
  [
    "cert_renewed",
    "valid until 2026-06-01T12:00:00.000Z, issued by Test CA",
    "valid until 2026-06-01 12:00 UTC, issued by Test CA",
  ],
  ["node_lost", "no poll for 4 s", "no poll for 4 s"],
  ["generation_refused", "a text of the node: from a to b", "a text of the node: from a to b"],
] as const)("%s %s", (kind, detail, text) => {
  expect(edgeEventText({ kind, detail })).toBe(text);
});
