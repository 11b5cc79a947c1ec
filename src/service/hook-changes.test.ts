/** What a reload changes for diversions that are in progress. */
import { expect, test } from "bun:test";
import { HOOK } from "../../test/fixtures/divert/bench.ts";
import { NO_DIVERSION_CHANGES as NONE } from "../mitigation/wanted-changes.ts";
import { hookChanges } from "./hook-changes.ts";

const A = { prefix: "192.0.2.0/24", phase: "diverted" } as const;
const B = { prefix: "198.51.100.0/24", phase: "ending" } as const;
const running = [A, B];
const other = { ...HOOK, target: { kind: "command", command: "/other" } } as const;

test.each([
  ["nothing", HOOK, NONE, NONE],
  ["the hook is taken away", null, { ...NONE, ends: [A.prefix] }, { ...NONE, strands: [A.prefix, B.prefix] }],
  ["dry run of the hook", { ...HOOK, isDryRun: true }, NONE, { ...NONE, renews: [A.prefix] }],
  [
    "dry run, and a ban ends",
    { ...HOOK, isDryRun: true },
    { ...NONE, ends: [A.prefix] },
    { ...NONE, ends: [A.prefix] },
  ],
  ["another program", other, NONE, { ...NONE, moves: [A.prefix, B.prefix] }],
])("%s #reload-diversions", (_, after, bans, found) => {
  expect(hookChanges(bans, { running, before: HOOK, after })).toEqual(found);
});
