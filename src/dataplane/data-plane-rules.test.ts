/** The operator's rules beside those of bans; the rules of bans are in data-plane.test.ts. */
import { expect, test } from "bun:test";
import { TableFilters } from "../../test/fixtures/dataplane/table-filter.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { operatorRule } from "../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ban } from "../../test/fixtures/views.ts";
import { buildScrub } from "../config/sections/scrub.ts";
import type { Ban } from "../mitigation/ban.ts";
import { operatorKernelRules } from "../mitigation/operator/operator-kernel-rules.ts";
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import { ANY_MATCH } from "../mitigation/rules/match.ts";
import { DETAILED_RULES_MAX } from "../native/constants.ts";
import { DataPlaneRules } from "./data-plane-rules.ts";

function made(room = 100, places = 1000) {
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const kernel = new TableFilters();
  const state: { rules: OperatorRule[]; bans: Ban[] } = { rules: [], bans: [] };
  const faults: unknown[] = [];
  const leftOut: number[] = [];
  const plane = new DataPlaneRules({
    bans: () => state.bans,
    standing: () => [],
    operators: (attacked) =>
      operatorKernelRules({
        ...{ rules: state.rules, networks: [prefix("192.0.2.0/24")], attacked },
        ...{ wallMs: clock.wallMs(), room: places },
      }),
    bitOf: (name) => (name === "known" ? 5 : null),
    isHeld: () => false,
    room: () => room,
    after: (ms, fn) => timers.after(ms, fn),
    monotonicMs: () => clock.monotonicMs(),
    onFault: (cause) => faults.push(cause),
    onLeftOut: () => {},
    onDestinationsLeftOut: (destinations) => leftOut.push(destinations),
  });
  const bounds = { maxPairs: 9, maxRules: 9, maxPrefixes: 9, maxSources: 1024 };
  const begin = () => plane.begin(kernel.open({ pinPath: "", interfaces: [], xdpMode: "auto", ...bounds }));
  const changed = () => {
    plane.changed(null);
    clock.advance(1000);
  };
  return { kernel, state, plane, faults, leftOut, begin, changed };
}

test("rules for attacked addresses are put while these are banned; all are counted by name", () => {
  const { kernel, state, plane, begin, changed } = made();
  state.rules = [operatorRule({ name: "always" }), operatorRule({ name: "then", when: "attacked" })];
  begin();
  expect(kernel.operators.map(({ rules }) => rules.length)).toEqual([1]);
  state.bans = [ban({ dryRun: true, target: "192.0.2.9" }), ban({ dryRun: false, target: "192.0.2.7" })];
  changed();
  const lists = kernel.operators.map(({ prefix: one, rules }) => [one.text, rules.length]);
  expect(lists).toEqual([
    ["192.0.2.0/24", 1],
    ["192.0.2.7/32", 2],
  ]);
  kernel.dropped.set(kernel.operators[0]?.rules[0]?.id ?? "", 7);
  changed();
  const counts = { packets: 7, bytes: 420, droppedPackets: 7, droppedBytes: 420 };
  expect(plane.operatorCounts()?.get("always")).toEqual(counts);
  [state.rules, state.bans] = [[], []];
  changed();
  expect(kernel.operators).toEqual([]);
  expect(plane.operatorCounts()?.size).toBe(0);
  plane.end(false);
  expect(plane.operatorCounts()).toBeNull();
});

test("behind a rule that would let pass sources of a missing set, nothing drops for these destinations", () => {
  const { kernel, state, begin } = made();
  const sparing = (name: string) => ({ action: "pass", match: { ...ANY_MATCH, inSets: [name] } }) as const;
  const drop = operatorRule({ name: "drop" });
  state.rules = [
    operatorRule({ name: "before" }),
    operatorRule({ name: "spare", destinations: [prefix("192.0.2.7/32")], ...sparing("unknown") }),
    operatorRule({ name: "pass", action: "pass" }),
    operatorRule({ name: "counts", isDryRun: true }),
    drop,
  ];
  begin();
  // Those with an action of their own are of pass.
  const dropping = kernel.operators.map(({ prefix: one, rules }) => {
    const drops = rules.filter(({ rule, isDryRun }) => rule.action.kind === "discard" && isDryRun !== true);
    return [one.text, rules.length, drops.length];
  });
  expect(dropping).toEqual([
    ["192.0.2.0/24", 4, 2],
    ["192.0.2.7/32", 3, 1],
  ]);
});

test("rules that ask for a set which is not in force wait for it, and hold up no others", () => {
  const { kernel, state, plane, faults, begin } = made();
  const asking = (inSets: string[]) => ({ match: { ...ANY_MATCH, inSets } });
  state.rules = [
    operatorRule({ name: "waits", ...asking(["unknown"]) }),
    operatorRule({ name: "known", ...asking(["known"]) }),
  ];
  begin();
  expect(kernel.operators[0]?.rules.map(({ rule }) => rule.inSets)).toEqual([["known"]]);
  expect(plane.operatorCounts()?.has("waits")).toBe(false);
  expect(faults).toEqual([]);
});

test("destinations without room are said, and when there is room again", () => {
  const { state, plane, leftOut, begin, changed } = made(100, 2);
  state.rules = [operatorRule({ name: "all" }), operatorRule({ name: "host", destinations: [prefix("192.0.2.7/32")] })];
  begin();
  expect([plane.destinationsLeftOut, leftOut]).toEqual([1, [1]]);
  changed();
  state.rules = [operatorRule({ name: "all" })];
  changed();
  expect([plane.destinationsLeftOut, leftOut]).toEqual([0, [1, 0]]);
});

test("they take the room of rules of bans", () => {
  const { kernel, state, begin, plane } = made(2);
  state.rules = [operatorRule({ name: "own" })];
  const measure = { kind: "blackhole", route: null } as const;
  state.bans = [
    ban({ id: "a", dryRun: false, target: "192.0.2.7", measure }),
    ban({ id: "b", dryRun: false, target: "192.0.2.8", measure }),
  ];
  begin();
  expect(kernel.rules.length).toBe(2);
  expect(plane.leftOut).toEqual({ max_dynamic_rules: 1 });
});

test("rules that ask for a set beyond the room for such are left out and counted, and a ban without all is not in force", () => {
  const { kernel, state, begin, plane, changed } = made(3 * DETAILED_RULES_MAX, 3 * DETAILED_RULES_MAX);
  const { profile: _name, isAlways: _always, isOnNodes: _nodes, ...scrub } = buildScrub({ tcp: "off" }, []);
  const blocking = ({ target }: { target: string }): Ban => {
    const filter = { ...scrub, blockedSets: ["known"] };
    const rules = { kind: "flowspec", rules: [], matchesAll: false, localPref: 0, basis: "" } as const;
    return ban({
      target,
      id: `ban of ${target}`,
      dryRun: false,
      method: "scrub",
      measure: { kind: "scrub", rules, filter },
    });
  };
  state.rules = Array.from({ length: DETAILED_RULES_MAX - 1 }, (_, i) =>
    operatorRule({ name: `r${i}`, match: { ...ANY_MATCH, inSets: ["known"] } }),
  );
  const [first, second] = [blocking({ target: "192.0.2.1" }), blocking({ target: "192.0.2.2" })];
  state.bans = [first];
  begin();
  expect([plane.leftOut, plane.isInForce(first)]).toEqual([{}, true]);
  state.bans = [first, second];
  changed();
  expect([plane.leftOut, plane.isInForce(first), plane.isInForce(second)]).toEqual([
    { detailed_matches: 1 },
    true,
    false,
  ]);
  expect(kernel.rules).toHaveLength(DETAILED_RULES_MAX);
  state.rules = [];
  changed();
  expect([plane.leftOut, plane.isInForce(second)]).toEqual([{}, true]);
  // Of the operator's own rules those beyond the room are counted, too, and hold up none of a ban.
  state.rules = Array.from({ length: DETAILED_RULES_MAX + 2 }, (_, i) =>
    operatorRule({ name: `r${i}`, match: { ...ANY_MATCH, inSets: ["known"] } }),
  );
  changed();
  expect([plane.destinationsLeftOut, plane.leftOut]).toEqual([1, { detailed_matches: 2 }]);
});

test("more of them than the kernel takes hold up no rules of bans", () => {
  const { kernel, state, begin, plane, faults } = made(2);
  state.rules = ["a", "b", "c"].map((name) => operatorRule({ name }));
  begin();
  expect([kernel.rules.length, plane.destinationsLeftOut]).toEqual([2, 1]);
  expect(faults).toEqual([]);
});
