/** The section `samples`: the packets that attacks carry. */

export interface SamplesConfig {
  readonly enabled: boolean;
  readonly perAttackFlows: number;
  readonly top: number;
}
