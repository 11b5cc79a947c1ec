import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  ended,
  flush,
  harness,
  lasts,
  policy,
  spreadOver,
  spreadTerms,
  started,
  under,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { communitiesOf } from "../../test/fixtures/networks.ts";
import type { Ban } from "./ban.ts";
import type { BanEngine } from "./ban-engine.ts";
import type { DivertRequest, NodeTarget } from "./circumstances.ts";
import { plainOrder } from "./order/ban-order.ts";

const S1: NodeTarget = { kind: "node", name: "s1", nextHop: address("198.51.100.11") };
const S2: NodeTarget = { kind: "node", name: "s2", nextHop: address("198.51.100.12") };
const lost = (instead: "withdraw" | "blackhole" | "flowspec"): NodeTarget => ({ kind: "lost", instead });
const LADDER = [
  { afterSeconds: 0, action: "flowspec" },
  { afterSeconds: 60, action: "divert" },
] as const;

/** The scrub target that the engine gets, and its requests. */
function diverting(overrides: Parameters<typeof harness>[0] = under({ method: "divert" })) {
  const nodes: { target: NodeTarget | null; readonly asked: DivertRequest[] } = { target: S1, asked: [] };
  const divertTo = (request: DivertRequest) => {
    nodes.asked.push(request);
    return nodes.target;
  };
  return { nodes, ...harness(overrides, { divertTo }) };
}

const only = (engine: BanEngine): Ban => [...engine.active.values()][0] as Ban;
const hops = ({ routes }: { readonly routes: readonly object[] }) =>
  routes.map((route) => ("nextHop" in route ? String(route.nextHop) : "rule"));

describe("a diverted ban", () => {
  test("goes to the node that is selected for it, by its hostgroup, and stays there", () => {
    const { engine, announcer, nodes } = diverting();
    engine.attacksChanged([started(attackOn())], 0);
    expect(only(engine).measure).toMatchObject({ kind: "divert", node: "s1" });
    expect(hops(announcer)).toEqual(["198.51.100.11"]);
    expect(announcer.routes).toMatchObject([{ communities: communitiesOf("64500:2") }]);
    engine.tick(250);
    expect(nodes.asked.map(({ prefix, group, currentNode }) => [prefix.text, group, currentNode])).toEqual([
      [`${victim}/32`, "global", null],
      [`${victim}/32`, "global", "s1"],
    ]);
  });

  test("without nodes goes where the terms say", () => {
    const { engine, announcer, nodes } = diverting();
    nodes.target = null;
    engine.attacksChanged([started(attackOn())], 0);
    expect(only(engine).measure).toMatchObject({ node: null });
    expect(hops(announcer)).toEqual(["198.51.100.2"]);
  });

  test("moves to another node in one step: the announcer is never without a route", () => {
    const { engine, announcer, nodes } = diverting();
    engine.attacksChanged([started(attackOn())], 0);
    const before = announcer.routes.length;
    nodes.target = S2;
    engine.tick(250);
    expect([before, hops(announcer)]).toEqual([1, ["198.51.100.12"]]);
    expect(only(engine)).toMatchObject({ measure: { node: "s2" }, retiring: [], state: "active" });
  });

  test("follows its node to another next hop", () => {
    const { engine, announcer, nodes } = diverting();
    engine.attacksChanged([started(attackOn())], 0);
    nodes.target = { ...S1, nextHop: address("198.51.100.99") };
    engine.reconfigure(policy(under({ method: "divert" })), 1);
    expect(hops(announcer)).toEqual(["198.51.100.99"]);
    expect(only(engine).measure).toMatchObject({ node: "s1" });
  });

  test("has the rules of its attack for the node, which are not announced", () => {
    const { engine, announcer } = diverting();
    engine.attacksChanged([started(attackOn())], 0);
    expect(only(engine).measure).toMatchObject({
      rules: { kind: "flowspec", rules: [{ action: { kind: "discard" } }] },
    });
    expect(announcer.routes).toHaveLength(1);
  });

  test("that no node takes falls back as one without a next hop does, until one does", () => {
    const { engine, nodes } = diverting();
    nodes.target = { kind: "none" };
    engine.attacksChanged([started(attackOn())], 0);
    expect(only(engine)).toMatchObject({ method: "blackhole", fallback: "scrubbing has no next hop for IPv4" });
    nodes.target = S1;
    engine.tick(250);
    expect(only(engine)).toMatchObject({ method: "divert", fallback: null, measure: { node: "s1" } });
  });
});

describe("with all nodes lost", () => {
  test.each(["blackhole", "flowspec"] as const)(
    "a ban does %s, says why, and is diverted again with a node",
    (instead) => {
      const { engine, nodes } = diverting(under({ method: "divert", ban: { fallback: "none" } }));
      engine.attacksChanged([started(attackOn())], 0);
      nodes.target = lost(instead);
      engine.tick(250);
      for (const at of [500, 750]) {
        engine.tick(at);
        expect(only(engine)).toMatchObject({
          method: instead,
          fallback: "all scrubbing nodes lost",
          measure: { kind: instead },
        });
      }
      nodes.target = S2;
      engine.tick(1000);
      expect(only(engine)).toMatchObject({ method: "divert", fallback: null, measure: { node: "s2" } });
    },
  );

  test("an ordered divert becomes nothing else: the ban ends, and a new one is refused", async () => {
    const { engine, announcer, nodes } = diverting();
    const terms = { method: "divert", communities: communitiesOf("64500:7") } as const;
    const order = { ...plainOrder(victim), terms };
    await engine.ban(order, () => 0);
    expect(announcer.routes).toMatchObject([{ communities: terms.communities }]);
    nodes.target = lost("blackhole");
    engine.tick(250);
    expect(announcer.routes).toEqual([]);
    expect(engine.all()).toMatchObject([{ state: "withdrawn", reason: "all scrubbing nodes lost" }]);
    const { ban } = await engine.ban(order, () => 500);
    expect(ban).toMatchObject({ state: "rejected", reason: "all scrubbing nodes lost" });
  });

  test("an order without a method has what takes its place", async () => {
    const { engine, nodes } = diverting();
    await engine.ban({ ...plainOrder(victim), terms: { neighbors: ["edge1"] } }, () => 0);
    nodes.target = lost("blackhole");
    engine.tick(250);
    expect(only(engine)).toMatchObject({ method: "blackhole", fallback: "all scrubbing nodes lost" });
  });

  test("the divert stays until the rules that take its place are out", () => {
    const { engine, announcer, nodes } = diverting();
    engine.attacksChanged([started(attackOn())], 0);
    announcer.states.set(`${victim}/32`, { kind: "announced" });
    nodes.target = lost("flowspec");
    engine.tick(250);
    expect(hops(announcer)).toEqual(["rule", "198.51.100.11"]);
  });

  test("a ban is withdrawn, comes back with a node while its attack lasts, and is no repetition", () => {
    const terms = under({ method: "divert", ban: { repeatWindowSeconds: 600 } });
    const { engine, announcer, nodes, seen } = diverting(terms);
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 0);
    nodes.target = lost("withdraw");
    engine.tick(250);
    expect([engine.active.size, announcer.routes.length]).toEqual([0, 0]);
    expect(engine.all()).toMatchObject([
      { state: "withdrawn", reason: "all scrubbing nodes lost", measure: { node: "s1" } },
    ]);
    for (const at of [500, 600]) engine.attacksChanged([lasts(attack)], at);
    expect(engine.banOf(attack)).toMatchObject({ state: "rejected", reason: "all scrubbing nodes lost" });
    expect(seen.filter((line) => line.endsWith("rejected"))).toHaveLength(1);
    nodes.target = S2;
    engine.attacksChanged([lasts(attack)], 700);
    expect(only(engine)).toMatchObject({ measure: { node: "s2" }, repeat: 0, holdUntil: null });
    engine.attacksChanged([ended(attack)], 800);
    expect(engine.active.size).toBe(0);
  });

  test("a manual ban is refused", async () => {
    const { engine, nodes, disk } = diverting();
    nodes.target = lost("withdraw");
    expect(await banBy(engine, victim, 0)).toMatchObject({ state: "rejected", reason: "all scrubbing nodes lost" });
    expect([engine.all().length, disk.size]).toEqual([0, 0]);
  });

  test("the checks before it come first", async () => {
    const { engine, nodes } = diverting({ ...under({ method: "divert" }), isWhitelisted: () => true });
    nodes.target = lost("withdraw");
    expect(await banBy(engine, victim, 0)).toMatchObject({ state: "rejected", reason: "whitelisted" });
  });

  test("a ban does not climb to the divert, and does so with a node", () => {
    const { engine, nodes } = diverting(under({ ladder: LADDER }));
    nodes.target = lost("withdraw");
    engine.attacksChanged([started(attackOn())], 0);
    engine.tick(60_000);
    expect(only(engine)).toMatchObject({ step: 0, method: "flowspec", fallback: null });
    nodes.target = S1;
    engine.tick(60_250);
    expect(only(engine)).toMatchObject({ step: 1, method: "divert", measure: { node: "s1" } });
    nodes.target = lost("withdraw");
    engine.tick(60_500);
    expect(engine.active.size).toBe(0);
  });

  test("a manual ban whose ladder starts with a divert is refused and does not only watch", async () => {
    const watching = [{ afterSeconds: 0, action: "none" }, { ...LADDER[1] }] as const;
    const { engine, nodes } = diverting(under({ ladder: watching }));
    nodes.target = lost("withdraw");
    expect(await banBy(engine, victim, 0)).toMatchObject({ state: "rejected" });
  });

  test("a prefix is not blackholed: its ban ends", () => {
    const { engine, nodes } = diverting({ spread: spreadTerms("divert") });
    engine.attacksChanged([started(spreadOver("192.0.2.0/24"))], 0);
    expect(only(engine).measure).toMatchObject({ node: "s1" });
    nodes.target = lost("blackhole");
    engine.tick(250);
    expect(engine.all()).toMatchObject([{ state: "withdrawn", reason: "all scrubbing nodes lost" }]);
  });

  test("a virtual ban shows what a real one would do", () => {
    const { engine, nodes } = diverting({ ...under({ method: "divert" }), dryRun: true });
    engine.attacksChanged([started(attackOn())], 0);
    expect(only(engine)).toMatchObject({ dryRun: true, measure: { node: "s1" } });
    nodes.target = lost("blackhole");
    engine.tick(250);
    expect(only(engine)).toMatchObject({ dryRun: true, method: "blackhole", fallback: "all scrubbing nodes lost" });
  });

  test("a method that a neighbor refused is still not retried", () => {
    const { engine, announcer, nodes } = diverting();
    engine.attacksChanged([started(attackOn())], 0);
    announcer.states.set(`${victim}/32`, { kind: "failed", cause: "no" });
    for (const at of [250, 2500]) engine.tick(at);
    expect(only(engine)).toMatchObject({ method: "blackhole", fallback: "bgp announce failed: no" });
    nodes.target = lost("flowspec");
    announcer.states.clear();
    engine.tick(2750);
    expect(only(engine)).toMatchObject({ method: "blackhole", fallback: "bgp announce failed: no" });
  });
});

test("a restart leaves a ban at its node", async () => {
  const first = diverting();
  first.engine.attacksChanged([started(attackOn())], 0);
  await flush(first.engine);
  const second = diverting();
  second.nodes.target = S1;
  second.engine.restore({ bans: [...first.disk.values()], attacks: [attackOn()] }, 1000);
  expect(second.nodes.asked[0]?.currentNode).toBe("s1");
  expect(only(second.engine).measure).toMatchObject({ node: "s1" });
  expect(hops(second.announcer)).toEqual(["198.51.100.11"]);
});
