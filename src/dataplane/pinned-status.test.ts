import { describe, expect, test } from "bun:test";
import { NO_VERDICTS } from "../../test/fixtures/dataplane/table-filter.ts";
import type { PinnedFilter } from "./native.d.ts";
import { PINNED_EXIT_CODES, pinnedJson, pinnedLines } from "./pinned-status.ts";

const AT = "/sys/fs/bpf/floodwall";
const VERDICTS = { ...NO_VERDICTS, pass_default: { packets: 7, bytes: 700 }, drop_rule: { packets: 2, bytes: 90 } };

function pinned(changes: Partial<PinnedFilter> = {}): PinnedFilter {
  return {
    state: "healthy",
    schemas: ["v1"],
    links: [{ name: "eth1", program: 77 }],
    pairs: 3,
    rules: 4,
    namedSets: ["drop", "", "bogons"],
    verdicts: VERDICTS,
    forward: null,
    isOwned: true,
    ...changes,
  };
}

describe("in words", () => {
  test("healthy: what is in force, on which interfaces, and what became of packets", () => {
    const lines = pinnedLines(AT, pinned());
    expect(lines.slice(0, 7)).toEqual([
      `${AT}: healthy: a program is on each interface`,
      "versions   v1",
      "process    running",
      "interface  eth1: program 77",
      "in force   3 source blocks, 4 rules",
      "sets       drop, bogons",
      "pass_not_ip      0 packets, 0 bytes",
    ]);
    expect(lines).toContain("drop_rule        2 packets, 90 bytes");
  });

  test("detached: where the program is missing", () => {
    const lines = pinnedLines(AT, pinned({ state: "detached", links: [{ name: "eth1", program: 0 }], isOwned: false }));
    expect(lines).toContain("interface  eth1: no program");
    expect(lines).toContain("process    none: rules and blocks expire in time");
  });

  test("what became of packets that passed, where they are forwarded here", () => {
    const outcomes = { redirected: { packets: 5, bytes: 500 }, kernel_ttl: { packets: 0, bytes: 0 } };
    const forward = { outcomes, clamped: 0 } as unknown as NonNullable<PinnedFilter["forward"]>;
    expect(pinnedLines(AT, pinned({ forward })).slice(-2)).toEqual([
      "forwarded  by XDP, since the process started:",
      "redirected           5 packets, 500 bytes",
    ]);
  });

  test("missing and wrong schema: no counts that mean nothing", () => {
    expect(pinnedLines(AT, pinned({ state: "missing" }))).toHaveLength(1);
    const wrong = pinnedLines(AT, pinned({ state: "wrong_schema", schemas: ["v2"] }));
    expect(wrong.slice(1)).toEqual(["versions   v2", "process    running"]);
    expect(wrong[0]).toContain("of another version");
  });
});

test("as JSON", () => {
  expect(JSON.parse(pinnedJson(AT, pinned()))).toEqual({
    pin_path: AT,
    state: "healthy",
    schemas: ["v1"],
    links: [{ name: "eth1", program: 77 }],
    pairs: 3,
    rules: 4,
    named_sets: ["drop", "bogons"],
    verdicts: VERDICTS,
    forward: null,
    owned: true,
  });
});

test("each state has an exit code of its own, and none that means a fault or wrong usage", () => {
  const codes = Object.values(PINNED_EXIT_CODES);
  expect(new Set(codes).size).toBe(4);
  expect(PINNED_EXIT_CODES.healthy).toBe(0);
  expect(codes).not.toContain(1);
  expect(codes).not.toContain(2);
});
