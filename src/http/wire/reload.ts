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
