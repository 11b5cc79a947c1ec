/** The largest sources and ports of attacks, estimated from their samples. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";

export interface Busy {
  readonly key: string;
  /** Packets per second of all attacks together. */
  readonly pps: number;
  /** The attack with the most of it. */
  readonly attack: AttackWire;
}

export const BUSIEST_SHOWN = 5;

const LISTS = { sources: "top_sources", fromPorts: "top_src_ports", toPorts: "top_dst_ports" } as const;

/** Now, or of one that is over the mean: its last rates are those of its end. */
function rateOf({ active, rates, volume }: AttackWire): number {
  return active ? rates.pps : (volume?.mean_pps ?? rates.pps);
}

/** A share of a sample stands for the same share of the attack's packets. */
export function busiest(attacks: readonly AttackWire[], what: keyof typeof LISTS): Busy[] {
  const sums = new Map<string, { pps: number; most: number; attack: AttackWire }>();
  for (const attack of attacks) {
    const { sample } = attack;
    if (sample === undefined || sample.total_packets === 0) continue;
    for (const { key, packets } of sample[LISTS[what]]) {
      const pps = (rateOf(attack) * packets) / sample.total_packets;
      const sum = sums.get(key) ?? { pps: 0, most: -1, attack };
      sum.pps += pps;
      if (pps > sum.most) Object.assign(sum, { most: pps, attack });
      sums.set(key, sum);
    }
  }
  return [...sums]
    .map(([key, { pps, attack }]) => ({ key, pps, attack }))
    .sort((a, b) => b.pps - a.pps || (a.key < b.key ? -1 : 1))
    .slice(0, BUSIEST_SHOWN);
}
