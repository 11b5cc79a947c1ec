/** Sums of sampled packets by any key of their headers. Pure. */
import type { ReportedByExporter } from "../../traffic/ingress.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";

export interface SampledPacket extends ReportedByExporter {
  readonly header: PacketHeader;
  /** Length of the frame on the wire. */
  readonly wireBytes: number;
  /** Number of packets on the wire that this one represents. */
  readonly standsFor: number;
}

/** The sum of the sampled packets with one key. */
export interface Share {
  readonly key: string;
  readonly packets: number;
  readonly bytes: number;
}

/** Most packets first, at most `top`. @param keyOf null: the packet is not counted. */
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
