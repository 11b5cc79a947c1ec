import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { attackReport, seriesCsv } from "./attack-report.ts";

const NOW = Date.parse("2026-03-01T12:05:00.000Z");
const attack = {
  ...{ id: "a1", scope: "host", target: "203.0.113.7", group: "acme-web", tenant: "acme", direction: "incoming" },
  classification: {
    ...{ type: "mixed", confidence: 0.9 },
    parts: [
      { type: "dns_amplification", share: 0.8 },
      { type: "syn_flood", share: 0.2 },
    ],
  },
  started_at: "2026-03-01T12:00:00.200Z",
  ended_at: "2026-03-01T12:01:00.000Z",
  volume: {
    ...{ began_at: "2026-03-01T11:59:59.900Z", duration_seconds: 12.4, packets: 1000, bits: 8e6 },
    ...{ peak_pps: 5000, peak_mbps: 40, peak_over_ms: 100, mean_pps: 2500, mean_mbps: 20 },
    ...{ dropped_packets: 400, dropped_bits: 3e6, passed_packets: 600, passed_bits: 5e6, dropped_by: { rules: 400 } },
  },
} as unknown as AttackWire;

test("a report has all that a ticket asks for, with times in UTC", () => {
  const text = attackReport({
    attack,
    timeline: [
      { at: "2026-03-01T12:00:00.200Z", kind: "detected", text: "pps above 1000" },
      {
        at: "2026-03-01T12:00:00.214Z",
        kind: "announced",
        neighbor: "192.0.2.251",
        text: "203.0.113.7/32 next-hop 192.0.2.1",
      },
      { at: "2026-03-01T12:00:05.000Z", kind: "rules_changed", text: "r" },
      { at: "2026-03-01T12:00:06.000Z", kind: "rules_changed", text: "r" },
    ],
    sources: {
      total_packets: 200,
      top_sources: [{ key: "8.8.8.1", packets: 90, bytes: 9, asn: 64500, as_name: "Example", country: "DE" }],
    },
    nowMs: NOW,
    localTime: null,
  });
  expect(text).toBe(`DDoS attack on 203.0.113.7

Customer:       acme (hostgroup acme-web)
Direction:      incoming
Kind:           Mixed: DNS amplification 80 %, SYN flood 20 %
Began:          2026-03-01 11:59:59.900 UTC
Detected:       2026-03-01 12:00:00.200 UTC
Ended:          2026-03-01 12:01:00.000 UTC
Flood lasted:   12.4 s
Peak:           40.0 Mbit/s, 5.00 kpps (over 100 ms)
Mean:           20.0 Mbit/s, 2.50 kpps
Total:          1.00 k packets, 1.00 MB
Passed here:    600 packets, 625 kB (60 %); what routers drop is not known here

What was done:
  2026-03-01 12:00:00.200 UTC  Detected: packets above 1.00 kpps
  2026-03-01 12:00:00.214 UTC  Announced to 192.0.2.251: 203.0.113.7 to next hop 192.0.2.1
  2026-03-01 12:00:05.000 UTC  Rules changed, 2 times, until 2026-03-01 12:00:06.000 UTC: r

Top sources, of 200 sampled packets (addresses may be forged):
    45 %  8.8.8.1  AS64500  Example  DE

Attack a1, reported by Floodwall.
`);
});

test("of sampled traffic the peak, the mean and the total have their error", () => {
  const sampled = { ...attack, volume: { ...attack.volume, peak_sampling_error: 0.12 } } as AttackWire;
  const text = attackReport({ attack: sampled, timeline: [], sources: null, nowMs: NOW, localTime: null });
  for (const part of [
    "Peak:           40.0 Mbit/s, 5.00 kpps ± 12 % (over 100 ms)",
    "Mean:           20.0 Mbit/s, 2.50 kpps (± 12 % at most)",
    "Total:          1.00 k packets, 1.00 MB (± 12 % at most)",
  ]) {
    expect(text).toContain(`${part}\n`);
  }
});

test("a report says what is not known, and as of when an attack goes on", () => {
  const { ended_at: _, volume: __, classification: ___, ...rest } = attack;
  const text = attackReport({
    attack: rest,
    timeline: [],
    sources: null,
    nowMs: NOW,
    localTime: (ms) => `${new Date(ms).getUTCHours() - 5}:00 EST`,
  });
  for (const part of [
    "Kind:           not known",
    "Ended:          not yet, as of 2026-03-01 12:05:00.000 UTC",
    "Detected:       2026-03-01 12:00:00.200 UTC (7:00 EST)",
    "Size:           not known",
    "  nothing is known",
    "Top sources: not known",
  ]) {
    expect(text).toContain(`${part}\n`);
  }
});

test("the traffic as CSV has the names of the API, and nothing where nothing is known", () => {
  const point = { at: "2026-03-01T12:00:00.000Z", seconds: 0.1, rate: 5, rate_max: 6, pps: 5, pps_max: 6 };
  const points = [
    { ...point, mbps: 1, mbps_max: 2, max_sampling_error: 0.25 },
    { ...point, mbps: 1, mbps_max: 2, dropped_pps: 4, dropped_mbps: 0.5, passed_pps: 1, passed_mbps: 0.5 },
  ];
  const linesFrom = (began: string) =>
    seriesCsv(
      { points },
      { ...attack, started_at: began, volume: { ...attack.volume, began_at: began } as never },
    ).split("\r\n");
  const lines = linesFrom(point.at);
  expect(lines).toEqual([
    "at,seconds,rate,rate_max,pps,pps_max,mbps,mbps_max,max_sampling_error,dropped_pps,dropped_mbps,passed_pps,passed_mbps",
    "2026-03-01T12:00:00.000Z,0.1,5,6,5,6,1,2,0.25,,,,",
    "2026-03-01T12:00:00.000Z,0.1,5,6,5,6,1,2,,4,0.5,1,0.5",
    "",
  ]);
  // A service that was started amid the attack has no points of before.
  expect(linesFrom("2026-03-01T11:59:50.000Z")[1]).toBe("2026-03-01T11:59:50.000Z,10,,,,,,,,,,,");
});
