/** The section `edge`: the edge nodes, and their zones. */
import type { Zone } from "./zones/zone.ts";

export interface EdgeConfig {
  readonly nodes: readonly EdgeNodeConfig[];
  /** null: there are no zones. */
  readonly zonesFile: string | null;
  /** The zones of the zones file, by name. */
  readonly zones: readonly Zone[];
  /** False: the zones file could not be used at the start, and nothing good of it was kept; `zones` is empty. */
  readonly areZonesKnown: boolean;
  /** Time without a poll after which a node counts as lost. */
  readonly staleAfterSeconds: number;
}

export interface EdgeNodeConfig {
  readonly name: string;
  /** null: not set, so `[global]` applies. */
  readonly hostgroups: readonly string[] | null;
}
