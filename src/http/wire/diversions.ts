/** Diversions by the scrubbing hook (docs/interface.md#diversions). */
import { type Static, Type } from "@sinclair/typebox";
import { DIVERSION_PHASES, type DiversionView } from "../../mitigation/diversion.ts";
import { Count, closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";

export const DiversionsWire = closedObject({
  diversions: Type.Array(
    closedObject({
      id: Type.String(),
      prefix: Type.String(),
      /** Those of the bans that want it; empty: none does. */
      bans: Type.Array(Type.String()),
      phase: oneOf(...DIVERSION_PHASES),
      /** When the phase began. */
      since: Timestamp,
      /** When it was first requested; absent of one that an older build began. */
      begun_at: Type.Optional(Timestamp),
      /** When the last of its bans ends, if nothing prolongs it; absent where none wants it. */
      wanted_until: Type.Optional(Timestamp),
      /** The hook does nothing for it. */
      dry_run: Type.Optional(Type.Literal(true)),
      /** It was confirmed, and then was not any more: it is requested again. */
      lost: Type.Optional(Type.Literal(true)),
      /** Failed attempts of the present request. */
      attempts: Count,
      /** Error of the last one, or why it is lost. */
      error: Type.Optional(Type.String()),
    }),
  ),
});

type DiversionsWire = Static<typeof DiversionsWire>;

export function diversionsToWire(diversions: readonly DiversionView[]): DiversionsWire {
  return { diversions: diversions.map(toWire).sort((a, b) => (a.prefix < b.prefix ? -1 : 1)) };
}

function toWire(view: DiversionView): DiversionsWire["diversions"][number] {
  const { id, prefix, bans, phase, since, attempts, error, begunAt, wantedUntil, isDryRun, isLost } = view;
  return {
    ...{ id, prefix, bans: [...bans], phase, since: timestamp(since), attempts },
    ...(begunAt !== undefined && { begun_at: timestamp(begunAt) }),
    ...(wantedUntil !== null && { wanted_until: timestamp(wantedUntil) }),
    ...(isDryRun && { dry_run: true as const }),
    ...(isLost && { lost: true as const }),
    ...(error !== null && { error }),
  };
}
