import { expect, test } from "bun:test";
import { volumeText } from "./volume-text.ts";

const VOLUME = {
  ...{ beganAt: 0, durationMs: 2000, packets: 4000, bits: 32_000_000, peakPps: 2500, peakBps: 20e6, peakOverMs: 100 },
  dropped: { packets: 900, bits: 7e6 },
};

test("a volume in a text names what was dropped, and for how long nothing was counted", () => {
  expect(volumeText(VOLUME)).toBe(
    "peak 2,500 packets/s, 20 Mbit/s; 4,000 packets, 32 Mbit in 2.0 s, dropped 900 packets",
  );
  const notCounted = [
    { fromMs: 500, toMs: 1000 },
    { fromMs: 1500, toMs: 1750 },
  ];
  expect(volumeText({ ...VOLUME, dropped: null, notCounted })).toEndWith("in 2.0 s; not counted for 0.8 s");
});
