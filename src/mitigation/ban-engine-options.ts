/** The ban engine's dependencies. */
import type { Attack } from "../detection/attack/attack.ts";
import type { RecordTable } from "../system/record-table.ts";
import type { Announcer } from "./announcer.ts";
import type { Ban } from "./ban.ts";
import type { Circumstances } from "./circumstances.ts";
import type { Diverter } from "./diversion.ts";
import type { MitigationPolicy } from "./policy.ts";

type Sources = Pick<Circumstances, "observed" | "makeRules" | "foreign" | "divertTo" | "nodeRules" | "neighborRules">;

export interface BanEngineOptions extends Sources {
  readonly diversions: Diverter;
  readonly policy: MitigationPolicy;
  readonly store: RecordTable<Ban>;
  readonly announcer: Announcer | null;
  readonly newId: () => string;
  /** Number of ended bans that are kept in the table and the store. */
  readonly endedKept: number;
  /** Called after any change of a ban; `previous` is null for a new one. */
  readonly onChange: (ban: Ban, previous: Ban | null) => void;
  /** The update of one ban failed: it stays unchanged until the next update; all other bans are updated. */
  readonly onFault: (cause: unknown) => void;
  /** Lets other orders that are on disk take effect first. Default: those of the same promises. */
  readonly goOn?: () => Promise<void>;
  /** How long an attack has not been held, ms; 0: it is, or that is not known. */
  readonly overThresholdMs: (attack: Attack, wallMs: number) => number;
  /** Whether what this machine itself does for the ban is in force. */
  readonly isHere: (ban: Ban) => boolean;
}
