import { beforeEach, describe, expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/bgp.ts";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import type { FilterRulePut } from "../../dataplane/kernel-filter.ts";
import { wideRule } from "../../mitigation/rule.ts";
import { Enforcement, type HeldBan, type LeftOut } from "./enforcement.ts";

const MAX_RULES = 8;

let clock: ManualClock;
let kernel: readonly FilterRulePut[];
let calls: number;
let isBroken: boolean;
let faults: unknown[];
let leftOut: LeftOut[];

beforeEach(() => {
  clock = new ManualClock();
  [kernel, calls, isBroken, faults, leftOut] = [[], 0, false, [], []];
});

function enforcement(dryRun = false): Enforcement {
  const setRules = (rules: readonly FilterRulePut[]) => {
    calls++;
    if (isBroken) throw new Error("no");
    kernel = rules;
  };
  return new Enforcement({
    filter: { setRules },
    clock,
    dryRun,
    maxRules: MAX_RULES,
    onFault: (cause) => faults.push(cause),
    onLeftOut: (what) => leftOut.push(what),
  });
}

function ban(target: string, { seconds = 60, rules = 1, isVirtual = false } = {}): HeldBan {
  const rule = wideRule(prefix(`${target}/32`), { kind: "discard" });
  const expiresAtMs = clock.monotonicMs() + seconds * 1000;
  return { target, isVirtual, expiresAtMs, rules: Array.from({ length: rules }, () => rule) };
}

const ids = () => kernel.map(({ id }) => id);

test("rules carry their ban's expiry to the kernel, by the wall clock of the moment", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1", { rules: 2 }), ban("10.0.0.2", { seconds: 90 })], '"a"');
  expect(ids()).toEqual(["10.0.0.1#0", "10.0.0.1#1", "10.0.0.2#0"]);
  expect(kernel.map(({ expiresAtMs }) => expiresAtMs - clock.wallMs())).toEqual([60_000, 60_000, 90_000]);
  expect(held.state).toEqual({ bans: 2, virtualBans: 0, rules: 3, leftOutRules: 0, etag: '"a"' });
});

test("a wall clock that is set moves no expiry", () => {
  const held = enforcement();
  const one = ban("10.0.0.1");
  held.want([one], '"a"');
  clock.setWall("2027-01-01T00:00:00Z");
  clock.advance(10_000);
  held.want([one, ban("10.0.0.2")], '"b"');
  expect(kernel.map(({ expiresAtMs }) => expiresAtMs - clock.wallMs())).toEqual([50_000, 60_000]);
});

test("a ban that is gone is removed at once", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1"), ban("10.0.0.2")], '"a"');
  held.want([ban("10.0.0.2")], '"b"');
  expect(ids()).toEqual(["10.0.0.2#0"]);
  held.want([], '"c"');
  expect(ids()).toEqual([]);
});

test("virtual bans are not enforced, nor is anything in dry run", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1", { isVirtual: true }), ban("10.0.0.2")], '"a"');
  expect(ids()).toEqual(["10.0.0.2#0"]);
  expect(held.state).toMatchObject({ bans: 1, virtualBans: 1, rules: 1 });
  const dry = enforcement(true);
  dry.want([ban("10.0.0.1"), ban("10.0.0.2")], '"a"');
  expect(ids()).toEqual([]);
  expect(dry.state).toMatchObject({ bans: 2, rules: 0, etag: '"a"' });
});

test("what was over before it came is left alone, what is over later makes room", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1", { seconds: 0 }), ban("10.0.0.2", { seconds: 5 }), ban("10.0.0.3")], '"a"');
  expect(ids()).toEqual(["10.0.0.2#0", "10.0.0.3#0"]);
  clock.advance(4999);
  held.tick();
  expect(calls).toBe(1);
  clock.advance(1);
  expect(held.state).toMatchObject({ bans: 1, rules: 1 });
  held.tick();
  expect(ids()).toEqual(["10.0.0.3#0"]);
});

test("a kernel that refuses is asked again until it takes them", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1")], '"a"');
  isBroken = true;
  held.want([ban("10.0.0.2")], '"b"');
  held.tick();
  expect([faults.length, ids(), held.state.etag]).toEqual([2, ["10.0.0.1#0"], '"a"']);
  isBroken = false;
  held.tick();
  expect([ids(), held.state.etag]).toEqual([["10.0.0.2#0"], '"b"']);
  held.tick();
  expect(calls).toBe(4);
});

describe("where there is no room for all", () => {
  test("as many as fit are taken", () => {
    const held = enforcement();
    held.want([ban("10.0.0.1", { rules: 4 }), ban("10.0.0.2", { rules: 4 })], '"a"');
    expect([kernel.length, leftOut]).toEqual([8, []]);
    held.want([ban("10.0.0.1", { rules: 4 }), ban("10.0.0.2", { rules: 5 }), ban("10.0.0.3")], '"b"');
    expect(ids()).toEqual([0, 1, 2, 3].map((i) => `10.0.0.1#${i}`).concat("10.0.0.3#0"));
    expect(leftOut).toEqual([{ bans: 1, rules: 5 }]);
    expect(held.state).toMatchObject({ rules: 5, leftOutRules: 5 });
  });

  test("those in force go first, and those left out come in when there is room", () => {
    const held = enforcement();
    const old = ban("10.0.0.9", { rules: 6, seconds: 30 });
    held.want([old], '"a"');
    held.want([ban("10.0.0.1", { rules: 6 }), old], '"b"');
    expect(new Set(ids().map((id) => id.split("#")[0]))).toEqual(new Set(["10.0.0.9"]));
    clock.advance(30_000);
    held.tick();
    expect(new Set(ids().map((id) => id.split("#")[0]))).toEqual(new Set(["10.0.0.1"]));
    expect(held.state.leftOutRules).toBe(0);
  });
});

test("before anything is wanted the kernel is left as it is", () => {
  const held = enforcement();
  held.tick();
  expect(calls).toBe(0);
  held.clear();
  expect(calls).toBe(1);
});
