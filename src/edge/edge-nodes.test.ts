import { beforeEach, describe, expect, test } from "bun:test";
import { edgeConfig } from "../../test/fixtures/edge/edge.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { EdgeNodes } from "./edge-nodes.ts";

let clock: ManualClock;
let edge: EdgeNodes;

const zones = [
  { name: "all.example.net" },
  { name: "mail.example.net", hostgroup: "mail" },
  { name: "plain.example.net", hostgroup: "global" },
  { name: "web.example.net", hostgroup: "web" },
];

beforeEach(() => {
  clock = new ManualClock();
  edge = new EdgeNodes({
    config: edgeConfig({ nodes: [{ name: "e1" }, { name: "e2", hostgroups: ["web", "mail", "web"] }], zones }),
    now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
  });
});

describe("placement", () => {
  test.each([
    ["all.example.net", ["e1", "e2"]],
    ["mail.example.net", ["e2"]],
    ["web.example.net", ["e2"]],
    ["plain.example.net", ["e1"]],
    ["nowhere.example.net", []],
  ])("%s is served by %j", (zone, nodes) => {
    expect(edge.nodesOf(zone)).toEqual(nodes);
    expect(["e1", "e2", "e3"].filter((node) => edge.serves(node, zone))).toEqual(nodes);
  });

  test("counts the zones of a node, each once", () => {
    expect(["e1", "e2"].map((name) => edge.view(name).zonesPlaced)).toEqual([2, 3]);
  });

  test("has the effective scope of a node", () => {
    expect(edge.nodes()).toEqual([
      { name: "e1", scope: ["global"] },
      { name: "e2", scope: ["web", "mail", "web"] },
    ]);
  });
});

describe("a node", () => {
  test("keeps the time at which it was last seen, however the clocks run", () => {
    const seenAt = clock.wallMs();
    edge.pollStarted("e1", "t1");
    clock.advance(1000);
    clock.setWall("2030-01-01T00:00:00.000Z");
    expect(edge.view("e1").lastSeenAt).toBe(seenAt);
  });

  test("names the token that polled last", () => {
    for (const token of ["t1", "t2"]) edge.pollStarted("e1", token);
    edge.pollEnded("e1");
    expect(edge.view("e1").lastToken).toBe("t2");
  });
});

describe("a reload", () => {
  test("keeps the presence of nodes that stay, and forgets those that go", () => {
    for (const name of ["e1", "e2"]) edge.pollStarted(name, "t1");
    edge.reconfigure(edgeConfig({ nodes: [{ name: "e1" }], zones, staleAfterSeconds: 5 }));
    expect([edge.size, edge.has("e2"), edge.staleAfterSeconds, edge.isAlive("e1")]).toEqual([1, false, 5, true]);
    edge.pollEnded("e2");
    edge.reconfigure(edgeConfig({ nodes: [{ name: "e2" }], zones }));
    expect(edge.view("e2")).toMatchObject({ liveness: "not_seen", lastSeenAt: null, lastToken: null });
  });

  test("without an edge has neither nodes nor zones", () => {
    edge.reconfigure(null);
    expect([edge.size, edge.zones(), edge.nodes(), edge.zone("all.example.net")]).toEqual([0, [], [], null]);
  });
});
