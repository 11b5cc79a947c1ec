import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { LIMITER_INTERVAL_MS, LIMITER_KEYS_MAX, Limiter } from "./limiter.ts";

function limited() {
  const clock = new ManualClock();
  const limiter = new Limiter(clock);
  const said: string[] = [];
  const warn = (key: string) => limiter.pass(key, (suppressed) => said.push(`${key} +${suppressed}`));
  return { clock, said, warn };
}

describe("the limiter", () => {
  test("logs the first at once, and a minute later the number of suppressed ones", () => {
    const { clock, said, warn } = limited();
    for (let i = 0; i < 5; i++) warn("a");
    clock.advance(LIMITER_INTERVAL_MS - 1);
    warn("a");
    expect(said).toEqual(["a +0"]);
    clock.advance(1);
    warn("a");
    warn("a");
    expect(said).toEqual(["a +0", "a +5"]);
  });

  test("keeps keys apart", () => {
    const { said, warn } = limited();
    warn("a");
    warn("b");
    warn("a");
    expect(said).toEqual(["a +0", "b +0"]);
  });

  test("goes by the monotonic clock", () => {
    const { clock, said, warn } = limited();
    warn("a");
    clock.setWall("2040-01-01T00:00:00Z");
    warn("a");
    expect(said).toHaveLength(1);
  });

  test("gives keys beyond its bound one place together, and room again when a minute is over", () => {
    const { clock, said, warn } = limited();
    for (let i = 0; i < LIMITER_KEYS_MAX; i++) warn(`key ${i}`);
    expect(said).toHaveLength(LIMITER_KEYS_MAX);
    said.length = 0;
    for (let i = 0; i < 100; i++) warn(`late ${i}`);
    expect(said).toEqual(["late 0 +0"]);
    clock.advance(LIMITER_INTERVAL_MS);
    warn("late 1");
    warn("late 2");
    expect(said).toEqual(["late 0 +0", "late 1 +0", "late 2 +0"]);
  });
});
