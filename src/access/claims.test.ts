import { describe, expect, test } from "bun:test";
import { rightsOf, userName } from "./claims.ts";
import type { ClaimedRole } from "./sign-in-config.ts";

const line = (claim: string, value: string, role: ClaimedRole["role"] = "viewer"): ClaimedRole => ({
  claim,
  value,
  role,
  tenant: null,
});

describe("a line of roles fits a claim", () => {
  test.each([
    [{ groups: ["a", "noc"] }, "groups", true],
    [{ groups: "noc" }, "groups", true],
    [{ groups: ["NOC", "noc2", 7, null, { noc: true }] }, "groups", false],
    [{ groups: { noc: true } }, "groups", false],
    [{ realm_access: { roles: ["noc"] } }, "realm_access.roles", true],
    [{ "https://example.net/groups": ["noc"] }, "https://example.net/groups", true],
    [{ "a.b": "noc", a: { b: "other" } }, "a.b", true],
    [{ resource_access: { "fw.example.net": { roles: ["noc"] } } }, "resource_access.fw.example.net.roles", true],
    [{ realm_access: null }, "realm_access.roles", false],
    [{}, "constructor.name", false],
    [{}, "groups", false],
  ])("%j by %s: %p", (claims, claim, fits) => {
    expect(rightsOf(claims, { roles: [line(claim, "noc")] }) !== null).toBe(fits);
  });

  test("and of several that fit the first in the file counts", () => {
    const roles = [line("groups", "a"), line("groups", "b", "operator")];
    expect(rightsOf({ groups: ["b", "a"] }, { roles })).toEqual({ role: "viewer", tenant: null });
    expect(rightsOf({ groups: ["b"] }, { roles })).toEqual({ role: "operator", tenant: null });
    expect(rightsOf({ groups: ["c"] }, { roles })).toBeNull();
  });
});

test.each([
  [{ name: "alice", sub: "1" }, "user alice"],
  [{ name: "Zoë O’Neill", sub: "1" }, "user Zoë O’Neill"],
  [{ name: "", sub: "1" }, "user sub:1"],
  [{ name: "a\nb", sub: "1" }, "user sub:1"],
  [{ name: "a\u202eb", sub: "1" }, "user sub:1"],
  [{ name: " alice", sub: "1" }, "user sub:1"],
  [{ name: "a".repeat(65), sub: "1" }, "user sub:1"],
  [{ name: "a".repeat(64), sub: "1" }, `user ${"a".repeat(64)}`],
  [{ name: 7, sub: "1" }, "user sub:1"],
  [{ name: "sub:2", sub: "1" }, "user sub:1"],
  [{ sub: "\u0000" }, null],
])("the user of %j is %p", (claims, name) => {
  expect(userName(claims, { nameClaim: "name" })).toBe(name);
});
