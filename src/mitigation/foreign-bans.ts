/** The effect of other brains' bans on those of this one. None of it is waited for. */
import type { Ban } from "./ban.ts";
import type { Rule } from "./rules/rule.ts";

export interface ForeignBans {
  /** With the times that brains with a ban of the prefix have together; the same object if nothing changes. */
  timed(ban: Ban, wallMs: number): Ban;
  rungOf(ban: Pick<Ban, "prefix" | "step">): ForeignRung;
  /** Whether this brain decides that bans go back a rung. */
  mayEase(): boolean;
  /** Rules that another brain made first, for as long as they are tried; null: there are none. */
  rulesOf(prefix: string): readonly Rule[] | null;
}

export interface ForeignRung {
  /** The ban is at least on this one; 0: on any. */
  readonly leastStep: number;
  /** The brain that decides it has gone back: so does this ban, by one rung. */
  readonly isEased: boolean;
}
