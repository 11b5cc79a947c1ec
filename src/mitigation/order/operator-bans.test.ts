/** Ends of bans that another brain took: which bans they end here. */
import { expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { attackOn, banBy, harness, started, victim } from "../../../test/fixtures/mitigation/ban-engine.ts";

import { ADMINISTRATOR } from "../../access/shares.ts";
import { type BanOrder, plainOrder } from "./ban-order.ts";

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

test("of orders that are more than a cap allows together the last are refused, and nothing is changed #many-bans-all-or-none", async () => {
  const { engine } = harness({ maxActiveBans: 2 });
  await banBy(engine, victim, T0);
  const before = [...engine.active.values()];
  const orders = ["192.0.2.51", "192.0.2.52", victim].map((target) => plainOrder(address(target)));
  const made = (ended: readonly (typeof victim)[] = []) =>
    engine.operators.previewAll({ orders, ended }, T0, ADMINISTRATOR).map(({ state, reason }) => reason ?? state);
  for (let i = 0; i < 2; i++) expect(made()).toEqual(["active", "max_active_bans reached", "active"]);
  expect(made([victim])).toEqual(["active", "active", "max_active_bans reached"]);
  expect([...engine.active.values()]).toEqual(before);
  expect(engine.preview(orders[1] as BanOrder, T0).state).toBe("active");
});
