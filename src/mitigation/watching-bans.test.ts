/** Bans on rungs that only watch, in the ban engine. */
import { expect, test } from "bun:test";
import { address, thresholds } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  harness,
  lasts,
  spreadOver,
  spreadTerms,
  started,
  under,
} from "../../test/fixtures/mitigation/ban-engine.ts";

const ladder = [
  { afterSeconds: 0, action: "none" as const },
  { afterSeconds: 10, action: "blackhole" as const },
  { afterSeconds: 60, action: "none" as const },
];
const on = (last: number, pps: number) => ({
  ...attackOn(address(`192.0.2.${last}`), `a${last}`),
  rates: thresholds({ pps }),
});

test("take no place of the cap until they act, when a larger attack takes the place of a smaller one #ban-watching-rung", () => {
  const { engine, announcer } = harness({ ...under({ ladder }), maxActiveBans: 1 });
  const attacks = [on(1, 5000), on(2, 9000), on(3, 4000)];
  engine.attacksChanged(attacks.map(started), 0);
  expect([engine.active.size, announcer.wanted]).toEqual([3, []]);
  engine.tick(10_000);
  expect([engine.active.size, announcer.wanted.length]).toEqual([3, 1]);
  engine.tick(11_000);
  expect(announcer.wanted).toEqual(["192.0.2.2/32"]);
});

test("watch again on a later rung, but for bans of operators, which go on acting", async () => {
  const { engine, announcer } = harness(under({ ladder }));
  engine.attacksChanged([started(on(1, 5000))], 0);
  await banBy(engine, address("192.0.2.9"), 0);
  expect(announcer.wanted).toEqual(["192.0.2.9/32"]);
  engine.tick(10_000);
  expect(announcer.wanted).toEqual(["192.0.2.1/32", "192.0.2.9/32"]);
  engine.tick(60_000);
  expect(announcer.wanted).toEqual(["192.0.2.9/32"]);
  expect(engine.active.get("192.0.2.1/32")).toMatchObject({ step: 2, method: "blackhole", measure: { kind: "none" } });
});

test("that take the place of a ban end it for good, though it was to change in the same second", () => {
  const { engine } = harness({ ...under({ ladder }), maxActiveBans: 1, spread: spreadTerms("blackhole") });
  const spread = (prefix: string) => ({ ...spreadOver(prefix), rates: thresholds({ pps: 1000 }) });
  engine.attacksChanged([started(spread("192.0.2.128/30"))], 0);
  engine.tick(10_000);
  engine.attacksChanged([started(on(2, 9e9))], 50_000);
  engine.attacksChanged([lasts(spread("192.0.2.128/29"))], 55_000);
  expect([...engine.active.keys()]).toEqual(["192.0.2.2/32", "192.0.2.128/29"]);
  engine.tick(60_000);
  expect([...engine.active.keys()]).toEqual(["192.0.2.2/32"]);
});
