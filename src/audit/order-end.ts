/** The end of an ordered filter rule or source block as a row of the audit trail, with what it dropped until then. */
import type { AuditEvent } from "./audit-event.ts";

export interface OrderEnd {
  readonly kind: "filter_rule" | "source_block";
  /** The rule's name, or `source->victim`. */
  readonly target: string;
  /** `expired`, `removed`, or why the configuration does not allow it any more. */
  readonly end: string;
  /** By this machine's data plane; null: not known, or it was not in the kernel. */
  readonly dropped: { readonly packets: number; readonly bytes: number } | null;
  /** Nothing was dropped: it is what would have been. */
  readonly isDryRun: boolean;
}

/** Orders that end at once and have a row of their own: the rows of callers must not wait behind those of thousands. */
const ENDS_RECORDED_MAX = 100;

const NO_CALLER = { operator: "", role: "", tenant: "", source: "auto", banState: "" } as const;
const KINDS = {
  filter_rule: { action: "filter_rule", result: "cleared", targetType: "rule", many: "filter rules" },
  source_block: { action: "source_unblock", result: "removed", targetType: "source", many: "source blocks" },
} as const;

/** @param ends of one kind, that ended for one reason. */
export function orderEndEvents(ends: readonly OrderEnd[], wallMs: number): AuditEvent[] {
  const rows = ends.slice(0, ENDS_RECORDED_MAX).map((end) => rowOf(end, reasonOf(end), wallMs));
  const rest = ends.slice(ENDS_RECORDED_MAX);
  const [first] = rest;
  if (first === undefined) return rows;
  const known = rest.flatMap(({ dropped }) => (dropped === null ? [] : [dropped]));
  const sum = { packets: sumOf(known.map(({ packets }) => packets)), bytes: sumOf(known.map(({ bytes }) => bytes)) };
  const all = { ...first, target: "", dropped: known.length === 0 ? null : sum };
  return [...rows, rowOf(all, `${rest.length} more ${KINDS[first.kind].many} ${reasonOf(all)}`, wallMs)];
}

function rowOf({ kind, target, isDryRun }: OrderEnd, reason: string, wallMs: number): AuditEvent {
  const { action, result, targetType } = KINDS[kind];
  return { ...NO_CALLER, wallMs, action, result, target, targetType, reason, dryRun: isDryRun };
}

/** `expired: dropped 1050000 packets, 63000000 bytes`. */
function reasonOf({ end, dropped, isDryRun }: OrderEnd): string {
  const words = end.replaceAll("_", " ");
  if (dropped === null) return `${words}: what it dropped is not known`;
  const does = isDryRun ? "would have dropped" : "dropped";
  return `${words}: ${does} ${dropped.packets} packets, ${dropped.bytes} bytes`;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
