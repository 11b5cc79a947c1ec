/** The section `baseline` of a hostgroup. */

export interface BaselineConfig {
  /** A rate above this multiple of the normal one is an attack. */
  readonly factor: number;
  /** After this time, traffic has half its weight in the baseline. */
  readonly halfLifeSeconds: number;
  /** Seconds with traffic before the baseline is used. */
  readonly warmupSeconds: number;
  /** Whether there is also a baseline by hour of the week. */
  readonly seasonal: boolean;
  /** The base trio; no learned limit is below it. */
  readonly floor: readonly number[];
}
