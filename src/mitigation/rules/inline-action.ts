/**
 * What only the data plane of this machine does with packets that a rule matches (enum filter_action in
 * addon/abi/filter_abi.h). But for `pass`, the rules that follow decide about what is not dropped or answered.
 */
import type { ValidationWay } from "../scrub/scrub-filter.ts";

export type InlineAction =
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
