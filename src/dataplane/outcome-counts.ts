/**
 * The outcomes of the packets to watched hosts, counted by the kernel: one reading has all outcomes of the same
 * instant. Knows nothing of attacks.
 */
import { type Amount, type DropCause, type DroppedAmount, plus } from "../detection/attack/attack-volume.ts";
import { PACKET_OUTCOMES, WATCHED_DESTINATIONS_MAX } from "../native/constants.ts";
import { ADDRESS_BYTES, addressFromBytes, type IpAddress } from "../net/address.ts";
import type { KernelFilter } from "./kernel-filter.ts";

const COLUMNS = 2 * PACKET_OUTCOMES.length;
const CAUSE_OF: Readonly<Record<(typeof PACKET_OUTCOMES)[number], DropCause | null>> = {
  passed: null,
  dropped_by_rule: "rules",
  dropped_by_filter_rule: "filter_rules",
  dropped_by_source_block: "source_blocks",
  dropped_by_limit: "limits",
  dropped_unproved: "unproved",
  answered: "answered",
};

type Counter = Pick<KernelFilter, "watchDestinations" | "readOutcomes">;

export class OutcomeCounts {
  #counter: Counter | null = null;
  #addresses: Uint8Array = new Uint8Array(0);
  #rows = new Map<IpAddress, number>();
  #counts = new Float64Array(0);

  /** The kernel counts from now on; null: it does not. */
  use(counter: Counter | null): void {
    this.#counter = counter;
    this.#rows.clear();
    this.watch(this.#addresses);
  }

  /**
   * Replaces the watched hosts: 16 bytes each. One that stays keeps its counts; of one that is new nothing is known
   * until the next reading, which also has what was kept from it in the one to two seconds before. Throws if the kernel
   * refuses.
   */
  watch(addresses: Uint8Array): void {
    this.#counter?.watchDestinations(addresses);
    this.#addresses = addresses;
    const hosts = Math.min(addresses.length / ADDRESS_BYTES, WATCHED_DESTINATIONS_MAX);
    const [rows, counts] = [new Map<IpAddress, number>(), new Float64Array(hosts * COLUMNS).fill(Number.NaN)];
    for (let row = 0; row < hosts; row++) {
      const host = addressFromBytes(addresses, row * ADDRESS_BYTES);
      rows.set(host, row);
      const before = this.#rows.get(host);
      if (before === undefined) continue;
      counts.set(this.#counts.subarray(before * COLUMNS, (before + 1) * COLUMNS), row * COLUMNS);
    }
    this.#rows = rows;
    this.#counts = counts;
  }

  /** Reads all watched hosts in one crossing. Call it once a tick. */
  read(): void {
    if (this.#counts.length > 0) this.#counter?.readOutcomes(this.#counts);
  }

  /** At the last reading, since the host is watched; null: it is not watched, or none of its packets came by here. */
  droppedOf(host: IpAddress): DroppedAmount | null {
    const row = this.#rows.get(host);
    if (row === undefined) return null;
    const amountOf = (outcome: number): Amount => ({
      packets: this.#counts[row * COLUMNS + 2 * outcome] as number,
      bits: 8 * (this.#counts[row * COLUMNS + 2 * outcome + 1] as number),
    });
    const amounts = PACKET_OUTCOMES.map((name, outcome) => ({ cause: CAUSE_OF[name], ...amountOf(outcome) }));
    // NaN is not above zero either.
    if (!(sumOf(amounts).packets > 0)) return null;
    const kept = amounts.filter(({ cause }) => cause !== null);
    const by: Record<string, Amount> = {};
    for (const { cause, packets, bits } of kept) if (cause !== null) by[cause] = { packets, bits };
    return { ...sumOf(kept), by: by as Record<DropCause, Amount> };
  }
}

function sumOf(amounts: readonly Amount[]): Amount {
  return amounts.reduce(plus, { packets: 0, bits: 0 });
}
