/** The signals that the service answers: SIGTERM and SIGINT stop it, SIGHUP reloads its configuration. */
import type { Cancel } from "./timers.ts";

export type Signal = "SIGTERM" | "SIGINT" | "SIGHUP";

export interface Signals {
  /** Calls `handler` for each signal; without a handler the default ends the process. */
  on(signal: Signal, handler: () => void): Cancel;
}

export const processSignals: Signals = {
  on(signal, handler) {
    process.on(signal, handler);
    return () => process.off(signal, handler);
  },
};

/** Resolves at the first one that stops the service. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    processSignals.on("SIGTERM", resolve);
    processSignals.on("SIGINT", resolve);
  });
}
