import { expect, test } from "bun:test";
import { pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { PCAP_HEADER_BYTES, pcapFile } from "./pcap-file.ts";

const frame = (bytes: number) => new Uint8Array(bytes).fill(7);

test("a file has the times in microseconds and the lengths on the wire, as another writer makes it", () => {
  const packets = [
    { atMs: 1_700_000_000_000.25, wireBytes: 1400, frame: frame(128) },
    { atMs: 1_700_000_001_999.999, wireBytes: 60, frame: frame(60) },
  ];
  const expected = packets.map(({ atMs, wireBytes, frame: kept }) => ({
    ...{ frame: kept, wireBytes, atNs: BigInt(Math.round(atMs * 1000)) * 1000n },
  }));
  expect(pcapFile(packets, 128)).toEqual(pcapBytes(expected, { snapLength: 128 }) as Uint8Array<ArrayBuffer>);
});

test("a file without packets is its header, and no packet is shorter on the wire than captured", () => {
  expect(pcapFile([], 128)).toHaveLength(PCAP_HEADER_BYTES);
  const view = new DataView(pcapFile([{ atMs: 0, wireBytes: 10, frame: frame(60) }], 128).buffer);
  expect(view.getUint32(PCAP_HEADER_BYTES + 12, true)).toBe(60);
});
