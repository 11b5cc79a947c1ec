/** Diversions by the scrubbing hook (docs/interface.md#diversions). */
import { type Static, Type } from "@sinclair/typebox";
import { DIVERSION_PHASES, type Diversion } from "../../mitigation/diversion.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { closed } from "./closed.ts";
import { oneOf } from "./one-of.ts";

export const DiversionsWire = Type.Object(
  {
    diversions: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          prefix: Type.String(),
          phase: oneOf(...DIVERSION_PHASES),
          /** When the phase began. */
          since: Timestamp,
          /** Failed attempts of the present request. */
          attempts: Type.Integer({ minimum: 0 }),
          /** Of the last one. */
          error: Type.Optional(Type.String()),
        },
        closed,
      ),
    ),
  },
  closed,
);

export function diversionsToWire(diversions: readonly Diversion[]): Static<typeof DiversionsWire> {
  const rows = diversions.map(({ id, prefix, phase, since, attempts, error }) => ({
    ...{ id, prefix, phase, since: timestamp(since), attempts },
    ...(error !== null && { error }),
  }));
  return { diversions: rows.sort((a, b) => (a.prefix < b.prefix ? -1 : 1)) };
}
