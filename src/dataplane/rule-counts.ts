/** The counts of the operator's rules in the kernel. Pure. */
import type { OperatorKernelRules } from "../mitigation/operator/operator-kernel-rules.ts";
import type { FilterRuleRow } from "./kernel-filter.ts";

/** The traffic that a rule of the operator matched since it is in force, and the part that was dropped. Bytes of frames. */
export interface RuleCounts {
  readonly packets: number;
  readonly bytes: number;
  readonly droppedPackets: number;
  readonly droppedBytes: number;
}

/** By the name of the operator's rule, which may be several in the kernel. */
export function countsByName(
  { rules }: OperatorKernelRules,
  rows: readonly FilterRuleRow[],
): ReadonlyMap<string, RuleCounts> {
  const names = new Map(rules.map(({ id, owner }) => [id, owner]));
  const byName = new Map<string, RuleCounts>();
  for (const { id, packets, bytes, droppedPackets, droppedBytes } of rows) {
    const name = names.get(id);
    if (name === undefined) continue;
    const before = byName.get(name);
    byName.set(name, {
      packets: (before?.packets ?? 0) + packets,
      bytes: (before?.bytes ?? 0) + bytes,
      droppedPackets: (before?.droppedPackets ?? 0) + droppedPackets,
      droppedBytes: (before?.droppedBytes ?? 0) + droppedBytes,
    });
  }
  return byName;
}
