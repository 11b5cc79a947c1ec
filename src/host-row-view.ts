/**
 * A host as the API reads it, straight from a row of the packet counter's columns. Of a million hosts most are only
 * compared by one rate, so what costs something (text of the address, views of the columns) is made when it is asked for.
 */
import type { ActiveAttacks } from "./detection/active-attacks.ts";
import type { Attack } from "./detection/attack.ts";
import type { HostView } from "./http/service.ts";
import type { IpAddress } from "./net/address.ts";
import { type HostRows, rowAddress } from "./traffic/host-rows.ts";
import { METRICS, type Rates } from "./traffic/rates.ts";

/** What is known of hosts beside their rates. */
export interface HostTables {
  readonly attacks: ActiveAttacks;
  /** By any hostgroup; after a reload that ended it, what hosts send is still counted, and not shown (interface 2.5). */
  readonly isOutgoingJudged: boolean;
}

const SILENT: Rates = new Float64Array(METRICS.length);

export class HostRowView implements HostView {
  readonly group: string;
  readonly #rows: HostRows;
  readonly #row: number;
  readonly #tables: HostTables;

  /** Valid as long as the row is. */
  constructor(rows: HostRows, row: number, group: string, tables: HostTables) {
    this.#rows = rows;
    this.#row = row;
    this.group = group;
    this.#tables = tables;
  }

  get target(): IpAddress {
    return rowAddress(this.#rows, this.#row);
  }

  get rates(): Rates {
    return this.#ratesOf(this.#rows.incoming);
  }

  get ratesOut(): Rates {
    return this.#tables.isOutgoingJudged ? this.#ratesOf(this.#rows.outgoing) : SILENT;
  }

  get attack(): Attack | null {
    const { attacks } = this.#tables;
    return attacks.size === 0 ? null : attacks.on(this.target);
  }

  #ratesOf(column: Float64Array): Rates {
    const from = this.#row * METRICS.length;
    return column.subarray(from, from + METRICS.length);
  }
}
