/** The action on packets that a rule matches (enum filter_action in addon/abi/rule_abi.h). */
import { mbpsText } from "../../traffic/rates.ts";
import type { ValidationWay } from "../scrub/scrub-filter.ts";

/** By routers (FlowSpec, RFC 8955, 7), scrub nodes and the kernel. */
export type RuleAction =
  | { readonly kind: "discard" }
  /** Above zero; zero would be a discard. */
  | { readonly kind: "rate_limit"; readonly bytesPerSecond: number };

/** By routers alone, in place of a discard (RFC 8955, 7). */
export type RouterAction =
  /** Above zero. */
  | { readonly kind: "rate_limit_packets"; readonly packetsPerSecond: number }
  /** A route target as `rt:65000:100`, of the VRF that the packets go to, or the IPv4 address of a next hop. */
  | { readonly kind: "redirect"; readonly to: string }
  /** The DSCP that packets get, 0 to 63. */
  | { readonly kind: "mark"; readonly dscp: number };

/** By the kernel alone. But for `pass`, the rules that follow decide about what is not dropped or answered. */
export type KernelAction =
  /** While there is no attack: sources with TCP connections are remembered, and nothing is dropped. */
  | { readonly kind: "learn" }
  /** Unknown sources of TCP must prove their address. */
  | {
      readonly kind: `validate_${ValidationWay}`;
      /** Maximum rate of all learned sources together; 0: any rate. */
      readonly learnedBytesPerSecond: number;
    }
  /** Queries of unknown sources are answered with the advice to use TCP. */
  | { readonly kind: "validate_dns" }
  /** Packets of a source beyond these rates are dropped; 0: any rate. A source is a prefix of this length. */
  | {
      readonly kind: "limit_source";
      readonly packetsPerSecond: number;
      readonly bytesPerSecond: number;
      readonly prefixLength: number;
    }
  /** Packets to one address beyond this rate are dropped. */
  | { readonly kind: "limit_destination"; readonly packetsPerSecond: number }
  /** Packets of all sources together beyond these rates are dropped; 0: any rate. */
  | { readonly kind: "limit"; readonly packetsPerSecond: number; readonly bytesPerSecond: number }
  /** The destinations of outgoing packets are remembered. */
  | { readonly kind: "learn_question" }
  /** Packets of all other sources are dropped. */
  | { readonly kind: "require_question" }
  | { readonly kind: "pass" };

export type Action = RuleAction | KernelAction;

export function isSameAction(a: RuleAction, b: RuleAction): boolean {
  return a.kind === b.kind && (a.kind === "discard" || b.kind === "discard" || a.bytesPerSecond === b.bytesPerSecond);
}

/** Equal actions have equal texts. */
export function actionText(action: Action | RouterAction): string {
  if (action.kind === "rate_limit_packets") return `rate-limit ${action.packetsPerSecond} packets/s`;
  if (action.kind === "redirect") return `redirect ${action.to}`;
  if (action.kind === "mark") return `mark dscp ${action.dscp}`;
  if (action.kind === "discard") return "discard";
  if (action.kind === "rate_limit") return `rate-limit ${mbpsText(action.bytesPerSecond)}`;
  return JSON.stringify(action);
}
