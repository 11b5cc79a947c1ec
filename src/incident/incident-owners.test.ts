/** Whose incidents are after a reload, and that lists make views of those alone that are wanted. */
import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { IncidentWorld } from "../../test/fixtures/incident-world.ts";
import { classification } from "../../test/fixtures/views.ts";

describe("a reload that gives networks to another tenant", () => {
  const owners = new Map<string | null, string>();
  const ownerOf = ({ target }: { readonly target: string | null }) => owners.get(target) ?? null;
  const world = () => new IncidentWorld({ ownerOf });
  const [ONE, TWO] = [address("192.0.2.1"), address("192.0.2.2")];

  test("gives it the incidents of their victims, which its next attacks join", () => {
    owners.set(ONE, "acme").set(TWO, "acme");
    const its = world();
    const first = its.start("a", { target: ONE, classification: classification() });
    expect(its.only().tenant).toBe("acme");
    owners.set(ONE, "other");
    its.table.reconfigured();
    expect(its.only().tenant).toBe("other");
    its.end("a");
    expect(its.start("b", { target: ONE, classification: classification() })).toBe(first as string);
    expect(its.start("c", { target: TWO, classification: classification() })).not.toBe(first as string);
  });

  test("gives to no tenant an incident of which only some victims are its own, until it has all", () => {
    owners.set(ONE, "acme").set(TWO, "acme");
    const its = world();
    its.start("a", { target: ONE, classification: classification() });
    its.start("b", { target: TWO, classification: classification() });
    its.end("b");
    owners.set(TWO, "other");
    its.table.reconfigured();
    expect(its.only().tenant).toBeNull();
    owners.set(ONE, "other");
    its.table.reconfigured();
    expect(its.only().tenant).toBe("other");
  });
});

test("views are made of the incidents alone that are wanted", () => {
  let built = 0;
  const world = new IncidentWorld({ linkMbps: () => ++built });
  for (const id of ["a", "b", "c"]) world.start(id, { group: id, target: address(`192.0.2.${id === "a" ? 1 : 2}`) });
  built = 0;
  const found = [...world.table.listed()].filter(({ head }) => [...head.victims()].includes("192.0.2.1"));
  expect([found.map(({ view }) => view().group), built]).toEqual([["a"], 1]);
});
