/**
 * How much of the machine's CPU time its hypervisor gave to others: what a figure of a rented machine is worth.
 * `steal` of /proc/stat (proc(5)), against all that the CPUs were wanted for.
 */
import { readFileSync } from "node:fs";

const BUSY_FIELDS = [0, 1, 2, 5, 6];
const STEAL_FIELD = 7;

export class StolenTime {
  readonly #since = ticks();

  /** Since this object was made, 0 to 1, of the time in which a CPU had something to do. */
  get share(): number {
    const now = ticks();
    const stolen = now.stolen - this.#since.stolen;
    return stolen / Math.max(1, stolen + now.busy - this.#since.busy);
  }
}

function ticks(): { readonly busy: number; readonly stolen: number } {
  const fields = (readFileSync("/proc/stat", "latin1").split("\n")[0] ?? "").trim().split(/\s+/).slice(1).map(Number);
  return { busy: BUSY_FIELDS.reduce((sum, i) => sum + (fields[i] ?? 0), 0), stolen: fields[STEAL_FIELD] ?? 0 };
}
