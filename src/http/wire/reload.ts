/** The answer to a reload (docs/interface.md#reload). */
import { type Static, Type } from "@sinclair/typebox";
import type { StatusView } from "../backend.ts";
import { closed } from "./closed.ts";
import { ThresholdsWire, thresholdsToWire } from "./traffic/rates.ts";

export const ReloadWire = Type.Object(
  {
    reloaded: Type.Boolean(),
    dry_run: Type.Boolean(),
    thresholds: ThresholdsWire,
    /** Keys that changed in the file and keep their running values until a restart. */
    needs_restart: Type.Array(Type.String()),
  },
  closed,
);
export type ReloadWire = Static<typeof ReloadWire>;

const Texts = Type.Array(Type.String());

export const ReloadPreviewWire = Type.Object(
  {
    /** By section of the file; empty: it would change nothing. */
    changes: Type.Array(Type.Object({ section: Type.String(), details: Texts }, closed)),
    needs_restart: Texts,
    /** Bans that would end, since the file does not allow them: at most the first 100. */
    ends_bans: Type.Array(Type.Object({ prefix: Type.String(), reason: Type.String() }, closed)),
    /** How many those are. */
    ends_bans_count: Type.Integer({ minimum: 0 }),
    /** What of the file may be unintended. */
    warnings: Texts,
  },
  closed,
);
export type ReloadPreviewWire = Static<typeof ReloadPreviewWire>;

/** `status` is that of the configuration in force now. */
export function reloadToWire(
  { dryRun, thresholds }: Pick<StatusView, "dryRun" | "thresholds">,
  needsRestart: readonly string[],
): ReloadWire {
  return {
    reloaded: true,
    dry_run: dryRun,
    thresholds: thresholdsToWire(thresholds),
    needs_restart: [...needsRestart],
  };
}
