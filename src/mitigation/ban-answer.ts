/** The answer to an operator's order about a ban. */
import type { Ban } from "./ban.ts";

export interface BanAnswer {
  readonly ban: Ban;
  /** False: the order is in force, and the disk has not taken it yet. */
  readonly isSaved: boolean;
}
