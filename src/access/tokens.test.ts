import { describe, expect, test } from "bun:test";
import { changingSecrets } from "../../test/fixtures/secrets.ts";
import type { TokenConfig } from "./token-config.ts";
import { canBePresented, Tokens } from "./tokens.ts";

function token(name: string, changes: Partial<TokenConfig> = {}): TokenConfig {
  return { name, tokenEnv: name.toUpperCase(), role: "operator", tenant: null, node: null, ...changes };
}

function tokensWith(secrets: Readonly<Record<string, string>>): Tokens {
  return new Tokens(changingSecrets((variable) => secrets[variable]));
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
    expect(tokensWith(secrets).meaningOf(secret, list)).toEqual({ kind: "principal", ...principal } as never);
  });

  test.each(["", "alph", "alphaa", "ALPHA", "A", "delta"])("%p belongs to no token", (secret) => {
    expect(tokensWith(secrets).meaningOf(secret, list)).toEqual({ kind: "unknown_secret" });
  });

  test("is looked for after one look for changes, and variables are read again only where there are some", () => {
    const read: string[] = [];
    let version = 1;
    const tokens = new Tokens({
      refresh() {
        read.push("refresh");
        return version;
      },
      read(variable) {
        read.push(variable);
        return secrets[variable as "A"];
      },
    });
    tokens.meaningOf("gamma", list);
    expect(read[0]).toBe("refresh");
    expect(new Set(read.splice(0))).toEqual(new Set(["refresh", "A", "B", "C"]));
    tokens.meaningOf("gamma", list);
    expect(read.splice(0)).toEqual(["refresh"]);
    version++;
    tokens.meaningOf("gamma", list);
    expect(new Set(read.splice(0))).toEqual(new Set(["refresh", "A", "B", "C"]));
    tokens.meaningOf("gamma", list.slice(1));
    expect(new Set(read)).toEqual(new Set(["refresh", "B", "C"]));
  });

  test("of another token than before is known when the list is another", () => {
    const tokens = tokensWith(secrets);
    expect(tokens.meaningOf("gamma", list.slice(0, 2)).kind).toBe("unknown_secret");
    expect(tokens.meaningOf("gamma", list).kind).toBe("principal");
  });

  test("of no length belongs to no token, though a variable is empty or not set", () => {
    const tokens = tokensWith({ A: "" });
    expect(tokens.meaningOf("", list)).toEqual({ kind: "unknown_secret" });
  });

  test("is held against what the variable says now", () => {
    const now: Record<string, string> = { A: "alpha" };
    const tokens = tokensWith(now);
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
