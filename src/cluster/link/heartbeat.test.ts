/** How far the clocks of two brains are apart, by what heartbeats say. */
import { describe, expect, test } from "bun:test";
import { type Heartbeat, SkewMeter } from "./heartbeat.ts";

const NOW = { wallMs: 10, monotonicMs: 10 };

/** The peer's clock is `aheadMs` ahead; a heartbeat takes `outMs` there and `backMs` back. */
function exchange(meter: SkewMeter, aheadMs: number, { outMs = 5, backMs = 5, atMs = 0 } = {}): void {
  const heartbeat: Heartbeat = {
    ...{ version: "1", sections: {}, monotonic_ms: 0, wall_ms: atMs + outMs + aheadMs },
    echo: { monotonic_ms: atMs, held_ms: 0 },
  };
  meter.take(heartbeat, { wallMs: atMs + outMs + backMs, monotonicMs: atMs + outMs + backMs });
}

describe("the clock of a peer", () => {
  test("is not known before an answer", () => {
    const meter = new SkewMeter();
    meter.take(
      { version: "1", sections: {}, monotonic_ms: 0, wall_ms: 0, echo: null },
      { wallMs: 500, monotonicMs: 500 },
    );
    expect(meter.skewMs(NOW)).toBeNull();
  });

  test("is believed of the quickest exchange: a delay one way is no difference of clocks", () => {
    const meter = new SkewMeter();
    exchange(meter, 0);
    exchange(meter, 0, { backMs: 3000 });
    expect(meter.skewMs(NOW)).toBe(0);
  });

  test("is known at once after the own one was set", () => {
    const meter = new SkewMeter();
    exchange(meter, 0);
    expect(meter.skewMs({ wallMs: 3_600_010, monotonicMs: 10 })).toBe(-3_600_000);
  });

  test("that was set is known with the next exchange, though that took longer", () => {
    const meter = new SkewMeter();
    for (let i = 0; i < 8; i++) exchange(meter, 0);
    exchange(meter, 3_600_000, { outMs: 20, backMs: 20 });
    expect(meter.skewMs(NOW)).toBe(3_600_000);
  });
});
