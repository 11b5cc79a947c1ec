/** The calls to the thread that owns the state database. */
import type { StoredState } from "./state-change.ts";

export interface OpenedState {
  readonly stored: StoredState;
}

export interface StateCalls {
  open(argument: { readonly stateDir: string }): OpenedState;
  write(argument: { readonly stateDir: string; readonly changesJson: string }): void;
  close(argument: null): void;
}
