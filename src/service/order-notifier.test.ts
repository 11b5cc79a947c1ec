import { expect, test } from "bun:test";
import { foreign, NOON, RegisterBrain } from "../../test/fixtures/cluster/register-brain.ts";
import type { OrderRegister } from "../cluster/order-register.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import type { OrderedChange } from "./order-changes.ts";
import { isNotifiedHere } from "./order-notifier.ts";

const ended = (target: string, end: string): OrderedChange => ({
  ...{ turn: "ended", type: "lever", target, operator: "", reason: "", by: null, end, isReasonOfOrder: true },
  expiresAt: NOON,
  about: { tenant: null, group: null },
});

/** The brain a, whose callers ordered `mine`; those of the brain c ordered `x`. */
async function brain({ isUp = true, holds = true } = {}) {
  const one = new RegisterBrain("a");
  one.place("mine", "own");
  await one.takes([foreign()]);
  const state = { isUp, sinceMs: 0, receivedMs: null, skewMs: 0, version: null, sections: null, problem: null };
  const peers = { own: "a", states: () => [{ ...state, name: "c" }] };
  return { register: one.register, peers, lease: { holds: () => holds } };
}

test("an order whose time is over is notified by the brain that took it", async () => {
  const one = await brain();
  const here = ["mine", "x"].map((target) => isNotifiedHere(ended(target, "expired"), one));
  expect(here).toEqual([true, false]);
});

test("so is a ban by hand, which is named by its address and kept by its prefix", async () => {
  const of = { ...ended("192.0.2.7", "ttl expired"), type: "ban", about: canonicalPrefix("192.0.2.7/32") } as const;
  const asked: string[] = [];
  const stampOf: OrderRegister["stampOf"] = (table, key) => {
    asked.push(`${table} ${key}`);
    return { ms: 0, brain: "c" };
  };
  const one = { ...(await brain()), register: { isAdopting: false, stampOf } };
  const here = [of, { ...of, end: "taken over by an attack" }].map((change) => isNotifiedHere(change, one));
  expect([here, asked[0]]).toEqual([[false, false], "bans 192.0.2.7/32"]);
});

test.each([true, false])("while that brain is out of reach, by the holder of the lease: %p", async (holds) => {
  expect(isNotifiedHere(ended("x", "expired"), await brain({ isUp: false, holds }))).toBe(holds);
});

test("what a caller changed here, or the configuration of this brain ended, is notified here", async () => {
  const one = await brain();
  for (const end of ["cleared", "outside_networks"]) expect(isNotifiedHere(ended("x", end), one)).toBe(true);
  expect(isNotifiedHere({ ...ended("x", ""), turn: "changed" }, one)).toBe(true);
});
