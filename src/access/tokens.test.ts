import { describe, expect, test } from "bun:test";
import type { TokenConfig } from "../config/api-section.ts";
import { canBePresented, Tokens } from "./tokens.ts";

function token(name: string, changes: Partial<TokenConfig> = {}): TokenConfig {
  return { name, tokenEnv: name.toUpperCase(), role: "operator", tenant: null, node: null, ...changes };
}

/** Keeps which variables were read, in order. */
function tokensWith(secrets: Readonly<Record<string, string>>) {
  const read: string[] = [];
  const tokens = new Tokens({
    refresh: () => read.push("refresh"),
    read: (variable) => {
      read.push(variable);
      return secrets[variable] ?? null;
    },
  });
  return { tokens, read };
}

describe("a presented secret", () => {
  const list = [
    token("a"),
    token("b", { role: "viewer", tenant: "acme" }),
    token("c", { role: "agent", node: "fra1" }),
  ];
  const secrets = { A: "alpha", B: "beta", C: "gamma" };

  test.each([
    ["alpha", { operator: "a", role: "operator", tenant: null, node: null }],
    ["beta", { operator: "b", role: "viewer", tenant: "acme", node: null }],
    ["gamma", { operator: "c", role: "agent", tenant: null, node: "fra1" }],
  ])("%s is a token's", (secret, principal) => {
    expect(tokensWith(secrets).tokens.meaningOf(secret, list)).toEqual({ kind: "principal", ...principal } as never);
  });

  test.each(["", "alph", "alphaa", "ALPHA", "A", "delta"])("%p is nobody's", (secret) => {
    expect(tokensWith(secrets).tokens.meaningOf(secret, list)).toEqual({ kind: "unknown_secret" });
  });

  test.each(["alpha", "gamma", "nobody's"])(
    "%s is held against every token, once each, after one look for changes",
    (secret) => {
      const { tokens, read } = tokensWith(secrets);
      tokens.meaningOf(secret, list);
      expect(read).toEqual(["refresh", "A", "B", "C"]);
    },
  );

  test("of no length is nobody's, though a variable is empty or not set", () => {
    const { tokens } = tokensWith({ A: "" });
    expect(tokens.meaningOf("", list)).toEqual({ kind: "unknown_secret" });
  });

  test("is held against what the variable says now", () => {
    const now: Record<string, string> = { A: "alpha" };
    const { tokens } = tokensWith(now);
    expect(tokens.meaningOf("alpha", list).kind).toBe("principal");
    now["A"] = "omega";
    expect(tokens.meaningOf("alpha", list).kind).toBe("unknown_secret");
    expect(tokens.meaningOf("omega", list).kind).toBe("principal");
  });
});

test.each([
  ["Az09-._~+/=", true],
  ["!#$%&'()*:;<>?@[]^`{|}", true],
  ["", false],
  ["a b", false],
  ["a,b", false],
  ["ä", false],
  ["a\n", false],
])("%j can be carried by a header: %p", (secret, expected) => {
  expect(canBePresented(secret)).toBe(expected);
});
