/** Loading any file results in a Config, or in errors with a line. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { stringify } from "yaml";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { ConfigFile } from "../sections/schema.ts";
import { parseConfig } from "./load.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 40);
/** Only to detect a hang: a busy machine takes seconds where an idle one takes a fraction. */
setDefaultTimeout(60_000);
const SEED = Number(process.env["SEED"] ?? 20_261_120);
const FULL = readFileSync(join(import.meta.dir, "../../../test/fixtures/config/good-full.yaml"), "utf8");

function expectVerdict(bytes: Uint8Array, what: string): "valid" | "invalid" {
  const loaded = parseConfig(bytes);
  if (loaded.kind === "valid") return "valid";
  const lines = loaded.problems.map(({ line }) => line);
  const lineCount = bytes.filter((byte) => byte === 0x0a || byte === 0x0d).length + 1;
  expect(lines.length, what).toBeGreaterThan(0);
  for (const line of lines) expect(line !== null && line >= 1 && line <= lineCount, `line ${line}: ${what}`).toBe(true);
  expect(
    [...lines].sort((a, b) => (a ?? 0) - (b ?? 0)),
    what,
  ).toEqual(lines);
  expect(
    loaded.problems.map(({ rule }) => rule).filter((rule) => /undefined|\[object|NaN/.test(rule)),
    what,
  ).toEqual([]);
  return "invalid";
}

class Generator {
  readonly #random = seededRandom(SEED);

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** A value that roughly matches the schema: each part is sometimes something else. */
  value(schema: TSchema): unknown {
    if (this.below(12) === 0) return this.pick(ODDITIES);
    const alternatives = schema["anyOf"] as TSchema[] | undefined;
    if (alternatives !== undefined) return this.value(this.pick(alternatives));
    if ("const" in schema) return schema["const"];
    switch (schema["type"]) {
      case "object":
        return this.#mapping((schema["properties"] ?? {}) as Record<string, TSchema>);
      case "array":
        return Array.from({ length: this.below(4) }, () => this.value(schema["items"] as TSchema));
      case "boolean":
        return this.below(2) === 0;
      case "string":
        return this.pick(TEXTS);
      default:
        return this.pick([0, 1, 100, 1000, 1.5, -1, 65_536, 2 ** 40]);
    }
  }

  #mapping(properties: Record<string, TSchema>): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    for (const [key, property] of Object.entries(properties)) if (this.below(8) > 0) value[key] = this.value(property);
    if (this.below(6) === 0) value[this.pick(KEYS)] = this.pick(ODDITIES);
    return value;
  }

  mutated(text: string): string {
    const lines = text.split("\n");
    for (let i = 0; i <= this.below(3); i++) {
      const at = this.below(lines.length);
      const line = lines[at] ?? "";
      const cut = this.below(line.length + 1);
      const edits = [
        () => lines.splice(at, 1),
        () => lines.splice(at, 0, this.pick(lines)),
        () => lines.splice(at, 1, line.slice(0, cut) + this.pick(SNIPPETS) + line.slice(cut)),
        () => lines.splice(at, 1, line.slice(0, cut) + this.pick(SNIPPETS) + line.slice(cut + this.below(8))),
        () => lines.splice(at, 1, `${this.pick(["", " ", "    ", "\t"])}${line.trimStart()}`),
      ];
      this.pick(edits)();
    }
    return lines.join(this.pick(["\n", "\n", "\r\n"]));
  }
}

const ODDITIES = [null, "", {}, [], [[]], { a: 1 }, [null], "x", 0, -1, true, Number.POSITIVE_INFINITY, "1000"];
const KEYS = ["__proto__", "constructor", "toString", "dry_rum", "", "a/b", "~0", "0", "length", "<<", "a.b\nc"];
const TEXTS = ["192.0.2.0/24", "192.0.2.0/25", "2001:db8::/32", "::/0", "192.0.2.1", "2001:db8::1", "65535:666"].concat(
  ["blackhole", "eth1", "web", "/run/x", "127.0.0.1:80", "0.0.0.0:80", "NAME", "", "ü", "a\nb"],
);
const SNIPPETS = [
  "{",
  "}",
  "[",
  "]",
  ": ",
  "- ",
  "&a ",
  "*a",
  "!x ",
  '"',
  "'",
  "#",
  "|",
  ">",
  "?",
  "%",
  "@",
  "\0",
  "\uFFFD",
  "~",
].concat([
  "<<: *a",
  "---",
  "...",
  "\t",
  "  ",
  "null",
  "1e999",
  "0x1F",
  "-0",
  "2026-11-20",
  "é",
  "\u2028",
  "\u{1F4A3}",
  "&a [*a]",
]);

describe(`with seed ${SEED}`, () => {
  test("a file with random edits", () => {
    const generator = new Generator();
    const verdicts = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const text = generator.mutated(FULL);
      verdicts.add(expectVerdict(new TextEncoder().encode(text), `round ${round}:\n${text}`));
    }
    expect([...verdicts].sort()).toEqual(["invalid", "valid"]);
  });

  test("a file with random bytes in it", () => {
    const generator = new Generator();
    for (let round = 0; round < ROUNDS; round++) {
      const bytes = new TextEncoder().encode(FULL);
      for (let i = 0; i < 3; i++) bytes[generator.below(bytes.length)] = generator.below(256);
      expectVerdict(bytes, `round ${round}`);
    }
  });

  test("random values under the known keys", () => {
    const generator = new Generator();
    for (let round = 0; round < ROUNDS; round++) {
      const text = stringify(generator.value(ConfigFile));
      expectVerdict(new TextEncoder().encode(text), `round ${round}:\n${text}`);
    }
  });
});

test.each(["{a: ", "[", "- ", "? ", "a:\n ", "&a [", "!!seq [", "'", '"\\', "|\n", "*a ", "{", ", "])(
  "%j many times",
  (text) => {
    for (const count of [1, 100, 3000])
      expectVerdict(new TextEncoder().encode(text.repeat(count)), `${count} times ${text}`);
  },
);
