/**
 * What is done with TCP packets of sources that have not proved their address (addon/bpf/validate_source.h).
 *
 * - `reset`: the source's SYN is answered in the victim's name, and the connection is reset once the source has answered
 *   in turn; the client opens another.
 * - `transparent`: the source's SYN is answered with an acknowledgement that it must reset; its SYN, sent again, passes.
 */
export type ValidationWay = "reset" | "transparent";

export type Validation =
  /** While there is no attack: sources with connections are remembered, and nothing is dropped. */
  | { readonly kind: "learn" }
  | {
      readonly kind: `validate_${ValidationWay}`;
      /** What the sources that were only learned may send, all together; 0: any rate. */
      readonly learnedBytesPerSecond: number;
      /** Only counted. */
      readonly isDryRun: boolean;
    };
