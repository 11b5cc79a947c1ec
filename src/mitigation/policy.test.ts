/** The configuration as the ban engine sees it. */
import { expect, test } from "bun:test";
import { prefix } from "../../test/fixtures/networks.ts";
import { parseConfig } from "../config/load/load.ts";
import { notAnnounced } from "./enclosing.ts";
import { mitigationPolicy } from "./policy.ts";
import { NOTHING_CHOSEN } from "./protection/chosen-prefixes.ts";

const WIDE = prefix("192.0.2.0/24");
const [LIVE, DRY] = [prefix("192.0.2.1/32"), prefix("192.0.2.200/32")];

function config(dryRun: string) {
  const loaded = parseConfig(
    new TextEncoder().encode(`
networks: [192.0.2.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
hostgroups:
  - { name: live, networks: [192.0.2.0/25] }
  - { name: dry, networks: [192.0.2.128/25], dry_run_directions: [${dryRun}] }
`),
  );
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

const refusal = notAnnounced(WIDE, "hostgroup dry, which is in dry run or only watched, would move with it");

test("a wider prefix with a hostgroup in dry run is not announced for a real ban #announce-spared", () => {
  const policy = mitigationPolicy(config("incoming"));
  expect(policy.enclosingRefusal(WIDE, LIVE)).toBe(refusal);
  // The virtual ban there shows what a real one would do.
  expect(policy.enclosingRefusal(WIDE, DRY)).toBeNull();
  expect(mitigationPolicy(config("outgoing")).enclosingRefusal(WIDE, LIVE)).toBeNull();
});

test("nor one with a hostgroup that is only watched, as long as that lasts", () => {
  let isOpen = true;
  const windows = { isWatchOnly: ({ group }: { group: string }) => isOpen && group === "dry" };
  const policy = mitigationPolicy(config(""), NOTHING_CHOSEN, windows);
  expect(policy.enclosingRefusal(WIDE, LIVE)).toBe(refusal);
  isOpen = false;
  expect(policy.enclosingRefusal(WIDE, LIVE)).toBeNull();
});
