/**
 * Sampled packets as a capture file in the classic format (draft-ietf-opsawg-pcap), which every analyser reads. Pure.
 */

/** The beginning of a frame, as the packet counter samples it. */
export interface CapturedPacket {
  /** Wall clock, ms, as exact as the counter's ticks. */
  readonly atMs: number;
  /** Length of the frame on the wire. */
  readonly wireBytes: number;
  /** From the start of the Ethernet header, as far as captured. */
  readonly frame: Uint8Array;
}

export const PCAP_HEADER_BYTES = 24;
export const PCAP_PACKET_HEADER_BYTES = 16;
/** With times in microseconds. */
const MAGIC = 0xa1b2c3d4;
const VERSION = { major: 2, minor: 4 } as const;
const LINKTYPE_ETHERNET = 1;

/** @param snapBytes the longest frame that is captured. */
export function pcapFile(packets: readonly CapturedPacket[], snapBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = packets.reduce((sum, { frame }) => sum + PCAP_PACKET_HEADER_BYTES + frame.length, PCAP_HEADER_BYTES);
  const file = new Uint8Array(bytes);
  const view = new DataView(file.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION.major, true);
  view.setUint16(6, VERSION.minor, true);
  view.setUint32(16, snapBytes, true);
  view.setUint32(20, LINKTYPE_ETHERNET, true);
  let at = PCAP_HEADER_BYTES;
  for (const { atMs, wireBytes, frame } of packets) {
    const micros = Math.round(atMs * 1000);
    view.setUint32(at, Math.floor(micros / 1e6), true);
    view.setUint32(at + 4, micros % 1e6, true);
    view.setUint32(at + 8, frame.length, true);
    // A counted length can be less than what was captured only by a fault of the driver; readers refuse such a file.
    view.setUint32(at + 12, Math.max(wireBytes, frame.length), true);
    file.set(frame, at + PCAP_PACKET_HEADER_BYTES);
    at += PCAP_PACKET_HEADER_BYTES + frame.length;
  }
  return file;
}
