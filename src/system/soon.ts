/** Values that are there at once in most cases: a promise for each would cost more than the work itself. */

export type Soon<T> = T | Promise<T>;

/** Calls `next` with the value: at once where it is there. */
export function whenThere<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
