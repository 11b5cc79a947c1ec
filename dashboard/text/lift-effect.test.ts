import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { banWire as ban } from "../../test/fixtures/ban-wire.ts";
import { liftEffect, numberToType } from "./lift-effect.ts";

const attack = (target: string, pps = 6000) => ({ target, rates: { pps, mbps: pps / 500 } }) as AttackWire;
const other = ban({ target: "192.0.2.2", prefix: "192.0.2.2/32" });

test("the end of a ban says what will hit its victim", () => {
  expect(liftEffect([ban()], [attack("192.0.2.1")])).toBe(
    "It is attacked now: 6.00 kpps, 12.0 Mbit/s will reach 192.0.2.1.",
  );
  expect(liftEffect([ban()], [attack("192.0.2.9")])).toBeNull();
});

test("the end of several says how many are attacked, and the sum", () => {
  expect(liftEffect([ban(), other], [attack("192.0.2.2", 1000), attack("192.0.2.2", 500)])).toBe(
    "1 of these 2 is attacked now: 1.50 kpps, 3.00 Mbit/s will reach them.",
  );
});

test("an attack on a prefix hits the ban of the prefix", () => {
  const { target: _, ...spread } = attack("");
  const whole = ban({ target: "192.0.2.0", prefix: "192.0.2.0/24" });
  expect(liftEffect([whole], [{ ...spread, prefix: "192.0.2.0/24" }])).toContain("will reach 192.0.2.0/24");
});

test("the end of a prefix's ban says what will hit the hosts in it, each packet once", () => {
  const whole = ban({ target: "192.0.2.0", prefix: "192.0.2.0/24" });
  const six = ban({ target: "2001:db8::", prefix: "2001:db8::/47" });
  const { target: _, ...spread } = attack("", 9000);
  const inside = [attack("192.0.2.7", 1000), attack("192.0.2.255", 500)];
  expect(liftEffect([whole], [...inside, attack("192.0.3.1")])).toBe(
    "It is attacked now: 1.50 kpps, 3.00 Mbit/s will reach 192.0.2.0/24.",
  );
  expect(liftEffect([six], [attack("2001:db8:1::7", 1000), attack("2001:db8:2::7"), attack("192.0.2.7")])).toBe(
    "It is attacked now: 1.00 kpps, 2.00 Mbit/s will reach 2001:db8::/47.",
  );
  expect(liftEffect([whole, ban({ prefix: "192.0.2.7/32" })], inside)).toBe(
    "2 of these 2 are attacked now: 1.50 kpps, 3.00 Mbit/s will reach them.",
  );
  expect(liftEffect([whole], [...inside, { ...spread, prefix: "192.0.2.0/25" }])).toContain(": 9.50 kpps, ");
  expect(numberToType([whole, other], [attack("192.0.2.2")])).toBe(2);
  // A host with a ban of its own stays as it is.
  expect(liftEffect([whole], [{ ...attack("192.0.2.7"), ban_state: "active", dry_run: false }])).toBeNull();
  expect(liftEffect([whole], [{ ...attack("192.0.2.7"), ban_state: "active", dry_run: true }])).not.toBeNull();
});

test("what a host sends reaches no victim of a ban", () => {
  expect(liftEffect([ban()], [{ ...attack("192.0.2.1"), direction: "outgoing" }])).toBeNull();
});

test("the number of those that are attacked now must be typed where it is more than one", () => {
  expect(numberToType([ban(), other], [attack("192.0.2.1"), attack("192.0.2.2")])).toBe(2);
  expect(numberToType([ban(), other], [attack("192.0.2.2"), attack("192.0.2.2")])).toBeNull();
  expect(numberToType([ban(), other], [attack("192.0.2.9")])).toBeNull();
});
