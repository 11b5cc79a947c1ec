/** Bounds the wait for a promise. */
import type { Timers } from "./timers.ts";

/** Settles like `promise`, or after `ms` with the result of `late`; the promise is ignored from then on. */
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
