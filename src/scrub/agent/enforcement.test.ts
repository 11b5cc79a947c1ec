import { beforeEach, describe, expect, test } from "bun:test";
import { requireGoodIds } from "../../../test/fixtures/dataplane/rule-ids.ts";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { buildScrub } from "../../config/sections/scrub.ts";
import type { FilterRuleRow, OperatorRulesPut } from "../../dataplane/kernel-filter.ts";
import type { OperatorRule } from "../../mitigation/operator/operator-rule.ts";
import type { KernelRule } from "../../mitigation/rules/kernel-rule.ts";
import { ANY_MATCH } from "../../mitigation/rules/match.ts";
import { leftOutInAll } from "../../mitigation/rules/room-limit.ts";
import { wideRule } from "../../mitigation/rules/rule.ts";
import { FILTER_RULES_PER_DESTINATION_MAX } from "../../native/constants.ts";
import { Enforcement, type HeldBan } from "./enforcement.ts";

const MAX_RULES = 8;

let clock: ManualClock;
let kernel: readonly KernelRule[];
let calls: number;
let isBroken: boolean;
let faults: unknown[];
let leftOut: number[];
let local: OperatorRule[];
let localLists: OperatorRulesPut["destinations"];
let rows: FilterRuleRow[];
let sets: string[];

beforeEach(() => {
  clock = new ManualClock();
  [kernel, calls, isBroken, faults, leftOut] = [[], 0, false, [], []];
  [local, localLists, rows, sets] = [[], [], [], []];
});

function enforcement(dryRun = false, maxRules = MAX_RULES): Enforcement {
  const setRules = (rules: readonly KernelRule[], operators?: OperatorRulesPut) => {
    calls++;
    if (isBroken) throw new Error("no");
    requireGoodIds([...rules, ...(operators?.rules ?? [])]);
    [kernel, localLists] = [rules, operators?.destinations ?? []];
  };
  return new Enforcement({
    filter: { setRules, readRules: () => rows },
    clock,
    dryRun,
    maxRules,
    local: {
      rules: local,
      networks: [prefix("10.0.0.0/24")],
      bitOf: (name) => (sets.includes(name) ? 1 : null),
    },
    onLocalLeftOut: (destinations) => leftOut.push(-destinations),
    onFault: (cause) => faults.push(cause),
    onLeftOut: (rules) => leftOut.push(leftOutInAll(rules)),
  });
}

/** Rules with different source ports, counted from 0. */
function ban(target: string, { seconds = 60, rules = 1, isVirtual = false } = {}): HeldBan {
  const victim = prefix(`${target}/32`);
  const expiresAtMs = clock.monotonicMs() + seconds * 1000;
  const rule = (port: number) => ({
    ...wideRule(victim, { kind: "discard" }),
    sourcePorts: [{ from: port, to: port }],
  });
  return {
    ...{ prefix: victim, isVirtual, expiresAtMs, filter: null },
    rules: Array.from({ length: rules }, (_, port) => rule(port)),
  };
}

/** By victim and source port. */
const names = () => kernel.map(({ rule }) => `${rule.destination?.address}#${rule.sourcePorts[0]?.from}`).toSorted();

test("rules carry their ban's expiry to the kernel, by the wall clock of the moment", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1", { rules: 2 }), ban("10.0.0.2", { seconds: 90 })], '"a"');
  expect(names()).toEqual(["10.0.0.1#0", "10.0.0.1#1", "10.0.0.2#0"]);
  expect(kernel.map(({ expiresAtMs }) => expiresAtMs - clock.wallMs())).toEqual([60_000, 60_000, 90_000]);
  expect(held.state).toEqual({
    ...{ bans: 2, virtualBans: 0, rules: 3, leftOutRules: 0, localLeftOut: 0 },
    ...{ withoutRoom: [], etag: '"a"' },
  });
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
  expect(names()).toEqual(["10.0.0.2#0"]);
  held.want([], '"c"');
  expect(names()).toEqual([]);
});

test("virtual bans are not enforced, nor is anything in dry run", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1", { isVirtual: true }), ban("10.0.0.2")], '"a"');
  expect(names()).toEqual(["10.0.0.2#0"]);
  expect(held.state).toMatchObject({ bans: 1, virtualBans: 1, rules: 1 });
  const dry = enforcement(true);
  dry.want([ban("10.0.0.1"), ban("10.0.0.2")], '"a"');
  expect(names()).toEqual([]);
  expect(dry.state).toMatchObject({ bans: 2, rules: 0, etag: '"a"' });
});

test("what was over before it came is left alone, what is over later makes room", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1", { seconds: 0 }), ban("10.0.0.2", { seconds: 5 }), ban("10.0.0.3")], '"a"');
  expect(names()).toEqual(["10.0.0.2#0", "10.0.0.3#0"]);
  clock.advance(4999);
  held.tick();
  expect(calls).toBe(1);
  clock.advance(1);
  expect(held.state).toMatchObject({ bans: 1, rules: 1 });
  held.tick();
  expect(names()).toEqual(["10.0.0.3#0"]);
});

test("a refused write is retried until the kernel accepts it", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1")], '"a"');
  isBroken = true;
  held.want([ban("10.0.0.2")], '"b"');
  held.tick();
  expect([faults.length, names(), held.state.etag]).toEqual([2, ["10.0.0.1#0"], '"a"']);
  isBroken = false;
  held.tick();
  expect([names(), held.state.etag]).toEqual([["10.0.0.2#0"], '"b"']);
  held.tick();
  expect(calls).toBe(4);
});

describe("where there is no room for all", () => {
  test("as many as fit are taken, those in force first", () => {
    const held = enforcement();
    held.want([ban("10.0.0.2", { rules: 6 })], '"a"');
    held.want([ban("10.0.0.1", { rules: 2 }), ban("10.0.0.2", { rules: 6 })], '"b"');
    expect([kernel.length, leftOut]).toEqual([MAX_RULES, []]);
    held.want([ban("10.0.0.0"), ban("10.0.0.1", { rules: 2 }), ban("10.0.0.2", { rules: 7 })], '"c"');
    expect(names().filter((name) => !/^10.0.0.2#[0-5]$/.test(name))).toEqual(["10.0.0.1#0", "10.0.0.1#1"]);
    expect(leftOut).toEqual([2]);
    expect(held.state).toMatchObject({ rules: 8, leftOutRules: 2 });
  });

  test("those left out come in when there is room", () => {
    const held = enforcement();
    held.want([ban("10.0.0.9", { rules: 6, seconds: 30 })], '"a"');
    held.want([ban("10.0.0.1", { rules: 6 }), ban("10.0.0.9", { rules: 6, seconds: 30 })], '"b"');
    expect(leftOut).toEqual([4]);
    clock.advance(30_000);
    held.tick();
    expect(names()).toEqual([0, 1, 2, 3, 4, 5].map((i) => `10.0.0.1#${i}`));
    expect(leftOut).toEqual([4, 0]);
  });

  test("for one destination no more than the kernel holds against a packet", () => {
    const wide = enforcement(false, 1000);
    wide.want([ban("10.0.0.1", { rules: FILTER_RULES_PER_DESTINATION_MAX }), ban("10.0.0.2")], '"a"');
    expect(leftOut).toEqual([]);
    wide.want([ban("10.0.0.1", { rules: FILTER_RULES_PER_DESTINATION_MAX + 1 }), ban("10.0.0.2")], '"b"');
    expect([kernel.length, leftOut]).toEqual([FILTER_RULES_PER_DESTINATION_MAX + 1, [1]]);
    const services = Array.from({ length: FILTER_RULES_PER_DESTINATION_MAX }, (_, i) => {
      const ports = [{ from: i, to: i }];
      return { protocol: 17, ports, sourcePorts: [] };
    });
    const whole = { ...ban("10.0.0.1"), filter: { ...FILTER, services } };
    wide.want([whole], '"c"');
    expect(wide.state.withoutRoom).toEqual([{ prefix: whole.prefix, limit: "one_destination" }]);
  });
});

test("a rule that stays keeps its name, wherever it stands; the same rule twice is one", () => {
  const held = enforcement();
  const { rules, ...one } = ban("10.0.0.1", { rules: 2 });
  held.want([{ ...one, rules }], '"a"');
  const before = new Set(kernel.map(({ id }) => id));
  held.want([{ ...one, rules: [...rules.toReversed(), ...rules] }], '"b"');
  expect(new Set(kernel.map(({ id }) => id))).toEqual(before);
  expect(kernel).toHaveLength(2);
  expect([...before].every((id) => id.length <= 63)).toBe(true);
});

test("names of IPv6 prefixes fit too", () => {
  const victim = prefix("2001:db8:1111:2222:3333:4444:5555:6666/128");
  const rule = { ...wideRule(victim, { kind: "discard" }) };
  enforcement().want([{ prefix: victim, isVirtual: false, expiresAtMs: 1000, rules: [rule], filter: null }], null);
  expect(kernel[0]?.id.length).toBeLessThanOrEqual(63);
});

test("before anything is wanted the kernel is left as it is", () => {
  const held = enforcement();
  held.tick();
  expect(calls).toBe(0);
  held.clear();
  expect(calls).toBe(1);
});

const FILTER = buildScrub(
  { source_packets_per_second: 0, services: [{ protocol: "tcp", ports: ["443"], source_ports: [] }] },
  [],
);
const actions = () => kernel.map(({ rule }) => rule.action.kind);

test("a filter is put into the kernel around the rules of its ban, in this order also when they change", () => {
  const held = enforcement();
  held.want([ban("10.0.0.1")], null);
  held.want([{ ...ban("10.0.0.1"), filter: FILTER }], null);
  expect(actions()).toEqual(["validate_transparent", "discard", "pass", "discard"]);
  held.want([{ ...ban("10.0.0.1"), filter: { ...FILTER, tcp: null, dns: true } }], null);
  expect(actions()).toEqual(["validate_reset", "validate_dns", "discard", "pass", "discard"]);
});

test("a filter that does not fit as a whole is left out: its last rule alone would drop everything", () => {
  const held = enforcement(false, 4);
  held.want([{ ...ban("10.0.0.1"), filter: FILTER }], null);
  expect(actions()).toHaveLength(4);
  const services = Array.from({ length: 3 }, (_, i) => ({
    protocol: 17,
    ports: [{ from: i, to: i }],
    sourcePorts: [],
  }));
  held.want([{ ...ban("10.0.0.1"), filter: { ...FILTER, services } }, ban("10.0.0.2")], null);
  expect(names()).toEqual(["10.0.0.2#0"]);
  expect(leftOut).toEqual([6]);
});

describe("rules of the node's operator", () => {
  /** By destination, how many rules it has. */
  const lists = () => Object.fromEntries(localLists.map((list) => [list.prefix.text, list.rules.length]));
  const row = (id: string, packets = 0): FilterRuleRow => ({
    ...{ id, expiresAtMs: 0, packets, bytes: 60 * packets, droppedPackets: packets, droppedBytes: 60 * packets },
    ...{ answeredPackets: 0, answeredBytes: 0, validated: 0 },
  });

  test("are in force beside the document's, and those for attacked addresses while these have a ban", () => {
    local = [operatorRule({ name: "always" }), operatorRule({ name: "then", when: "attacked" })];
    const held = enforcement();
    held.want([ban("10.0.0.1", { seconds: 5, rules: 0 }), ban("10.0.0.2", { isVirtual: true })], '"a"');
    expect(lists()).toEqual({ "10.0.0.0/24": 1, "10.0.0.1/32": 2 });
    expect(held.state.rules).toBe(0);
    const expiries = localLists.at(-1)?.rules.map(({ expiresAtMs }) => expiresAtMs - clock.wallMs());
    expect(expiries?.[0]).toBeGreaterThan(365 * 86_400_000);
    expect(expiries?.[1]).toBe(5000);
    clock.advance(4999);
    held.tick();
    expect(calls).toBe(1);
    clock.advance(1);
    held.tick();
    expect(lists()).toEqual({ "10.0.0.0/24": 1 });
    held.tick();
    expect(calls).toBe(2);
  });

  test("take the room of the document's, and are none in dry run", () => {
    local = [operatorRule({ name: "a" }), operatorRule({ name: "b" })];
    enforcement().want([ban("10.0.0.1", { rules: MAX_RULES })], '"a"');
    expect([kernel.length, leftOut]).toEqual([MAX_RULES - 2, [2]]);
    enforcement(true).want([ban("10.0.0.1")], '"a"');
    expect(localLists).toEqual([]);
  });

  test("begin without a document, in the place of those of before, unless there are rules of bans", () => {
    const held = enforcement();
    expect([held.begin(), calls]).toEqual([true, 0]);
    rows = [row("operator/1")];
    expect([held.begin(), calls]).toEqual([true, 1]);
    local = [operatorRule()];
    const next = enforcement();
    expect(next.begin()).toBe(true);
    expect(lists()).toEqual({ "10.0.0.0/24": 1 });
    rows = [row("operator/1"), row("10.0.0.1/32 x")];
    expect([enforcement().begin(), calls]).toEqual([false, 2]);
    local = [];
    expect([enforcement().begin(), calls]).toEqual([true, 2]);
  });

  test("wait for their sets, and hold up no others", () => {
    local = [operatorRule({ name: "waits", match: { ...ANY_MATCH, inSets: ["drop"] } }), operatorRule()];
    const held = enforcement();
    held.setsChanged();
    expect(calls).toBe(0);
    held.want([], null);
    expect(lists()).toEqual({ "10.0.0.0/24": 1 });
    sets = ["drop"];
    held.setsChanged();
    expect(lists()).toEqual({ "10.0.0.0/24": 2 });
  });

  test("are counted by name", () => {
    local = [operatorRule({ name: "a" })];
    const held = enforcement();
    expect(held.localCounts()).toEqual(new Map());
    held.want([], null);
    rows = [row(localLists[0]?.rules[0]?.id ?? "", 7), row("10.0.0.1/32 x", 9)];
    const counts = { packets: 7, bytes: 420, droppedPackets: 7, droppedBytes: 420 };
    expect(held.localCounts()).toEqual(new Map([["a", counts]]));
  });
});
