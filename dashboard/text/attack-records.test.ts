import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { attackCsv, victimCounts, victimsText } from "./attack-records.ts";

const attack = (target: string, changes: Partial<AttackWire> = {}) =>
  ({
    id: `a of ${target}`,
    target,
    group: "global",
    direction: "incoming",
    metric: "pps",
    threshold: 1000,
    dry_run: false,
    started_at: "2026-03-01T12:00:00Z",
    ended_at: "2026-03-01T12:01:00Z",
    volume: { duration_seconds: 58.2, peak_pps: 5000, peak_mbps: 40, packets: 100, bits: 8000 },
    ...changes,
  }) as AttackWire;

test("who was attacked repeatedly is counted", () => {
  const counts = victimCounts([attack("192.0.2.1"), attack("192.0.2.2"), attack("192.0.2.1")]);
  expect([...counts]).toEqual([
    ["192.0.2.1", 2],
    ["192.0.2.2", 1],
  ]);
  expect(victimsText(counts)).toBe("3 attacks on 2 victims, 1 of them attacked repeatedly");
  expect(victimsText(victimCounts([attack("192.0.2.1")]))).toBe("1 attack on 1 victim");
});

test("the file has a line for each, runs no formula, and says if it is cut", () => {
  const text = attackCsv([attack("192.0.2.1", { tenant: "=cmd", group: 'a,"b"' })], 200);
  const [header = "", row, cut, end] = text.split("\r\n");
  expect(header).toStartWith(
    "victim,hostgroup,tenant,direction,kind,started_at,ended_at,duration_seconds,peak_packets",
  );
  expect(row).toBe(
    `192.0.2.1,"a,""b""",'=cmd,incoming,,2026-03-01T12:00:00Z,2026-03-01T12:01:00Z,58.2,5000,40,,100,1000,,,pps,1000,false,a of 192.0.2.1`,
  );
  expect(cut).toMatch(/^CUT: the range has more attacks than the newest 200,+$/);
  expect(cut?.split(",")).toHaveLength(header.split(",").length);
  expect(end).toBe("");
  expect(attackCsv([], null).split("\r\n")).toHaveLength(2);
});
