/** The answer to an operator's command about a ban. */
import type { Ban } from "./ban.ts";

export interface BanAnswer {
  readonly ban: Ban;
  /** False: the change is in force, and the disk has not taken it yet. */
  readonly isSaved: boolean;
}
