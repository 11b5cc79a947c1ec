/**
 * A host as the API reads it, directly from a row of the packet counter's columns. Of a million hosts most are only
 * compared by one rate, so expensive values (address text, views of the columns) are made on demand.
 */
import type { ActiveAttacks } from "../detection/attack/active-attacks.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Baselines } from "../detection/baseline/baselines.ts";
import { errorsOf, isSampled, type RateErrors, weightsOf } from "../detection/certainty/sampling.ts";
import type { Hostgroup } from "../detection/hostgroup.ts";
import type { HostView } from "../http/backend.ts";
import { ADDRESS_BYTES, type IpAddress } from "../net/address.ts";
import { type HostRows, rowAddress } from "../traffic/host-rows.ts";
import { type Direction, METRICS, type Rates } from "../traffic/rates.ts";

/** The details of hosts beside their rates. */
interface HostTables {
  readonly attacks: ActiveAttacks;
  readonly baselines: Baselines;
  /**
   * By any hostgroup. After a reload that ended it, outgoing traffic is still counted but not shown
   * (docs/interface.md#host-rates-out).
   */
  readonly isOutgoingJudged: boolean;
  /** The rates are those of this time. */
  readonly windowMs: number;
}

const SILENT: Rates = new Float64Array(METRICS.length);

export class HostRowView implements HostView {
  readonly #rows: HostRows;
  readonly #row: number;
  /** undefined: a reload is about to assign another group. */
  readonly #group: Hostgroup | undefined;
  readonly #tables: HostTables;

  /** Valid as long as the row is. */
  constructor(rows: HostRows, row: number, group: Hostgroup | undefined, tables: HostTables) {
    this.#rows = rows;
    this.#row = row;
    this.#group = group;
    this.#tables = tables;
  }

  get target(): IpAddress {
    return rowAddress(this.#rows, this.#row);
  }

  get group(): string {
    return this.#group?.name ?? "global";
  }

  get rates(): Rates {
    return this.#ratesOf(this.#rows.incoming);
  }

  get ratesOut(): Rates {
    return this.#tables.isOutgoingJudged ? this.#ratesOf(this.#rows.outgoing) : SILENT;
  }

  get samplingError(): RateErrors | null {
    return this.#errorsOf("incoming");
  }

  get samplingErrorOut(): RateErrors | null {
    return this.#tables.isOutgoingJudged ? this.#errorsOf("outgoing") : null;
  }

  get baseline(): Rates | null {
    return this.#normal("incoming");
  }

  get baselineOut(): Rates | null {
    return this.#normal("outgoing");
  }

  get attack(): Attack | null {
    const { attacks } = this.#tables;
    const attacked = attacks.attackedHost(this.#rows, this.#row);
    return attacked === null ? null : attacks.on(attacked);
  }

  #normal(direction: Direction): Rates | null {
    const [group, keys] = [this.#group, this.#rows.addresses];
    if (group === undefined) return null;
    return this.#tables.baselines.normal({ keys, at: this.#row * ADDRESS_BYTES, group, direction });
  }

  #errorsOf(direction: Direction): RateErrors | null {
    const weights = weightsOf(this.#rows, this.#row, direction);
    if (!isSampled(weights)) return null;
    return errorsOf(this.#ratesOf(this.#rows[direction]), weights, this.#tables.windowMs);
  }

  #ratesOf(column: Float64Array): Rates {
    const from = this.#row * METRICS.length;
    return column.subarray(from, from + METRICS.length);
  }
}
