/** Orders whose times are of a clock that is not known, and for how long each has waited for it. Pure; ticks are seconds. */
import { type StampedOrder, stampedName } from "./stamped-order.ts";

/** A brain whose clock is not known is waited for this long. */
export const CLOCK_WAIT_TICKS = 60;

export class ClockWaits {
  /** By name: the tick in which it came; infinite once its clock was waited for. */
  readonly #since = new Map<string, number>();
  #ticks = 0;

  /** It is kept as this. */
  note(order: StampedOrder): void {
    const name = stampedName(order);
    if (order.clock === undefined) this.#since.delete(name);
    else if (!this.#since.has(name)) this.#since.set(name, this.#ticks);
  }

  forget(name: string): void {
    this.#since.delete(name);
  }

  /** Call this every second. The next `most`, in turns; `isOver`, once: it was waited for long enough. */
  tick(most: number): readonly { readonly name: string; readonly isOver: boolean }[] {
    this.#ticks++;
    const some = this.#since.entries().take(most).toArray();
    return some.map(([name, since]) => {
      const isOver = this.#ticks - since >= CLOCK_WAIT_TICKS;
      this.#since.delete(name);
      this.#since.set(name, isOver ? Number.POSITIVE_INFINITY : since);
      return { name, isOver };
    });
  }
}
