import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { BUSIEST_SHOWN, busiest } from "./busiest.ts";

function attack(id: string, pps: number, sources: Readonly<Record<string, number>>): AttackWire {
  const shares = Object.entries(sources).map(([key, packets]) => ({ key, packets, bytes: 0 }));
  const sample = { top_sources: shares, top_src_ports: [], top_dst_ports: [], protocols: [], total_packets: 100 };
  return { id, rates: { pps }, sample } as unknown as AttackWire;
}

test("shares of samples are weighed by the rate of their attack, and added up", () => {
  const rows = busiest([attack("small", 100, { a: 100 }), attack("large", 1000, { a: 20, b: 50 })], "sources");
  expect(rows.map(({ key, pps, attack: { id } }) => [key, pps, id])).toEqual([
    ["b", 500, "large"],
    ["a", 300, "large"],
  ]);
});

test("an attack that is over weighs by its mean rate: its last rates are those of the calm at its end", () => {
  const over = { ...attack("over", 3, { a: 50 }), active: false, volume: { mean_pps: 4000 } } as unknown as AttackWire;
  const lasting = { ...over, active: true, rates: { pps: 1000 } } as unknown as AttackWire;
  expect(busiest([over], "sources").map(({ pps }) => pps)).toEqual([2000]);
  expect(busiest([lasting], "sources").map(({ pps }) => pps)).toEqual([500]);
});

test("no more than a few are shown, and an attack without a sample has none", () => {
  const many = Object.fromEntries(Array.from({ length: BUSIEST_SHOWN + 1 }, (_, i) => [`s${i}`, i + 1]));
  expect(busiest([attack("one", 100, many)], "sources").length).toBe(BUSIEST_SHOWN);
  expect(busiest([{ id: "x", rates: { pps: 5 } } as unknown as AttackWire], "sources")).toEqual([]);
});
