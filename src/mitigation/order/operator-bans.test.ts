/** Ends of bans that another brain took: which bans they end here. */
import { expect, test } from "bun:test";
import { attackOn, banBy, harness, started, victim } from "../../../test/fixtures/mitigation/ban-engine.ts";

const HOUR_MS = 3_600_000;
const by = { operator: "ann", reason: "" };
const PREFIX = `${victim}/32`;
const T0 = 10 * HOUR_MS;

test("an end ends an ordered ban, also after the clock was set back since it began", async () => {
  const { engine } = harness();
  await banBy(engine, victim, T0);
  engine.clockStepped(-HOUR_MS, T0 - HOUR_MS);
  engine.operators.endAdopted(PREFIX, { by, atMs: T0 + 2000 - HOUR_MS }, T0 + 2000 - HOUR_MS);
  expect(engine.active.size).toBe(0);
});

test.each([
  ["that began before it, though the clock was set back since", -HOUR_MS, 2000, 0],
  ["that began before it", 0, 2000, 0],
  ["and not one that began after it", 0, -1, 1],
])("it ends a ban of an attack %s", (_, byMs, endedAfterMs, left) => {
  const { engine } = harness();
  engine.attacksChanged([started(attackOn(victim))], T0);
  expect(engine.active.size).toBe(1);
  if (byMs !== 0) engine.clockStepped(byMs, T0 + byMs);
  engine.operators.endAdopted(PREFIX, { by, atMs: T0 + byMs + endedAfterMs }, T0 + byMs + 3000);
  expect(engine.active.size).toBe(left);
});
