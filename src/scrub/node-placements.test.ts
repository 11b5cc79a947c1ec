import { expect, test } from "bun:test";
import { ban } from "../../test/fixtures/views.ts";
import { NODES_OF_BAN_MAX, NodePlacements } from "./node-placements.ts";
import type { ScrubNodeConfig } from "./scrubbing-config.ts";

const node = (name: string): ScrubNodeConfig => {
  return { name, nextHop: null, nextHop6: null, capacityMbps: null, hostgroups: null };
};

test("a ban is in the documents of the last nodes that it went to, as many as it may have", () => {
  const placements = new NodePlacements(() => "global");
  const placed = ban();
  const names = Array.from({ length: NODES_OF_BAN_MAX + 1 }, (_, i) => `s${i}`);
  const having = () => names.filter((name) => placements.mayGet(node(name), placed));
  for (const name of names.slice(0, NODES_OF_BAN_MAX)) placements.put(placed, name);
  expect(having()).toEqual(names.slice(0, NODES_OF_BAN_MAX));
  placements.put(placed, names.at(-1) ?? "");
  expect(having()).toEqual(names.slice(1));
});
