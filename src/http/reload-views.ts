/** The changes of a reload, done or previewed, and those of a hostgroup's settings. */
import type { DisallowedBan } from "../mitigation/admission.ts";
import type { GroupSettings } from "../mitigation/group-settings.ts";
import type { WantedChanges } from "../mitigation/wanted-changes.ts";

export type ReloadOutcome =
  /** Names the keys that keep their running values until a restart, and the sections that changed. */
  | {
      readonly kind: "reloaded";
      readonly needsRestart: readonly string[];
      readonly changed: readonly string[];
      /** Differences: `hostgroups: web: thresholds.pps: 1000 → 2000`. */
      readonly changes: readonly string[];
      /** Routes that bans in force announced and withdrew by it. Absent: not known. */
      readonly routes?: WantedChanges;
    }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** The outcome of settings of a hostgroup. `none`: there was nothing to take back. */
export type SettingsOutcome =
  | { readonly kind: "done"; readonly settings: GroupSettings | null; readonly changes: readonly string[] }
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

export type ReloadPreview =
  | {
      readonly kind: "preview";
      /** By section of the file; without details where all that is said is that it changes. */
      readonly changes: readonly { readonly section: string; readonly details: readonly string[] }[];
      readonly needsRestart: readonly string[];
      readonly warnings: readonly string[];
      readonly endedBans: readonly DisallowedBan[];
      /** Routes that bans in force would announce and withdraw. Absent: not known. */
      readonly routes?: WantedChanges;
    }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };
