/** What a scrub node is doing, as its list and its own page say it. */
import type { Static } from "@sinclair/typebox";
import type { ScrubInventoryWire } from "../../src/http/wire/scrub-node.ts";
import { Badge } from "../parts/badge.tsx";
import { Since } from "../parts/moment.tsx";
import { presenceWord } from "../text/nodes.ts";
import { bitRate, percent } from "../text/numbers.ts";
import { counted } from "../text/words.ts";

export type ScrubNode = Static<typeof ScrubInventoryWire>["nodes"][number];

export function NodeState({ node }: { readonly node: ScrubNode }) {
  const { tone, text } = presenceWord(node);
  return (
    <span class="badges">
      <Badge tone={tone}>{text}</Badge>
      {node.report?.dry_run === true && <Badge tone="warn">dry run</Badge>}
      {lacksRules(node) && <Badge tone="warn">{counted(node.left_out_rules ?? 0, "rule")} left out</Badge>}
    </span>
  );
}

/** Of a node that is not there nothing is missed: which rules it would understand is not known. */
export function lacksRules({ alive, left_out_rules: rules }: ScrubNode): boolean {
  return alive && rules !== undefined;
}

export function LastPoll({ node: { holding, last_seen: at } }: { readonly node: ScrubNode }) {
  if (holding) return <>polls now</>;
  return at === undefined ? (
    <>never</>
  ) : (
    <>
      <Since at={at} /> ago
    </>
  );
}

export function loadText({ report, capacity_mbps: capacity }: ScrubNode): string {
  if (report?.load_mbps === undefined) return "–";
  const load = bitRate(report.load_mbps);
  return capacity === undefined ? load : `${load} (${percent(report.load_mbps / capacity)})`;
}
