/** Waits for a promise no longer than its caller can. */
import type { Timers } from "./timers.ts";

/** Settles as `promise` does, or after `ms` as `late` says; whatever the promise does then is ignored. */
export function within<T>(promise: Promise<T>, ms: number, timers: Pick<Timers, "after">, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => {
      try {
        resolve(late());
      } catch (cause) {
        reject(cause);
      }
    });
    promise.then(resolve, reject).finally(cancel);
  });
}
