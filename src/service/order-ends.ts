/** How ordered filter rules and source blocks ended, with what the kernel dropped for each until then. */
import type { OrderEnd } from "../audit/order-end.ts";
import type { DataPlane } from "../dataplane/data-plane.ts";
import type { RuleOrder, RuleOrderEnd } from "../mitigation/operator/filter-rules.ts";
import { pairName, type SourceBlock } from "../sourceblock/source-block.ts";
import type { BlockEnd, SourceBlocks } from "../sourceblock/source-blocks.ts";

/** null: there is none. */
interface Counted {
  readonly dataPlane: Pick<DataPlane, "operatorCounts" | "lastDropped"> | null;
}

/** Both are called while the rule is still in the kernel; a pair that a caller removed was read before (data-plane.ts). */
export function rulesEnded(end: RuleOrderEnd, orders: readonly RuleOrder[], { dataPlane }: Counted): OrderEnd[] {
  const byName = dataPlane?.operatorCounts(0);
  return orders.map(({ name, rule }) => {
    const own = byName?.get(name);
    const dropped = own === undefined ? null : { packets: own.droppedPackets, bytes: own.droppedBytes };
    const isDryRun = "dry_run" in rule && rule.dry_run === true;
    return { kind: "filter_rule", target: name, end, dropped, isDryRun };
  });
}

export function blocksEnded(
  end: BlockEnd,
  blocks: readonly SourceBlock[],
  { dataPlane, sourceBlocks: { isDryRun } }: Counted & { readonly sourceBlocks: Pick<SourceBlocks, "isDryRun"> },
): OrderEnd[] {
  const byName = dataPlane?.lastDropped(blocks);
  return blocks.map((block) => {
    const dropped = byName?.get(pairName(block)) ?? null;
    return { kind: "source_block", target: pairName(block), end, dropped, isDryRun };
  });
}
