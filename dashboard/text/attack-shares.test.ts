import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { attackShares } from "./attack-shares.ts";
import { sankeyOf } from "./sankey.ts";

const attack = (group: string, packets: number, countries: Readonly<Record<string, number>>) =>
  ({
    group,
    volume: { packets },
    sample: {
      total_packets: 100,
      top_countries: Object.entries(countries).map(([key, sampled]) => ({ key, packets: sampled, bytes: 0 })),
      top_src_ports: [{ key: "19", packets: 50, bytes: 0 }],
      top_interfaces: [
        { exporter: "edge1", interface: 1, name: "xe-0", packets: 60, bytes: 0, share: 0.5 },
        { exporter: "edge1", interface: 2, packets: 10, bytes: 0, share: 0.25 },
      ],
    },
  }) as unknown as AttackWire;
const attacks = [attack("web", 1000, { DE: 60, FR: 20 }), attack("dns", 3000, { FR: 100 })];
const shares = (field: Parameters<typeof attackShares>[1], most = 10) =>
  attackShares(attacks, field, most).map(({ key, share }) => [key, Number(share.toFixed(4))]);

test("shares are of the packets of all attacks, and what is not known is a row: they sum to 1", () => {
  expect(shares("country")).toEqual([
    ["FR", 0.8],
    ["DE", 0.15],
    ["not known, or others", 0.05],
  ]);
  expect(shares("country", 1)).toEqual([
    ["FR", 0.8],
    ["not known, or others", 0.2],
  ]);
  expect(shares("hostgroup")).toEqual([
    ["dns", 0.75],
    ["web", 0.25],
  ]);
  expect(shares("asn")).toEqual([["not known, or others", 1]]);
  expect(shares("src_port")).toEqual([
    ["19", 0.5],
    ["others, or none", 0.5],
  ]);
  expect(attackShares([], "country", 5)).toEqual([]);
});

test("an exporter is the sum of its interfaces, by what their sampled packets stand for", () => {
  expect(shares("exporter")).toEqual([
    ["edge1", 0.75],
    ["not known, or others", 0.25],
  ]);
  expect(shares("interface").map(([key]) => key)).toEqual(["edge1 xe-0", "edge1 interface 2", "not known, or others"]);
});

test("flows from origins to victims fill both columns, and none is lost", () => {
  const sankey = sankeyOf(attacks, { origin: "country", victim: "hostgroup" });
  if (sankey === null) throw new Error("there is none");
  const flows = sankey.bands.map(({ from, to, share }) => [from, to, Number(share.toFixed(4))]);
  expect(flows).toEqual([
    ["FR", "dns", 0.75],
    ["FR", "web", 0.05],
    ["DE", "web", 0.15],
    ["not known, or others", "web", 0.05],
  ]);
  for (const [nodes, side] of [
    [sankey.origins, "from"],
    [sankey.victims, "to"],
  ] as const) {
    for (const { key, height } of nodes) {
      const bands = sankey.bands.filter((band) => band[side] === key);
      expect(bands.reduce((sum, band) => sum + band.height, 0)).toBeCloseTo(height, 9);
    }
    const last = nodes.at(-1);
    expect((last?.top ?? 0) + (last?.height ?? 0)).toBeCloseTo(1, 9);
  }
});

test("without a known origin there are no flows to show", () => {
  expect(sankeyOf(attacks, { origin: "asn", victim: "hostgroup" })).toBeNull();
  expect(sankeyOf([], { origin: "country", victim: "hostgroup" })).toBeNull();
});
