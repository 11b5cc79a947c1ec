import { describe, expect, test } from "bun:test";
import { parseEnvLines } from "./env-lines.ts";

function variables(text: string): Record<string, string> {
  const lines = parseEnvLines(text);
  if (lines.kind === "invalid") throw new Error(lines.problems.join());
  return Object.fromEntries(lines.variables);
}

describe("an environment file", () => {
  test.each([
    ["", {}],
    ["A=1\nB=2", { A: "1", B: "2" }],
    ["\n# A=1\n  # B=2\n\n_C9=3\n", { _C9: "3" }],
    ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
    ["\ufeffA=1", { A: "1" }],
    ["A=", { A: "" }],
    ["A=a=b#c $HOME \\n", { A: "a=b#c $HOME \\n" }],
    ["  A=  b  ", { A: "b" }],
    ["A=' b '\nB=\"'c\"\nC=''", { A: " b ", B: "'c", C: "" }],
    ["A=1\nA=2", { A: "2" }],
  ])("%j", (text, expected) => {
    expect(variables(text)).toEqual(expected);
  });

  test("with faults is refused as a whole, by line and without a value", () => {
    const text = "A=1\nsecret\nA B=secret\n=secret\nexport B=secret\nC='secret\nD='\nE=secret\0\nA =secret\n";
    expect(parseEnvLines(text)).toEqual({
      kind: "invalid",
      problems: [
        "line 2: not of the form NAME=value",
        "line 3: not of the form NAME=value",
        "line 4: not of the form NAME=value",
        "line 5: not of the form NAME=value",
        "line 6: C has a quote that is not closed",
        "line 7: D has a quote that is not closed",
        "line 8: E holds a NUL character",
        "line 9: not of the form NAME=value",
      ],
    });
  });
});
