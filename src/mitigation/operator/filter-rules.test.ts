import { expect, test } from "bun:test";
import { operatorRule } from "../../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { MemoryState, memoryStore } from "../../../test/fixtures/storage/memory-state.ts";
import { FILTER_RULE_ORDERS_MAX } from "../../limits.ts";
import { ANY_MATCH } from "../rules/match.ts";
import { FilterRules, type FilterRulesPolicy, RULE_ORDER_REFUSALS, type RuleOrder } from "./filter-rules.ts";

const NETWORKS = [prefix("192.0.2.0/24")];
const POLICY = { configured: [operatorRule({ name: "own" })], networks: NETWORKS, hasDataplane: true, sets: [] };
const order = (name: string, fields: Partial<RuleOrder> = {}): RuleOrder => ({
  name,
  rule: { name },
  createdAt: 1000,
  expiresAt: 61_000,
  reason: "",
  ...fields,
});

function made(file = new MemoryState()) {
  const { store, flush } = memoryStore(file);
  const events: string[] = [];
  let changes = 0;
  const rules = new FilterRules(
    {
      policy: POLICY,
      store: store.table("filter_rules"),
      read: (rule) =>
        "name" in rule ? operatorRule({ name: String(rule.name), destinations: [prefix("192.0.2.7/32")] }) : null,
      onChange: () => changes++,
      observer: {
        began: ({ name }) => events.push(`ordered ${name}`),
        refused: (refusal) => events.push(`refused ${refusal}`),
        ended: (end, orders) => events.push(...orders.map(({ name }) => `${end} ${name}`)),
        unusable: ({ name }) => events.push(`unusable ${name}`),
      },
    },
    store.stored.filter_rules,
  );
  return { rules, file, events, flush, changes: () => changes };
}

const names = (rules: FilterRules) => rules.inForce().map(({ name }) => name);

test("an order is on disk before it is in force, and is there after a restart", async () => {
  const file = new MemoryState();
  const { rules, changes } = made(file);
  file.isHeld = true;
  const answer = rules.order(order("a"), operatorRule({ name: "a" }));
  expect([names(rules), changes()]).toEqual([["own"], 0]);
  await file.release();
  expect(await answer).toMatchObject({ kind: "done", isSaved: true, view: { rule: { name: "a" } } });
  expect([names(rules), changes()]).toEqual([["a", "own"], 1]);
  expect(names(made(file).rules)).toEqual(["a", "own"]);
});

test("an order is refused for the first reason that there is, in their order", async () => {
  const { rules } = made();
  const names = Array.from({ length: FILTER_RULE_ORDERS_MAX }, (_, i) => `r${i}`);
  for (const name of names) await rules.order(order(name), operatorRule({ name }));
  const destinations = [prefix("198.51.100.1/32")];
  const wrong = operatorRule({ name: "own", destinations, match: { ...ANY_MATCH, inSets: ["bogons"] } });
  let policy: FilterRulesPolicy = { ...POLICY, hasDataplane: false };
  const refusals = [
    ...[{}, { hasDataplane: true }, { configured: [] }, { networks: [...NETWORKS, ...destinations] }],
    { sets: ["bogons"] },
  ].map((mended) => {
    policy = { ...policy, ...mended };
    rules.reconfigure(policy);
    return rules.preview(order("own"), wrong).refusal;
  });
  expect(refusals).toEqual([...RULE_ORDER_REFUSALS]);
  expect(rules.preview(order("r0"), { ...wrong, name: "r0" }).refusal).toBeNull();
});

test("an order ends by its time, by a command, and moves with the clock", async () => {
  const { rules, file, events, flush } = made();
  for (const name of ["a", "b"]) await rules.order(order(name), operatorRule({ name }));
  expect(await rules.remove("b")).toBe(true);
  expect(await rules.remove("b")).toBeNull();
  rules.clockStepped(-5000);
  rules.tick(55_999);
  expect(names(rules)).toEqual(["a", "own"]);
  rules.tick(56_000);
  await flush();
  expect([names(rules), rules.counts()]).toEqual([["own"], { configuration: 1, order: 0 }]);
  expect(file.names("filter_rules")).toEqual([]);
  expect(events).toEqual(["ordered a", "ordered b", "removed b", "expired a"]);
});

test("what a new configuration does not allow, or this build does not understand, is kept and not in force", async () => {
  const file = new MemoryState();
  const { rules, events } = made(file);
  const within = operatorRule({ name: "a", destinations: [prefix("192.0.2.7/32")] });
  await rules.order(order("a", { rule: {} }), within);
  expect(names(made(file).rules)).toEqual(["own"]);
  expect(made(file).events).toEqual(["unusable a"]);
  rules.reconfigure({ ...POLICY, configured: [] });
  expect(names(rules)).toEqual([]);
  expect(rules.counts()).toEqual({ configuration: 0, order: 0 });
  expect([...file.stored.filter_rules].map(({ name }) => name)).toEqual(["a"]);
  expect(events).toEqual(["ordered a", "unusable a"]);
});

test("an order that the configuration allows again is back in force", async () => {
  const { rules } = made();
  await rules.order(order("a"), operatorRule({ name: "a" }));
  rules.reconfigure({ ...POLICY, networks: [] });
  expect(names(rules)).toEqual(["own"]);
  rules.reconfigure(POLICY);
  expect(names(rules)).toEqual(["a", "own"]);
});
