import { describe, expect, test } from "bun:test";
import { ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { PacketReservoir } from "./packet-reservoir.ts";

const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

const packet = (sourcePort: number) =>
  sampledPacket(ip({ src: "198.51.100.1", dst: "203.0.113.7" }, udp({ sourcePort })));
const PACKETS = [1, 2, 3].map(packet);
const [A, B, C] = PACKETS as [(typeof PACKETS)[0], (typeof PACKETS)[0], (typeof PACKETS)[0]];

/** Number of packets on the wire that those from the port represent. */
function amount(reservoir: PacketReservoir, of: typeof A): number {
  const own = reservoir.packets().filter(({ header }) => header.ports?.source === of.header.ports?.source);
  return own.reduce((sum, { standsFor }) => sum + standsFor, 0);
}

function mean(runs: number, run: (random: () => number) => number): number {
  const random = seededRandom(SEED);
  return Array.from({ length: runs }, () => run(random)).reduce((sum, value) => sum + value, 0) / runs;
}

test("a reservoir with room keeps every packet for what it stands for, in order", () => {
  const reservoir = new PacketReservoir(10, Math.random);
  reservoir.offer(3, () => A);
  reservoir.offer(1, () => null);
  reservoir.offer(1, () => B);
  expect(reservoir.packets()).toEqual([
    { ...A, standsFor: 3 },
    { ...B, standsFor: 1 },
  ]);
});

test("a reservoir holds no more than its capacity, also when that is made smaller", () => {
  const reservoir = new PacketReservoir(8, Math.random);
  for (let i = 0; i < 1000; i++) reservoir.offer(1, () => A);
  expect(reservoir.packets()).toHaveLength(8);
  reservoir.resize(3);
  expect(reservoir.packets()).toHaveLength(3);
  expect(amount(reservoir, A)).toBeGreaterThan(8);
});

describe(`over many runs (SEED=${SEED})`, () => {
  test("the amounts are right on average, whatever the order, the rates and the capacity", () => {
    const sums = [A, B].map((of) =>
      mean(3000, (random) => {
        const reservoir = new PacketReservoir(16, random);
        // 400 packets of A, one in eight sampled, then 100 of B, all sampled.
        for (let i = 0; i < 50; i++) reservoir.offer(8, () => A);
        for (let i = 0; i < 100; i++) reservoir.offer(1, () => B);
        return amount(reservoir, of);
      }),
    );
    expect(sums[0]).toBeWithin(400 * 0.97, 400 * 1.03);
    expect(sums[1]).toBeWithin(100 * 0.9, 100 * 1.1);
  });

  test("early packets are as likely to be in it as late ones", () => {
    const share = mean(2000, (random) => {
      const reservoir = new PacketReservoir(16, random);
      for (let i = 0; i < 300; i++) reservoir.offer(1, () => (i < 150 ? A : B));
      return reservoir.packets().filter(({ header }) => header === A.header).length / 16;
    });
    expect(share).toBeWithin(0.47, 0.53);
  });

  test("what fades makes room for what comes", () => {
    const share = mean(1000, (random) => {
      const reservoir = new PacketReservoir(16, random);
      for (let i = 0; i < 100; i++) reservoir.offer(1, () => A);
      reservoir.fade(0.5);
      for (let i = 0; i < 100; i++) reservoir.offer(1, () => C);
      return amount(reservoir, C) / (amount(reservoir, A) + amount(reservoir, C));
    });
    expect(share).toBeWithin(0.63, 0.7);
  });
});
