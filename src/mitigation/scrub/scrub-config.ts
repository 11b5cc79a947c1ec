/** The sections about scrubbing: the filter of each hostgroup, and the profiles of victims. */
import type { ScrubFilter } from "./scrub-filter.ts";

export interface ScrubConfig extends ScrubFilter {
  readonly profile: string | null;
  /** Also while there is no attack. */
  readonly isAlways: boolean;
  /** Scrub nodes do it, too. */
  readonly isOnNodes: boolean;
}

/** A profile that operators and tenants may choose. */
export interface ScrubProfile {
  readonly name: string;
  readonly isBuiltIn: boolean;
  readonly filter: ScrubFilter;
}

/** The choice that tenants have for addresses of a hostgroup. */
export interface Selectable {
  readonly profiles: readonly string[];
  readonly isAlways: boolean;
}
