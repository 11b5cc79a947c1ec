/** What the section `samples` says of the packets that attacks carry. */

export interface SamplesConfig {
  readonly enabled: boolean;
  readonly perAttackFlows: number;
  readonly top: number;
}
