/** What is done with packets that a rule matches (enum filter_action in addon/abi/filter_abi.h). */
import type { ValidationWay } from "../scrub/scrub-filter.ts";

/** By routers (FlowSpec, RFC 8955, 7), scrub nodes and the kernel. */
export type RuleAction =
  | { readonly kind: "discard" }
  /** Above zero; zero would be a discard. */
  | { readonly kind: "rate_limit"; readonly bytesPerSecond: number };

/** By the kernel alone. But for `pass`, the rules that follow decide about what is not dropped or answered. */
export type KernelAction =
  /** While there is no attack: sources with TCP connections are remembered, and nothing is dropped. */
  | { readonly kind: "learn" }
  /** Unknown sources of TCP must prove their address. */
  | {
      readonly kind: `validate_${ValidationWay}`;
      /** What the sources that were only learned may send, all together; 0: any rate. */
      readonly learnedBytesPerSecond: number;
    }
  /** Queries of unknown sources are answered with the advice to use TCP. */
  | { readonly kind: "validate_dns" }
  /** What a source sends beyond these rates is dropped; 0: any. A source is so much of an address. */
  | {
      readonly kind: "limit_source";
      readonly packetsPerSecond: number;
      readonly bytesPerSecond: number;
      readonly prefixLength: number;
    }
  /** What is beyond this rate, to each address, is dropped. */
  | { readonly kind: "limit_destination"; readonly packetsPerSecond: number }
  /** What is beyond these rates, of all sources together, is dropped; 0: any. */
  | { readonly kind: "limit"; readonly packetsPerSecond: number; readonly bytesPerSecond: number }
  /** Of what goes out: its destinations are remembered. */
  | { readonly kind: "learn_question" }
  /** What comes from elsewhere is dropped. */
  | { readonly kind: "require_question" }
  | { readonly kind: "pass" };

export type Action = RuleAction | KernelAction;

export function isSameAction(a: RuleAction, b: RuleAction): boolean {
  return a.kind === b.kind && (a.kind === "discard" || b.kind === "discard" || a.bytesPerSecond === b.bytesPerSecond);
}

/** Equal actions have equal texts. */
export function actionText(action: Action): string {
  if (action.kind === "discard") return "discard";
  if (action.kind === "rate_limit") return `rate-limit ${action.bytesPerSecond} bytes/s`;
  return JSON.stringify(action);
}
