/** Values that are there at once in most cases: a promise for each would cost more than the work itself. */

export type Soon<T> = T | Promise<T>;

/** Calls `use` with the value: at once where it is there. */
export function whenThere<T, U>(value: Soon<T>, use: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}
