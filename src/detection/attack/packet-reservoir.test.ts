import { describe, expect, test } from "bun:test";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { recordOf } from "../../../test/fixtures/packets/header-samples.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { HEADER_RECORD_BYTES, HeaderRecords } from "../../traffic/header-record.ts";
import { PacketColumns } from "./packet-columns.ts";
import { PacketReservoir } from "./packet-reservoir.ts";
import type { SampledPacket } from "./sample.ts";

const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

const SOURCES = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];
const [A, B, C] = [0, 1, 2];

/** Records of the packets, each standing for this number. */
function recordsOf(standsFor: number): HeaderRecords {
  const records = new HeaderRecords(SOURCES.length);
  for (const [i, src] of SOURCES.entries()) {
    const frame = ethernet(ip({ src, dst: "203.0.113.7" }, udp()));
    records.bytes.set(recordOf({ frame, standsFor }), i * HEADER_RECORD_BYTES);
  }
  return records;
}
const [ONE, THREE, EIGHT] = [recordsOf(1), recordsOf(3), recordsOf(8)];

const kept = (reservoir: PacketReservoir) => reservoir.columns().packets();
const isOf = (of: number) => (packet: SampledPacket) => packet.header.source === SOURCES[of];

/** Number of packets on the wire that those of one source represent. */
function amount(reservoir: PacketReservoir, of: number): number {
  return kept(reservoir)
    .filter(isOf(of))
    .reduce((sum, { standsFor }) => sum + standsFor, 0);
}

function mean(runs: number, run: (random: () => number) => number): number {
  const random = seededRandom(SEED);
  return Array.from({ length: runs }, () => run(random)).reduce((sum, value) => sum + value, 0) / runs;
}

test("a reservoir with room keeps every packet for what it stands for, in order", () => {
  const reservoir = new PacketReservoir(10, Math.random);
  reservoir.offer(THREE, A);
  reservoir.offer(ONE, B);
  expect(kept(reservoir)).toMatchObject([
    { header: { source: SOURCES[A] }, standsFor: 3 },
    { header: { source: SOURCES[B] }, standsFor: 1 },
  ]);
});

test("a reservoir holds no more than its capacity, also when that is made smaller", () => {
  const reservoir = new PacketReservoir(8, Math.random);
  for (let i = 0; i < 1000; i++) reservoir.offer(ONE, A);
  expect(kept(reservoir)).toHaveLength(8);
  reservoir.resize(3);
  expect(kept(reservoir)).toHaveLength(3);
  expect(amount(reservoir, A)).toBeGreaterThan(8);
});

test("what is sent to another thread is a copy", () => {
  const reservoir = new PacketReservoir(2, Math.random);
  reservoir.offer(THREE, A);
  const message = reservoir.columns().message();
  for (let i = 0; i < 100; i++) reservoir.offer(ONE, B);
  const { records, standsFor } = message;
  const sent = structuredClone(message, { transfer: [records.buffer, standsFor.buffer] });
  expect(PacketColumns.of(sent).packets()).toMatchObject([{ header: { source: SOURCES[A] }, standsFor: 3 }]);
});

describe(`over many runs (SEED=${SEED})`, () => {
  test("the amounts are right on average, whatever the order, the rates and the capacity", () => {
    const sums = [A, B].map((of) =>
      mean(3000, (random) => {
        const reservoir = new PacketReservoir(16, random);
        // 400 packets of A, one in eight sampled, then 100 of B, all sampled.
        for (let i = 0; i < 50; i++) reservoir.offer(EIGHT, A);
        for (let i = 0; i < 100; i++) reservoir.offer(ONE, B);
        return amount(reservoir, of);
      }),
    );
    expect(sums[0]).toBeWithin(400 * 0.97, 400 * 1.03);
    expect(sums[1]).toBeWithin(100 * 0.9, 100 * 1.1);
  });

  test("early packets are as likely to be in it as late ones", () => {
    const share = mean(2000, (random) => {
      const reservoir = new PacketReservoir(16, random);
      for (let i = 0; i < 300; i++) reservoir.offer(ONE, i < 150 ? A : B);
      return kept(reservoir).filter(isOf(A)).length / 16;
    });
    expect(share).toBeWithin(0.47, 0.53);
  });

  test("what fades makes room for what comes", () => {
    const share = mean(1000, (random) => {
      const reservoir = new PacketReservoir(16, random);
      for (let i = 0; i < 100; i++) reservoir.offer(ONE, A);
      reservoir.fade(0.5);
      for (let i = 0; i < 100; i++) reservoir.offer(ONE, C);
      return amount(reservoir, C) / (amount(reservoir, A) + amount(reservoir, C));
    });
    expect(share).toBeWithin(0.63, 0.7);
  });
});
