import { describe, expect, test } from "bun:test";
import { type Candidate, selectNode } from "./node-selection.ts";

const node = (name: string, changes: Partial<Candidate> = {}): Candidate => ({
  name,
  liveness: "alive",
  utilization: 0,
  bans: 0,
  enforces: false,
  holdsAllRules: true,
  ...changes,
});
const VICTIMS = Array.from({ length: 1000 }, (_, i) => `192.0.${i >> 8}.${i & 0xff}/32`);
const NODES = ["a", "b", "c", "d"].map((name) => node(name));
const chosen = (nodes: readonly Candidate[], selection: "affinity" | "least_loaded" = "affinity") =>
  VICTIMS.map((victim) => selectNode(victim, nodes, selection)?.name);

describe("by affinity", () => {
  test("a victim goes to the same node each time, in whatever order they come", () => {
    expect(chosen(NODES.toReversed())).toEqual(chosen(NODES));
  });

  test("victims spread over the nodes", () => {
    const counts = Map.groupBy(chosen(NODES), (name) => name);
    expect(counts.size).toBe(4);
    for (const of of counts.values()) expect(of.length).toBeWithin(200, 300);
  });

  test("a node that goes moves its own victims alone, and all over the others", () => {
    const [before, after] = [chosen(NODES), chosen(NODES.slice(1))];
    const moved = VICTIMS.flatMap((_, i) => (before[i] === after[i] ? [] : [[before[i], after[i]]]));
    expect(new Set(moved.map(([from]) => from))).toEqual(new Set(["a"]));
    expect(new Set(moved.map(([, to]) => to))).toEqual(new Set(["b", "c", "d"]));
  });

  test("a node that comes takes its share from all, and moves no victim between others", () => {
    const [before, after] = [chosen(NODES), chosen([...NODES, node("e")])];
    const moved = VICTIMS.flatMap((_, i) => (before[i] === after[i] ? [] : [after[i]]));
    expect(new Set(moved)).toEqual(new Set(["e"]));
    expect(moved.length).toBeWithin(140, 260);
  });

  test("load plays no part", () => {
    expect(chosen(NODES.map((each, i) => ({ ...each, utilization: i, bans: i })))).toEqual(chosen(NODES));
  });
});

describe("by load", () => {
  test("the node with the most room is taken", () => {
    const nodes = [
      node("a", { utilization: 0.5 }),
      node("b", { utilization: 0.2, bans: 9 }),
      node("c", { utilization: 0.9 }),
    ];
    expect(new Set(chosen(nodes, "least_loaded"))).toEqual(new Set(["b"]));
  });

  test("of equal ones that with fewer bans, and of those one by victim", () => {
    const nodes = [node("a", { bans: 1 }), node("b"), node("c")];
    expect(new Set(chosen(nodes, "least_loaded"))).toEqual(new Set(["b", "c"]));
  });

  test("a node with more room is taken though it cannot hold all rules", () => {
    const nodes = [node("a", { utilization: 0.5 }), node("b", { utilization: 0.2, holdsAllRules: false })];
    expect(new Set(chosen(nodes, "least_loaded"))).toEqual(new Set(["b"]));
  });
});

describe.each(["affinity", "least_loaded"] as const)("whatever it goes by (%s)", (selection) => {
  test("lost nodes are not taken, and with none left there is none", () => {
    const lost = NODES.map((each) => ({ ...each, liveness: "lost" as const }));
    expect(new Set(chosen([...lost, node("z")], selection))).toEqual(new Set(["z"]));
    expect(selectNode("v", lost, selection)).toBeNull();
    expect(selectNode("v", [], selection)).toBeNull();
  });

  test("of equal ones that can hold all rules is taken, if it is alive", () => {
    const simple = NODES.map((each) => ({ ...each, holdsAllRules: false }));
    expect(new Set(chosen([...simple, node("z", { bans: 1 })], selection))).toEqual(new Set(["z"]));
    expect(new Set(chosen([...simple, node("z", { liveness: "lost" })], selection)).size).toBe(4);
  });

  test("nodes that did not poll yet are used only if none is alive", () => {
    const notSeen = NODES.map((each) => ({ ...each, liveness: "not_seen" as const }));
    expect(new Set(chosen([...notSeen, node("z", { utilization: 5 })], selection))).toEqual(new Set(["z"]));
    expect(new Set(chosen([...notSeen, node("z", { liveness: "lost" })], selection)).size).toBe(4);
  });
});
