import { describe, expect, test } from "bun:test";
import { isPlaced, scopeOf } from "./placement.ts";

test("a node that lists no hostgroup has the scope global, any other its own list alone", () => {
  expect(scopeOf({ hostgroups: null })).toEqual(["global"]);
  expect(scopeOf({ hostgroups: ["web", "mail"] })).toEqual(["web", "mail"]);
});

describe("a zone", () => {
  const nodes = { unscoped: scopeOf({ hostgroups: null }), web: ["web"], both: ["global", "web"] };
  const served = (hostgroup: string | null) =>
    Object.entries(nodes).flatMap(([name, scope]) => (isPlaced({ hostgroup }, scope) ? [name] : []));

  test("without a hostgroup goes to all nodes", () => expect(served(null)).toEqual(["unscoped", "web", "both"]));
  test("goes to the nodes that list its hostgroup alone", () => expect(served("web")).toEqual(["web", "both"]));
  test("of global goes to nodes with the default scope", () => expect(served("global")).toEqual(["unscoped", "both"]));
  test("of a hostgroup that no node lists goes nowhere", () => expect(served("mail")).toEqual([]));
});
