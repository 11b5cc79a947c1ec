/** The view that readers have of an incident, in domain terms. Times are wall clock, ms. */
import type { Incident, IncidentKey, IncidentState, Member, Peaks, Severity, Sums } from "./incident.ts";
import type { Victims } from "./incident-attacks.ts";

export interface IncidentView extends IncidentKey, Pick<Incident, "id" | "startedAt" | "work" | "worst"> {
  readonly state: IncidentState;
  /** null while an attack lasts. */
  readonly endedAt: number | null;
  readonly attacks: number;
  readonly active: number;
  readonly victims: Victims;
  /** False: not every attack is listed, so there may be more victims. */
  readonly isWhole: boolean;
  readonly sums: Sums;
  readonly peaks: Peaks;
  /** null: the capacity of the links is not known. */
  readonly severity: { readonly severity: Severity; readonly linkShare: number } | null;
  /** The listed attacks, oldest first. */
  members(): readonly Member[];
}

/** The part of an incident that brains exchange. */
export interface SharedIncident {
  readonly id: string;
  readonly aliases: readonly string[];
  /** Ids of some of its attacks. */
  readonly attacks: readonly string[];
  readonly work: Incident["work"];
}

/** The part of an incident that is known without adding up its attacks. */
export interface IncidentHead
  extends Pick<IncidentView, keyof IncidentKey | "id" | "startedAt" | "endedAt" | "work" | "state"> {
  /** Addresses, and prefixes of attacks that are spread, of the listed attacks; null: the whole hostgroup. */
  readonly victims: () => Iterable<string | null>;
}

/** One of the list, of which a view adds up the attacks. */
export interface ListedIncident {
  readonly head: IncidentHead;
  readonly view: () => IncidentView;
}
