/** The bans that each scrub node enforces of those it was sent, and the nodes at fault. */
import type { Now } from "../system/now.ts";
import type { EnforcedReport } from "./enforced-report.ts";
import { type Judging, NodeEnforcement } from "./node-enforcement.ts";
import { NO_FAULTS, type NodeFault, type NodeFaults } from "./node-faults.ts";
import type { DivertedBan, RuleDocument } from "./rule-documents.ts";

/** Nodes that refuse a ban, in the ban. */
const REFUSING_NODES_SHOWN = 8;

export interface RefusingNode {
  readonly node: string;
  readonly fault: NodeFault;
}

/** A node has as long as until it is lost, and at least this long, to put a document in force and say so. */
export const APPLIED_WITHIN_MS = 15_000;

export class NodeEnforcements {
  readonly #nodes = new Map<string, NodeEnforcement>();
  /** Those whose faults were reported to the observer. */
  readonly #faulty = new Set<string>();

  sent(node: string, { etag, document }: { readonly etag: string; readonly document: RuleDocument }, now: Now): void {
    this.#of(node).sent(etag, document, now);
  }

  reported(node: string, report: EnforcedReport, now: Now, judging: Judging): void {
    const withinMs = Math.max(judging.withinMs, APPLIED_WITHIN_MS);
    this.#of(node).reported(report, now, { ...judging, withinMs });
  }

  faultOf(node: string, prefix: string, monotonicMs: number): NodeFault | null {
    return this.#nodes.get(node)?.faultOf(prefix, monotonicMs) ?? null;
  }

  enforces(node: string, prefix: string): boolean {
    return this.#nodes.get(node)?.enforces(prefix) ?? false;
  }

  /** In the order in which they came. @param concerns whether traffic to the prefix may go to the node */
  refusing(prefix: string, monotonicMs: number, concerns: (node: string) => boolean): readonly RefusingNode[] {
    const refusing: RefusingNode[] = [];
    for (const [node, enforcement] of this.#nodes) {
      if (enforcement.isFaultless || !concerns(node)) continue;
      const fault = enforcement.faultOf(prefix, monotonicMs);
      if (fault !== null && refusing.push({ node, fault }) >= REFUSING_NODES_SHOWN) break;
    }
    return refusing;
  }

  view(node: string, monotonicMs: number): NodeFaults {
    return this.#nodes.get(node)?.view(monotonicMs) ?? NO_FAULTS;
  }

  /** Calls `changed` for nodes whose faults began, or ended (null), since the last call. */
  changes(monotonicMs: number, changed: (node: string, faults: NodeFaults | null) => void): void {
    for (const node of this.#nodes.keys()) {
      const faults = this.view(node, monotonicMs);
      const isFaulty = faults.refusedBans > 0 || faults.notAppliedSince !== null;
      if (isFaulty === this.#faulty.has(node)) continue;
      if (isFaulty) this.#faulty.add(node);
      else this.#faulty.delete(node);
      changed(node, isFaulty ? faults : null);
    }
  }

  /** Removes nodes that are not configured any more (`ban` null), and faults of bans that do not concern a node. */
  forget(isGone: (node: string, ban: DivertedBan | null) => boolean): void {
    for (const [node, enforcement] of this.#nodes) {
      enforcement.forget((ban) => isGone(node, ban));
      if (!isGone(node, null)) continue;
      this.#nodes.delete(node);
      this.#faulty.delete(node);
    }
  }

  #of(node: string): NodeEnforcement {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    const made = new NodeEnforcement();
    this.#nodes.set(node, made);
    return made;
  }
}
