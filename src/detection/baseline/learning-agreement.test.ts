/** The pass in the addon against the formulas, written down here once more, over random traffic. */
import { expect, test } from "bun:test";
import { knownOf, learnedRates } from "../../../test/fixtures/baselines.ts";
import { type HostRowFields, hostRows } from "../../../test/fixtures/host-rows.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { loadAddon } from "../../dataplane/addon.ts";
import { METRICS } from "../../traffic/rates.ts";

const HOSTS = 300;
const GROUPS = [
  { warmupSeconds: 20, halfLifeSeconds: 60, factor: 3, floor: [50, 5, 10] },
  { warmupSeconds: 0, halfLifeSeconds: 3600, factor: 2, floor: [1, 1, 1] },
] as const;
/** Of each host, its direction and the base trio. */
interface Expected {
  seconds: number;
  readonly normal: number[];
}

/** As docs/detection.md says it; what is kept are floats. */
function learn(known: Expected, rates: readonly number[], seconds: number, group: number): void {
  const { warmupSeconds, halfLifeSeconds, factor, floor } = GROUPS[group] as (typeof GROUPS)[number];
  const isWarm = known.seconds > 0 && known.seconds >= warmupSeconds;
  const total = known.seconds + seconds;
  const weight = Math.max(1 - 2 ** (-seconds / halfLifeSeconds), seconds / total);
  for (let i = 0; i < 3; i++) {
    const normal = known.normal[i] as number;
    const rate = rates[i] as number;
    const counted = isWarm ? Math.min(rate, Math.max(floor[i] as number, normal * factor)) : rate;
    known.normal[i] = Math.fround(normal + weight * (counted - normal));
  }
  known.seconds = Math.fround(total);
}

test("the addon learns what the formula says, and sums what hosts of a prefix have", () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1e6);
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const pick = (share: number) => Array.from({ length: HOSTS }, (_, n) => n).filter(() => random() < share);
  const rates = learnedRates({ capacity: HOSTS, directions: 2 });
  const sums = loadAddon().openPrefixSums(100);
  rates.setGroups(
    GROUPS.map(({ floor, ...rule }) => ({
      isWhole: false,
      rule: { ...rule, floor: Float64Array.from(floor), isSeasonal: false },
    })),
  );
  sums.setNetworks(Uint8Array.of(24), Uint8Array.of(1));
  const known = Array.from({ length: HOSTS }, () => [0, 1].map((): Expected => ({ seconds: -1, normal: [0, 0, 0] })));
  const target = (n: number) => `10.0.${n % 7}.${1 + Math.floor(n / 7)}`;
  const rate = () => ({ pps: 1000 * random() ** 4, mbps: 10 * random(), flows_per_sec: 100 * random() });
  const hosts = (numbers: readonly number[]) => hostRows(...numbers.map((n) => ({ target: target(n), rates: {} })));
  for (let nowSeconds = 1; nowSeconds <= 200; nowSeconds++) {
    const seconds = 5 * random();
    rates.beginPass({ nowSeconds, seconds, hour: 0, intoSeconds: 0, idleSeconds: 0, windowMs: 1000 });
    const [attackedIn, attackedOut, banned, active] = [pick(0.1), pick(0.1), pick(0.1), pick(0.8)];
    const lengths = new Uint8Array(banned.length).fill(128);
    rates.setSpared(hosts(attackedIn).addresses, hosts(attackedOut).addresses, hosts(banned).addresses, lengths);
    const fields = active.map(
      (n): HostRowFields => ({
        target: target(n),
        rates: rate(),
        outgoing: rate(),
        group: n % 2,
        weights: [random(), random(), 0, 0],
      }),
    );
    const rows = hostRows(...fields);
    sums.begin();
    rates.learnRows(rows, active.length, sums);
    const expected = new Map<string, { sum: number; squares: number; variance: number }>();
    for (const [row, n] of active.entries()) {
      const [incoming, outgoing] = [rows.incoming, rows.outgoing].map((column) =>
        Array.from(column.subarray(row * METRICS.length, row * METRICS.length + 3)),
      );
      if (!attackedIn.includes(n)) {
        const key = `${n % 7} ${n % 2}`;
        const pps = incoming?.[0] as number;
        const { sum, squares, variance } = expected.get(key) ?? { sum: 0, squares: 0, variance: 0 };
        const added = variance + (rows.weights[4 * row] as number) * pps;
        expected.set(key, { sum: sum + pps, squares: squares + pps * pps, variance: added });
      }
      if (banned.includes(n)) continue;
      for (const [side, values, attacked] of [
        [0, incoming, attackedIn],
        [1, outgoing, attackedOut],
      ] as const) {
        if (attacked.includes(n)) continue;
        for (const of of known[n] ?? []) of.seconds = Math.max(0, of.seconds);
        learn(known[n]?.[side] as Expected, values as number[], seconds, n % 2);
      }
    }
    const { count } = sums.stats();
    const read = [new Float64Array(13 * count), new Float64Array(13 * count), new Float64Array(2 * count)] as const;
    const [groups, bits] = [new Uint32Array(count), new Float64Array(count)];
    sums.read(...read);
    sums.readNames(0, groups, new Uint32Array(count), bits, new Uint8Array(16 * count));
    for (let i = 0; i < count; i++) {
      const of = expected.get(`${(bits[i] as number) % 256} ${groups[i]}`) ?? { sum: 0, squares: 0, variance: 0 };
      expect([read[0][13 * i], read[1][13 * i], read[2][2 * i]]).toEqual([of.sum, of.squares, of.variance]);
      expected.delete(`${(bits[i] as number) % 256} ${groups[i]}`);
    }
    expect(expected.size).toBe(0);
  }
  for (const [n, sides] of known.entries()) {
    const key = hosts([n]).addresses;
    for (const [side, of] of sides.entries()) expect(knownOf(rates, key, side)).toEqual(of.seconds < 0 ? null : of);
  }
});
