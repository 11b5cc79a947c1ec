/** The state of a scrub node, as shown in the list and in its own view. */
import type { Static } from "@sinclair/typebox";
import type { ScrubInventoryWire } from "../../../src/http/wire/scrub-node.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { NodeBadges } from "../../parts/nodes.tsx";
import { bitRate, percent } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";

export type ScrubNode = Static<typeof ScrubInventoryWire>["nodes"][number];

export function NodeState({ node }: { readonly node: ScrubNode }) {
  const { refused_bans: refusals = 0 } = node;
  return (
    <span class="badges">
      <NodeBadges node={node} />
      {lacksRules(node) && <Badge tone="warn">{t`${counted(node.left_out_rules ?? 0, "rule")} left out`}</Badge>}
      {refusals > 0 && <Badge tone="danger">{t`${counted(refusals, "ban")} refused`}</Badge>}
      {node.not_applied_since !== undefined && <Badge tone="danger">{t`rules not in force`}</Badge>}
    </span>
  );
}

/** Only for nodes that are alive: for the others it is not known which rules they understand. */
export function lacksRules({ alive, left_out_rules: rules }: ScrubNode): boolean {
  return alive && rules !== undefined;
}

/** Its bans go elsewhere. */
export function isNotEnforcing({ refused_bans: refusals, not_applied_since: since }: ScrubNode): boolean {
  return refusals !== undefined || since !== undefined;
}

export function loadText({ report, capacity_mbps: capacity }: ScrubNode): string {
  if (report?.load_mbps === undefined) return "–";
  const load = bitRate(report.load_mbps);
  return capacity === undefined ? load : `${load} (${percent(report.load_mbps / capacity)})`;
}
