/** The thread that owns the state database, so that a slow disk never blocks the event loop of the service. */
import { answerCalls } from "./call-thread.ts";
import type { StateCalls } from "./state-calls.ts";
import type { StateChange } from "./state-change.ts";
import { StateDatabase } from "./state-database.ts";

declare const self: Worker;

let database: StateDatabase | null = null;

const calls: StateCalls = {
  open({ stateDir }) {
    database = new StateDatabase(stateDir);
    return { stored: database.stored(), damage: database.damage };
  },
  write({ stateDir, changesJson }) {
    database ??= new StateDatabase(stateDir);
    database.write(JSON.parse(changesJson) as readonly StateChange[]);
  },
  close() {
    database?.close();
    database = null;
  },
};

answerCalls(self, calls);
