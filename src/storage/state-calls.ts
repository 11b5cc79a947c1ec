/** The calls to the thread that owns the state database. */
import type { StateDamage } from "./damaged-state.ts";
import type { StoredState } from "./state-change.ts";

export interface OpenedState {
  readonly stored: StoredState;
  /** The fault of the file; null: none. */
  readonly damage: StateDamage | null;
}

export interface StateCalls {
  open(argument: { readonly stateDir: string }): OpenedState;
  write(argument: { readonly stateDir: string; readonly changesJson: string }): void;
  close(argument: null): void;
}
