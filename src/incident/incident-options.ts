/** How the table of incidents is connected with the rest of the service, and how it answers orders. */
import type { Callers } from "../access/shares.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { RecordTable } from "../system/record-table.ts";
import type { Incident } from "./incident.ts";
import type { OwnerOf } from "./incident-attacks.ts";
import type { IncidentView } from "./incident-view.ts";
import type { WorkRefusal } from "./work.ts";

export type IncidentRefusal = WorkRefusal | "unknown";

/** `isSaved` false: it is in force, and the disk has not taken it yet. */
export type IncidentAnswer =
  | { readonly kind: "done"; readonly view: IncidentView; readonly isSaved: boolean }
  | { readonly kind: "refused"; readonly refusal: IncidentRefusal };

export interface IncidentObserver {
  opened(view: IncidentView): void;
  /** Over the bound. */
  dropped(view: IncidentView): void;
  /** All incidents are open: the attack is in none. */
  unplaced(attack: Attack): void;
  worked(view: IncidentView): void;
  refused(refusal: WorkRefusal): void;
}

export interface IncidentsOptions {
  /** By id. */
  readonly store: RecordTable<Incident>;
  readonly newId: () => string;
  /** By the configuration in force. */
  readonly ownerOf: OwnerOf;
  readonly callers: () => Callers;
  /** Capacity of all links together; null: not known. */
  readonly linkMbps: () => number | null;
  /** Those in progress, with their present rates. */
  readonly attacks: () => Iterable<Attack>;
  readonly wallMs: () => number;
  readonly observer: IncidentObserver;
}
