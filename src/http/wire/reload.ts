/** The answer to a reload (docs/interface.md#reload). */
import { type Static, Type } from "@sinclair/typebox";
import { NO_CHANGES, ROUTES_LISTED_MAX, type WantedChanges } from "../../mitigation/wanted-changes.ts";
import { Count, closedObject } from "../../schema/schema-forms.ts";
import type { StatusView } from "../backend.ts";
import { ThresholdsWire, thresholdsToWire } from "./traffic/rates.ts";

/** At most 100. */
const PREFIXES = Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: ROUTES_LISTED_MAX }));

/** Absent where there are none. */
const WANTED_FIELDS = {
  /** Routes and rules of bans in force that it announces and withdraws, at most 100 each. */
  announces: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  withdraws: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  /** Numbers of further ones. */
  more_announced: Type.Optional(Type.Integer({ minimum: 1 })),
  more_withdrawn: Type.Optional(Type.Integer({ minimum: 1 })),
  /** Prefixes for which the scrubbing hook is called otherwise, each list absent where there are none. */
  diversions: Type.Optional(
    closedObject({
      begins: PREFIXES,
      ends: PREFIXES,
      /** Ended and begun again, since dry run of the hook changes. */
      renews: PREFIXES,
      /** Another program or web service is called for them. */
      moves: PREFIXES,
      /** There is no hook any more that could end them. */
      strands: PREFIXES,
    }),
  ),
};

export function wantedToWire(changes: WantedChanges) {
  const { announces, withdraws, moreAnnounced, moreWithdrawn } = changes;
  const diversions = Object.entries(changes.diversions).flatMap(([key, prefixes]: [string, readonly string[]]) =>
    prefixes.length === 0 ? [] : [[key, prefixes.slice(0, ROUTES_LISTED_MAX)] as const],
  );
  return {
    ...(announces.length > 0 && { announces: [...announces] }),
    ...(withdraws.length > 0 && { withdraws: [...withdraws] }),
    ...(moreAnnounced > 0 && { more_announced: moreAnnounced }),
    ...(moreWithdrawn > 0 && { more_withdrawn: moreWithdrawn }),
    ...(diversions.length > 0 && { diversions: Object.fromEntries(diversions) }),
  };
}

export const ReloadWire = closedObject({
  reloaded: Type.Boolean(),
  dry_run: Type.Boolean(),
  thresholds: ThresholdsWire,
  /** Keys that changed in the file and keep their running values until a restart. */
  needs_restart: Type.Array(Type.String()),
  ...WANTED_FIELDS,
});
export type ReloadWire = Static<typeof ReloadWire>;

const Texts = Type.Array(Type.String());

export const ReloadPreviewWire = closedObject({
  /** By section of the file; empty: it would change nothing. */
  changes: Type.Array(closedObject({ section: Type.String(), details: Texts })),
  needs_restart: Texts,
  /** Bans that would end, since the file does not allow them: at most the first 100. */
  ends_bans: Type.Array(closedObject({ prefix: Type.String(), reason: Type.String() })),
  /** How many those are. */
  ends_bans_count: Count,
  /** Keys of the file that may be unintended. */
  warnings: Texts,
  ...WANTED_FIELDS,
});
export type ReloadPreviewWire = Static<typeof ReloadPreviewWire>;

/** `status` is that of the configuration in force now. */
export function reloadToWire(
  { dryRun, thresholds }: Pick<StatusView, "dryRun" | "thresholds">,
  needsRestart: readonly string[],
  routes: WantedChanges = NO_CHANGES,
): ReloadWire {
  return {
    reloaded: true,
    dry_run: dryRun,
    thresholds: thresholdsToWire(thresholds),
    needs_restart: [...needsRestart],
    ...wantedToWire(routes),
  };
}
