import { describe, expect, test } from "bun:test";
import type { ZoneStatusWire } from "../../src/http/wire/edge/status.ts";
import { certDays, leverEffect, leverResult, zoneWords } from "./edge.ts";

const NOON = Date.parse("2026-03-01T12:00:00Z");

function zone(changes: Partial<ZoneStatusWire> = {}): ZoneStatusWire {
  return {
    zone: "shop.example",
    mode: "decide",
    file_challenge: "off",
    nodes: 2,
    rps: 10,
    placement: { nodes: 2, alive: 2 },
    ...changes,
  };
}

const words = (changes: Partial<ZoneStatusWire>) => zoneWords(zone(changes), NOON).map(({ text }) => text);
const cert = (days: number) => ({ node: "e1", not_after: new Date(NOON + days * 86_400_000).toISOString() });
const lever = (mode: "auto" | "manual") => ({ mode, until: "2026-03-01T13:00:00Z", reason: "" });

describe("zoneWords", () => {
  test.each([
    [{}, ["served"]],
    [{ unserved: true as const, nodes: 0 }, ["unserved"]],
    [{ placement: { nodes: 0, alive: 0 }, nodes: 0 }, ["no node serves it"]],
    [{ nodes: 0 }, ["no report"]],
    [{ nodes: 0, mode: "none" as const }, ["no policy"]],
    [{ placement: { nodes: 3, alive: 2 } }, ["1 node lost"]],
    [{ certs: [cert(90), cert(9.5)] }, ["certificate: 9 d"]],
    [{ certs: [cert(-0.5)] }, ["certificate expired"]],
    [{ certs: [cert(14)] }, ["served"]],
    [{ override: lever("manual") }, ["challenge override: everybody", "served"]],
    [{ challenge_active: [{ node: "e1", dry_run: true }] }, ["would challenge", "served"]],
    [
      { challenge_active: [{ node: "e1", dry_run: false }], override: lever("auto") },
      ["challenging", "challenge override: when it is busy"],
    ],
    [{ watch_only: ["e1"] }, ["watch only", "served"]],
  ])("%j", (changes, expected) => {
    expect(words(changes)).toEqual(expected);
  });

  test("of one that is not in the file any more shows its lever only", () => {
    const gone = { zone: "old.example", nodes: 0, rps: 0, override: lever("auto") };
    expect(zoneWords(gone, NOON).map(({ text }) => text)).toEqual([
      "not in the zones file",
      "challenge override: when it is busy",
    ]);
  });
});

test("days left are those of the first that runs out", () => {
  expect(certDays(zone(), NOON)).toBeNull();
  expect(certDays(zone({ certs: [cert(30.9), cert(20.1)] }), NOON)).toBe(20);
});

describe("leverEffect", () => {
  test("says what visitors see", () => {
    expect(leverEffect("manual", zone())).toStartWith("Every visitor gets a short check");
    expect(leverEffect("auto", zone())).toContain("more requests than its file allows (auto.zone_rps)");
    expect(leverEffect("manual", zone({ watch_only: ["e1"] }))).toStartWith("Every visitor");
  });

  test("that is nothing if all nodes are in dry run", () => {
    const watched = zone({ watch_only: ["e1"], rung_watch_only: ["e1", "e2"] });
    expect(leverEffect("manual", watched)).toStartWith("Visitors notice nothing");
  });
});

describe("leverResult", () => {
  const lever = { zone: "shop.example", file_mode: "off", zone_watch_only: false, rung_watch_only: false } as const;
  const nodes = [
    { name: "e1", alive: true, dry_run: false },
    { name: "e2", alive: true, dry_run: true },
    { name: "e3", alive: false },
  ];

  test("names what may keep it from being felt", () => {
    expect(leverResult({ ...lever, mode: "manual", nodes })).toEqual([
      "Visitors are challenged from now on, by each node as soon as it has the order.",
      "2 of its 3 nodes are alive and informed at once.",
      "In dry run, and so without effect: e2.",
    ]);
    expect(leverResult({ ...lever, mode: "auto", rung_watch_only: true, nodes: [] }).join(" ")).toContain(
      "challenge_options.dry_run",
    );
  });

  test("of one that was cleared says that", () => {
    expect(leverResult({ ...lever, nodes })).toEqual(["The zone follows its zones file again."]);
  });
});
