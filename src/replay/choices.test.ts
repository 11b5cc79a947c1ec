import { describe, expect, test } from "bun:test";
import { configWith, type Sections } from "../config/load/section-overrides.ts";
import { RateHistogram } from "../traffic/rate-histogram.ts";
import { METRICS, type Metric } from "../traffic/rates.ts";
import { type Choice, choicesOf, roundedUp } from "./choices.ts";
import type { SeenRates } from "./rates.ts";

const FILE: Sections = {
  networks: ["203.0.113.0/24"],
  thresholds: { pps: 90_000, mbps: 900, flows_per_sec: 9000, frag_pps: 77 },
};
const TRIO = { pps: 1000, mbps: 20, flows_per_sec: 300 };

/** Every host has these peaks, and a hundredth of its windows has them. */
function seen(
  peaks: Partial<Record<Metric, number>>,
  { group = 0, direction = "incoming" as const, quiet = 0.1 } = {},
): SeenRates {
  const metrics = METRICS.map((metric) => {
    const histogram = new RateHistogram();
    const peak = peaks[metric] ?? 0;
    for (let i = 0; i < 999; i++) histogram.add(peak * quiet);
    histogram.add(peak);
    return histogram;
  });
  return { group, direction, metrics, windows: 1000, busiest: [] };
}

function choices(rates: readonly SeenRates[], file = FILE): Map<string, Choice> {
  const all = choicesOf({ file, config: configWith(file, {}), seen: rates });
  // Proposals are valid configurations for any rates.
  for (const { sections } of all) configWith(file, sections);
  return new Map(all.map((choice) => [choice.name, choice]));
}

const thresholds = (choice: Choice | undefined) => choice?.sections["thresholds"] as Partial<Record<Metric, number>>;

describe("choices", () => {
  test("are the peak, or what nearly all windows stay under, times a headroom", () => {
    const all = choices([seen(TRIO)]);
    expect(thresholds(all.get("peak x 2"))).toMatchObject({ pps: 2000, mbps: 40, flows_per_sec: 600 });
    expect(thresholds(all.get("peak x 1.5"))).toMatchObject({ pps: 1500, mbps: 30, flows_per_sec: 450 });
    expect(thresholds(all.get("p99 x 2"))?.pps).toBeWithin(200, 221);
  });

  test("have thresholds of their own for parts that are small, and keep what was configured of what was not seen", () => {
    const all = choices([seen({ ...TRIO, udp_pps: 900, tcp_syn_pps: 80, icmp_mbps: 0.1 })]);
    expect(thresholds(all.get("peak x 2"))).toEqual({
      pps: 2000,
      mbps: 40,
      flows_per_sec: 600,
      tcp_syn_pps: 160,
      icmp_mbps: 1,
      frag_pps: 77,
    });
  });

  test("leave out what was not seen where the whole would always trip first", () => {
    const file = { ...FILE, thresholds: { ...TRIO, frag_pps: 50_000, frag_mbps: 39 } };
    const proposed = thresholds(choices([seen(TRIO)], file).get("peak x 2"));
    expect(proposed).toEqual({ pps: 2000, mbps: 40, flows_per_sec: 600, frag_mbps: 39 });
  });

  test("have one for a part that was configured, however large it is", () => {
    const file = { ...FILE, thresholds: { ...TRIO, udp_pps: 5 } };
    expect(thresholds(choices([seen({ ...TRIO, udp_pps: 900 })], file).get("peak x 2"))).toMatchObject({
      udp_pps: 1800,
    });
  });

  test("are not lower than what the first visitors of a quiet host come to", () => {
    expect(thresholds(choices([seen({ pps: 3, mbps: 0.001, flows_per_sec: 1 })]).get("peak x 2"))).toMatchObject({
      pps: 100,
      mbps: 1,
      flows_per_sec: 50,
    });
  });

  test("leave all else of a hostgroup as it is, and a hostgroup that was not seen altogether", () => {
    const web = {
      name: "web",
      networks: ["203.0.113.0/28"],
      tenant: "acme",
      thresholds: { udp_pps: 50 },
      ban: { ttl_seconds: 60 },
    };
    const quiet = { name: "quiet", networks: ["203.0.113.64/28"], thresholds: { pps: 5 } };
    const file = { ...FILE, hostgroups: [web, quiet] };
    const all = choices(
      [seen({ ...TRIO, icmp_pps: 100 }), seen({ ...TRIO, pps: 4000, icmp_pps: 3900 }, { group: 1 })],
      file,
    );
    const { sections } = all.get("peak x 2") as Choice;
    expect(JSON.parse(JSON.stringify(sections["hostgroups"]))).toEqual([
      // icmp_pps: would otherwise inherit 200, and normal traffic would be an attack. udp_pps: not seen.
      { ...web, thresholds: { pps: 8000, mbps: 40, flows_per_sec: 600, icmp_pps: 7800, udp_pps: 50, frag_pps: 77 } },
      quiet,
    ]);
  });

  test("are for what hosts send only where that is judged", () => {
    const rates = [seen(TRIO), seen({ ...TRIO, pps: 50_000 }, { direction: "outgoing" as "incoming" })];
    expect(choices(rates).get("peak x 2")?.sections).not.toHaveProperty("thresholds_outgoing");
    const file = { ...FILE, thresholds_outgoing: { pps: 5 } };
    expect(choices(rates, file).get("peak x 2")?.sections["thresholds_outgoing"]).toEqual({
      pps: 100_000,
      mbps: 40,
      flows_per_sec: 600,
    });
  });

  test("of baselines have a floor that few windows reach, and what was configured but for the factor", () => {
    const file = {
      ...FILE,
      baseline: { factor: 7, half_life_seconds: 60, floor: { pps: 1, mbps: 1, flows_per_sec: 1 } },
    };
    const { sections, factor } = choices([seen(TRIO)], file).get("peak x 2, baseline x 3") as Choice;
    expect(factor).toBe(3);
    expect(sections["baseline"]).toMatchObject({ factor: 3, half_life_seconds: 60, warmup_seconds: 600 });
    const { floor } = sections["baseline"] as { floor: { pps: number } };
    expect(floor.pps).toBeWithin(100, 111);
    const groups = [
      { name: "on", networks: ["203.0.113.0/28"], baseline: { factor: 9, warmup_seconds: 30 } },
      { name: "off", networks: ["203.0.113.64/28"], baseline: { enabled: false } },
    ];
    const all = choices([seen(TRIO), seen(TRIO, { group: 1 }), seen(TRIO, { group: 2 })], {
      ...file,
      hostgroups: groups,
    });
    const [on, off] = (all.get("peak x 2, baseline x 3") as Choice).sections["hostgroups"] as Sections[];
    expect(on?.["baseline"]).toMatchObject({ warmup_seconds: 30, floor: { mbps: expect.any(Number) } });
    expect(on?.["baseline"]).not.toHaveProperty("factor");
    expect(off?.["baseline"]).toEqual({ enabled: false });
  });
});

test.each([
  [1, 1],
  [1.01, 1.1],
  [99.1, 100],
  [104, 110],
  [110, 110],
  [123_456, 130_000],
  [0.3, 0.3],
  [0.151, 0.16],
])("%d is rounded up to %d, two digits", (value, rounded) => {
  expect(roundedUp(value)).toBe(rounded);
});
