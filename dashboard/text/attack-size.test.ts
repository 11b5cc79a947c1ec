import { expect, test } from "bun:test";
import { causesText, missedText, passedMark, secondsText, volumeFacts } from "./attack-size.ts";

const NOW = Date.parse("2026-03-01T13:00:00Z");
const VOLUME = {
  began_at: "2026-03-01T11:59:59.900Z",
  duration_seconds: 12.43,
  packets: 2_601_544,
  bits: 29_163_308_240,
  peak_pps: 221_050,
  peak_mbps: 2478,
  peak_over_ms: 100,
  mean_pps: 209_801,
  mean_mbps: 2351.88,
};

test("what was dropped is named by cause, with the share of all packets", () => {
  const by = { source_blocks: 1_300_772, filter_rules: 26_015 };
  expect(causesText({ ...VOLUME, dropped_by: by })).toBe("filter rules 1.0 %, source blocks 50 %");
  expect(causesText({ ...VOLUME, dropped_by: {} })).toBeNull();
  expect(causesText(VOLUME)).toBeNull();
});

test("an attack has peak, mean, total and length, and what was dropped of it where that is known", () => {
  const facts = [
    ["Peak", "221 kpps, 2.48 Gbit/s (over 100 ms)"],
    ["Mean", "210 kpps, 2.35 Gbit/s"],
    ["Total", "2.60 M packets, 3.65 GB"],
    ["Flood lasted", "12.4 s"],
  ] as const;
  const unknown = volumeFacts(VOLUME, NOW);
  expect(volumeFacts({ ...VOLUME, peak_over_ms: 6400, peak_sampling_error: 0.09 }, NOW)[0]?.[1]).toBe(
    "221 kpps, 2.48 Gbit/s ± 9.0 % (over 6400 ms)",
  );
  expect(unknown.slice(0, -1)).toEqual([...facts]);
  expect(unknown.at(-1)?.join(" ")).toStartWith("Passed here not known: ");
  const dropped = {
    dropped_packets: 2_500_000,
    dropped_bits: 28e9,
    passed_packets: 101_544,
    passed_bits: 1_163_308_240,
    dropped_by: {},
  };
  expect(volumeFacts({ ...VOLUME, ...dropped }, NOW)).toEqual([
    ...facts,
    ["Dropped here", "2.50 M packets, 3.50 GB (96 %)"],
    ["Passed here", "102 k packets, 145 MB (3.9 %); what routers drop is not known here"],
  ]);
});

test("where only the drops of its ban's rules are known, what passed is a bound, and no more is said to be known", () => {
  const dropped = { dropped_packets: 0, dropped_bits: 0, passed_packets: 2_601_544, passed_bits: 29_163_308_240 };
  expect(volumeFacts({ ...VOLUME, ...dropped }, NOW).slice(-3)).toEqual([
    ["Dropped here", "0 packets, 0 B (0 %)"],
    ["Dropped by", "rules of its ban; what other causes dropped is not known of it"],
    ["Passed here", "2.60 M packets, 3.65 GB (100 %) at most; what other causes or routers dropped is not known of it"],
  ]);
});

test("of an attack on several hosts it is not said what became of it here", () => {
  expect(volumeFacts(VOLUME, NOW, "group").at(-1)?.[1]).toStartWith("not known: of an attack on several hosts");
});

test("of sampled traffic what passed is an estimate, and no bound", () => {
  const dropped = {
    dropped_packets: 601_544,
    dropped_bits: 1e9,
    passed_packets: 2e6,
    passed_bits: 28e9,
    peak_sampling_error: 0.12,
  };
  const sampled = { ...VOLUME, ...dropped, dropped_by: { rules: 601_544 } };
  expect(volumeFacts(sampled, NOW).slice(-3)).toEqual([
    ["Dropped here", "602 k packets, 125 MB (≈ 23 %)"],
    ["Dropped by", "rules of bans and protections ≈ 23 %"],
    [
      "Passed here",
      "≈ 2.00 M packets, 3.50 GB (≈ 77 %), not known exactly: the estimated total less what was dropped here",
    ],
  ]);
  expect(volumeFacts({ ...VOLUME, ...dropped }, NOW).at(-1)?.[1]).toStartWith(
    "≈ 2.00 M packets, 3.50 GB (≈ 77 %) at most; ",
  );
  const { peak_sampling_error: _, ...counted } = sampled;
  const volumes = [counted, sampled, { ...VOLUME, ...dropped }];
  expect(volumes.map(passedMark)).toEqual(["", "≈ ", "≤ ≈ "]);
});

test("mean and total of sampled traffic have an error as well, which is no larger than that of the peak", () => {
  expect(volumeFacts({ ...VOLUME, peak_sampling_error: 0.12 }, NOW).slice(1, 3)).toEqual([
    ["Mean", "210 kpps, 2.35 Gbit/s (± 12 % at most)"],
    ["Total", "2.60 M packets, 3.65 GB (± 12 % at most)"],
  ]);
});

test("says when nothing was counted", () => {
  const missed = { not_counted: [{ from: "2026-03-01T12:00:04.000Z", to: "2026-03-01T12:00:09.500Z" }] };
  expect(volumeFacts({ ...VOLUME, ...missed }, NOW).at(-1)?.[0]).toBe("Not counted");
  expect(missedText({ ...VOLUME, ...missed }, (ms) => `${ms % 60_000}`)).toBe(
    "not known from 4000 to 9500: Floodwall did not run",
  );
  expect(missedText(VOLUME, String)).toBeNull();
});

test("packets answered for a proof, and proofs that came back", () => {
  const asked = { ...VOLUME, challenged_packets: 812_000, validated_sources: 31 };
  expect(volumeFacts(asked, NOW).at(-1)).toEqual(["Challenged", "812 k packets; 31 sources proved real"]);
});

test.each([
  [0.24, "0.2 s"],
  [12, "12 s"],
  [95.4, "95 s"],
])("%d seconds are %s", (seconds, text) => {
  expect(secondsText(seconds)).toBe(text);
});
