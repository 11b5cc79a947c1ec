/**
 * The sources of the last minute that look like users of hosts which are not attacked, as the sampled headers have them.
 * A scan or a flood of SYNs makes no source a user; a source of UDP may be spoofed, as long as that is no flood.
 */
import { ADDRESS_BYTES, type IpAddress, writeAddress } from "../../net/address.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";

/** 64 kB as rows; the longest silent one makes room. */
export const RECENT_USERS_MAX = 4096;
const KEPT_MS = 60_000;
const FLAGS = { syn: 0x02, rst: 0x04, ack: 0x10 } as const;

export class RecentUsers {
  /** Monotonic ms, the most recently seen last. */
  readonly #seen = new Map<IpAddress, number>();

  add(source: IpAddress, nowMs: number): void {
    this.#seen.delete(source);
    this.#seen.set(source, nowMs);
    if (this.#seen.size <= RECENT_USERS_MAX) return;
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined) this.#seen.delete(oldest);
  }

  /** 16 bytes each, IPv4 in its mapped form. */
  rows(nowMs: number): Uint8Array {
    for (const [source, atMs] of this.#seen) {
      if (nowMs - atMs <= KEPT_MS) break;
      this.#seen.delete(source);
    }
    const rows = new Uint8Array(this.#seen.size * ADDRESS_BYTES);
    let at = 0;
    for (const source of this.#seen.keys()) {
      writeAddress(source, rows.subarray(at, at + ADDRESS_BYTES));
      at += ADDRESS_BYTES;
    }
    return rows;
  }
}

/** Whether a packet is one of a connection in progress, or of UDP. */
export function looksLikeUser({ protocol, tcpFlags, fragment }: PacketHeader): boolean {
  if (fragment !== null) return false;
  if (protocol === IP_PROTOCOL.udp) return true;
  return protocol === IP_PROTOCOL.tcp && ((tcpFlags ?? 0) & (FLAGS.syn | FLAGS.rst | FLAGS.ack)) === FLAGS.ack;
}
