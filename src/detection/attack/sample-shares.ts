/** What the packets of a sample have in common: sums by any key that their headers have. Pure. */
import type { PacketHeader } from "../../traffic/packet-header.ts";

export interface SampledPacket {
  readonly header: PacketHeader;
  /** Length of the frame on the wire. */
  readonly wireBytes: number;
  /** Packets on the wire that this one was drawn from. */
  readonly standsFor: number;
}

/** What the sampled packets with one key come to. */
export interface Share {
  readonly key: string;
  readonly packets: number;
  readonly bytes: number;
}

/** Most packets first, at most `top`. @param keyOf null: the packet counts for none. */
export function largestShares(
  packets: readonly SampledPacket[],
  keyOf: (header: PacketHeader) => string | number | null,
  top: number,
): Share[] {
  const shares = new Map<string | number, { packets: number; bytes: number }>();
  for (const { header, wireBytes } of packets) {
    const key = keyOf(header);
    if (key === null) continue;
    const share = shares.get(key);
    if (share === undefined) shares.set(key, { packets: 1, bytes: wireBytes });
    else {
      share.packets++;
      share.bytes += wireBytes;
    }
  }
  return [...shares]
    .sort(([, a], [, b]) => b.packets - a.packets || b.bytes - a.bytes)
    .slice(0, top)
    .map(([key, share]) => ({ key: String(key), ...share }));
}
