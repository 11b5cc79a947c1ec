/** The section `detection`: how rates are measured and judged. */

export interface DetectionConfig {
  readonly windowMs: number;
  readonly tickMs: number;
  readonly sustainMs: number;
  /** With which an estimated rate must be above a threshold to start an attack: above 0.5, below 1. */
  readonly confidence: number;
}
