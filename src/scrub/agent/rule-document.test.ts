import { describe, expect, test } from "bun:test";
import { ACTIVE_BANS_MAX, DYNAMIC_RULES_MAX } from "../../limits.ts";
import { RANGES_MAX } from "../../mitigation/rules/match.ts";
import { exactly } from "../../net/range.ts";
import {
  DocumentProblem,
  type ReadDocument,
  RULE_DOCUMENT_BYTES_MAX,
  readDocument as readWith,
} from "./rule-document.ts";

const EXPIRES = "2026-03-01T12:10:00.000Z";
const BAN = {
  target: "203.0.113.9",
  prefix: "203.0.113.9/32",
  method: "divert",
  expires_at: EXPIRES,
  flowspec: [{ dst: "203.0.113.9/32", proto: 17, src_port: 53, action: "discard" }],
};

const textOf = (bans: unknown, more: object = {}) => JSON.stringify({ version: 1, bans, ...more });

function readDocument(text: string, maxRules = DYNAMIC_RULES_MAX, known: readonly string[] = []): ReadDocument {
  return readWith(text, { maxRules, isKnown: (prefix) => known.includes(prefix) });
}

/** In words: how much was read, or why it is refused as a whole. */
function problemOf(text: string, maxRules = DYNAMIC_RULES_MAX): string {
  try {
    return `read: ${readDocument(text, maxRules).bans.length} bans`;
  } catch (cause) {
    if (cause instanceof DocumentProblem) return cause.message;
    throw cause;
  }
}

test("reads bans of addresses and of prefixes, virtual ones, and such without rules", () => {
  const { flowspec: _, ...plain } = BAN;
  const { bans } = readDocument(
    textOf([
      BAN,
      { ...plain, prefix: "203.0.113.8/29" },
      { ...BAN, prefix: "2001:db8::9/128", flowspec: [], dry_run: true },
    ]),
    DYNAMIC_RULES_MAX,
  );
  expect(bans.map(({ prefix, isVirtual, rules }) => [prefix.text, isVirtual, rules.length])).toEqual([
    ["203.0.113.9/32", false, 1],
    ["203.0.113.8/29", false, 0],
    ["2001:db8::9/128", true, 0],
  ]);
  expect(bans[0]?.expiresAtMs).toBe(Date.parse(EXPIRES));
  expect(bans[0]?.rules[0]).toMatchObject({ protocols: exactly(17), sourcePorts: [{ from: 53, to: 53 }] });
});

test("reads the filter of a ban", () => {
  const filtered = (scrub: unknown) => readDocument(textOf([{ ...BAN, scrub }])).bans[0]?.filter;
  expect(filtered({ tcp: "reset", services: [{ proto: 6 }] })).toMatchObject({
    tcp: "reset",
    services: [{ protocol: 6, ports: [], sourcePorts: [] }],
  });
  expect(filtered(undefined)).toBeNull();
});

test("an empty list is a document, and unknown keys are left alone", () => {
  expect(readDocument(textOf([], { generation: 7 }), 1)).toEqual({ bans: [], refused: [] });
  expect(readDocument(textOf([{ ...BAN, tenant: "a", flowspec: [] }]), 1).bans).toHaveLength(1);
});

describe("refuses the whole", () => {
  test.each([
    ["no JSON", "<html>", "it is no JSON"],
    ["a cut one", textOf([BAN]).slice(0, -3), "it is no JSON"],
    ["another kind of value", "[]", "the document: must be an object"],
    ["null", "null", "the document: must be an object"],
    ["no version", "{}", "version: missing is not 1, the supported version: update the agent"],
    ["a later version", textOf([], { version: 2 }), "version: 2 is not 1, the supported version: update the agent"],
    [
      "a version as text",
      textOf([], { version: "1" }),
      'version: "1" is not 1, the supported version: update the agent',
    ],
    ["no bans", textOf(null), "bans: must be a list"],
  ])("%s", (_, text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });
});

describe("refuses a ban as a whole, and reads the others", () => {
  const other = { ...BAN, prefix: "203.0.113.8/32", flowspec: [{ action: "discard" }] };
  test.each<[string, unknown, string]>([
    ["one that is none", 7, "must be an object"],
    ["null", null, "must be an object"],
    ["a prefix that is none", { ...BAN, prefix: "203.0.113.9" }, "prefix: must be a CIDR without host bits"],
    ["no expiry", { ...BAN, expires_at: null }, "expires_at: must be a time (RFC 3339)"],
    ["a day that is none", { ...BAN, expires_at: "2026-02-30T00:00:00Z" }, "expires_at: must be a time (RFC 3339)"],
    ["a dry run that is none", { ...BAN, dry_run: "no" }, "dry_run: must be true or false"],
    ["rules that are none", { ...BAN, flowspec: {} }, "flowspec: must be a list"],
    [
      "one bad rule of two",
      { ...BAN, flowspec: [...BAN.flowspec, { action: "drop" }] },
      "flowspec[1]: action: must be discard or rate_limit",
    ],
    [
      "a rule for another victim",
      { ...BAN, flowspec: [{ dst: "203.0.113.10/32", action: "discard" }] },
      "flowspec[0]: dst: 203.0.113.10/32 is not inside of 203.0.113.9/32",
    ],
    ["a filter that is none", { ...BAN, scrub: { tcp: "syn" } }, "scrub: tcp: must be reset or transparent"],
  ])("%s", (_, bad, reason) => {
    const { bans, refused } = readDocument(textOf([bad, other]));
    expect(bans.map(({ prefix }) => prefix.text)).toEqual(["203.0.113.8/32"]);
    expect(refused).toMatchObject([{ cause: "unreadable", reason }]);
  });

  test("a prefix that is there twice: which of the two is meant is unknown", () => {
    const { bans, refused } = readDocument(textOf([BAN, other, BAN]));
    expect(bans).toHaveLength(1);
    expect(refused.map(({ prefix, reason }) => [prefix?.text, reason])).toEqual(
      new Array(2).fill(["203.0.113.9/32", "the document has another ban of this prefix"]),
    );
  });

  test("what has no room among all rules: first comes what was taken before", () => {
    const three = { ...other, flowspec: new Array(3).fill({ action: "discard" }) };
    const taken = (maxRules: number, ...known: string[]) =>
      readDocument(textOf([three, BAN]), maxRules, known).bans.map(({ prefix }) => prefix.text);
    expect(taken(4)).toHaveLength(2);
    expect(taken(3)).toEqual(["203.0.113.8/32"]);
    expect(taken(3, "203.0.113.9/32")).toEqual(["203.0.113.9/32"]);
    expect(taken(2)).toEqual(["203.0.113.9/32"]);
    expect(readDocument(textOf([three, BAN]), 3).refused).toMatchObject([
      { cause: "out_of_bounds", reason: "more than bounds.max_rules, 3, in all" },
    ]);
    const services = Array.from({ length: 9 }, () => ({ proto: 6 }));
    expect(readDocument(textOf([{ ...BAN, scrub: { services } }]), 9).bans).toEqual([]);
  });
});

describe("has bounds", () => {
  const bans = (count: number, rules = 0) =>
    textOf(
      Array.from({ length: count }, (_, i) => ({
        ...BAN,
        prefix: `10.0.${i >> 8}.${i & 255}/32`,
        flowspec: Array.from({ length: rules }, () => ({ action: "discard" })),
      })),
    );

  test("of bans", () => {
    expect(problemOf(bans(ACTIVE_BANS_MAX))).toBe(`read: ${ACTIVE_BANS_MAX} bans`);
    expect(problemOf(bans(ACTIVE_BANS_MAX + 1))).toBe(`bans: more than ${ACTIVE_BANS_MAX}`);
  });

  test("of rules", () => {
    expect(problemOf(bans(256, DYNAMIC_RULES_MAX / 256))).toBe("read: 256 bans");
    expect(problemOf(bans(257, DYNAMIC_RULES_MAX / 256))).toBe("read: 256 bans");
    expect(problemOf(bans(2, 2), 4)).toBe("read: 2 bans");
    expect(problemOf(bans(2, 2), 3)).toBe("read: 1 bans");
  });

  test("of levels and values, before it is parsed", () => {
    const nested = (levels: number) => textOf([], { more: JSON.parse("[".repeat(levels) + "]".repeat(levels)) });
    expect(problemOf(nested(15))).toBe("read: 0 bans");
    expect(problemOf(nested(16))).toBe("lists and objects in more than 16 levels");
    expect(problemOf("[".repeat(RULE_DOCUMENT_BYTES_MAX))).toBe("lists and objects in more than 16 levels");
    const values = (count: number) => textOf([], { more: new Array<number>(count).fill(0) });
    // The two keys of the document, its three lists and objects.
    const most = ACTIVE_BANS_MAX * 16 + 64;
    expect(problemOf(values(most - 4), 1)).toBe("read: 0 bans");
    expect(problemOf(values(most - 3), 1)).toBe("more values than 1 rules can have");
  });

  test("that a rule with all there is does not reach", () => {
    const ranges = Array.from({ length: RANGES_MAX }, (_, i) => ({ from: 10 * i + 1, to: 10 * i + 5 }));
    const full = {
      ...{ dst: "203.0.113.9/32", src: "192.0.2.0/24", proto: 6, src_ports: ranges, dst_ports: ranges },
      ...{ tcp_flags: 2, tcp_flags_unset: 16, fragment: true, packet_length: { min: 40, max: 60 } },
      ...{ action: "rate_limit", rate_bytes: 1e6 },
    };
    const rules = 10_000;
    expect(problemOf(textOf([{ ...BAN, flowspec: new Array(rules).fill(full) }]), rules)).toBe("read: 1 bans");
  });
});
