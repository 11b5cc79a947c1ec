/**
 * A host as the API reads it, straight from a row of the packet counter's columns. Of a million hosts most are only
 * compared by one rate, so what costs something (text of the address, views of the columns) is made when it is asked for.
 */
import type { Attack } from "./detection/attack.ts";
import type { HostView } from "./http/service.ts";
import type { IpAddress } from "./net/address.ts";
import { type HostRows, rowAddress } from "./traffic/host-rows.ts";
import { METRICS, type Rates } from "./traffic/rates.ts";

export class HostRowView implements HostView {
  readonly group: string;
  readonly #rows: HostRows;
  readonly #row: number;
  readonly #attacks: ReadonlyMap<IpAddress, Attack>;

  /** Valid as long as the row is. */
  constructor(rows: HostRows, row: number, group: string, attacks: ReadonlyMap<IpAddress, Attack>) {
    this.#rows = rows;
    this.#row = row;
    this.group = group;
    this.#attacks = attacks;
  }

  get target(): IpAddress {
    return rowAddress(this.#rows, this.#row);
  }

  get rates(): Rates {
    return this.#ratesOf(this.#rows.incoming);
  }

  get ratesOut(): Rates {
    return this.#ratesOf(this.#rows.outgoing);
  }

  get attack(): Attack | null {
    return this.#attacks.get(this.target) ?? null;
  }

  #ratesOf(column: Float64Array): Rates {
    const from = this.#row * METRICS.length;
    return column.subarray(from, from + METRICS.length);
  }
}
