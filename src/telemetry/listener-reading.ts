/** A reading of a port that takes flow records. */
import type { IpAddress } from "../net/address.ts";

export interface ListenerReading {
  /** As `[::]:2055`. */
  readonly listen: string;
  readonly threads: number;
  /** Why it is not open, or does not receive; null: it does. */
  readonly error: string | null;
  readonly datagrams: number;
  readonly bytes: number;
  /** Datagrams that did not fit into the receive buffer. */
  readonly overruns: number;
  /** For all threads together: bytes that the kernel granted, and how many of them wait to be read. */
  readonly receiveBuffer: number;
  readonly receiveBufferUsed: number;
  /** Datagrams of addresses that are no exporter of the configuration, and the addresses that were seen last. */
  readonly refused: number;
  readonly refusedAddresses: readonly IpAddress[];
  /** Datagrams of exporters for which the table had no room. */
  readonly withoutRoom: number;
  /** Records that were cut to what can be, and long ones that found no room to be spread over their time. */
  readonly clampedRecords: number;
  readonly unspreadRecords: number;
}
