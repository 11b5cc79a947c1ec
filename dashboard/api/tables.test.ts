import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { ENDED_ATTACKS_KEPT } from "../../src/limits.ts";
import { AttackTable, BanTable, type LiveAttack } from "./tables.ts";

const attack = (id: string, active = true, rate = 1) => ({ id, active, rate }) as AttackWire;
const ban = (prefix: string, state: BanWire["state"] = "active", started_at = "2026-03-01T12:00:00.000Z") =>
  ({ prefix, state, started_at }) as BanWire;

describe("attacks", () => {
  test("begin, go on and end by events", () => {
    const table = new AttackTable();
    table.replace({ active: [attack("a")], recent: [attack("old", false)] }, 0);
    table.apply(attack("b"), 0);
    table.apply(attack("a", true, 5), 0);
    expect(table.lists().active).toEqual([attack("a", true, 5), attack("b")]);
    table.apply(attack("a", false), 0);
    table.apply(attack("a", false), 0);
    expect(table.lists()).toEqual({ active: [attack("b")], recent: [attack("a", false), attack("old", false)] });
  });

  test("what is over does not begin again by an event that was late", () => {
    const table = new AttackTable();
    table.replace({ active: [], recent: [attack("a", false)] }, 0);
    table.apply(attack("a"), 0);
    expect(table.lists().active).toEqual([]);
  });

  test.each([-1, 0, 1])("those that are over are kept up to the service's own bound and %d", (more) => {
    const table = new AttackTable();
    for (let i = 1; i <= ENDED_ATTACKS_KEPT + more; i++) table.apply(attack(String(i), false), 0);
    const { recent } = table.lists();
    expect(recent.length).toBe(Math.min(ENDED_ATTACKS_KEPT, ENDED_ATTACKS_KEPT + more));
    expect(recent[0]?.id).toBe(String(ENDED_ATTACKS_KEPT + more));
  });

  test("what is stopped is known of the last seconds, as counts go on", () => {
    const table = new AttackTable();
    const counted = (packets: number, passed: number) =>
      ({ ...attack("a"), volume: { packets, passed_packets: passed } }) as AttackWire;
    const recent = () => (table.lists().active[0] as LiveAttack).recent;
    table.replace({ active: [counted(10_000, 10_000)], recent: [] }, 0);
    expect(recent()).toBeUndefined();
    // From now on nothing passes.
    for (let second = 1; second <= 3; second++) table.apply(counted(10_000 + 1000 * second, 10_000), 1000 * second);
    expect(recent()).toEqual({ packets: 3000, passed: 0 });
    for (let second = 4; second <= 10; second++) table.apply(counted(10_000 + 1000 * second, 10_500), 1000 * second);
    expect(recent()).toEqual({ packets: 4000, passed: 0 });
    table.apply({ ...counted(21_000, 10_500), active: false }, 11_000);
    table.apply({ ...counted(100, 100), id: "b" }, 12_000);
    expect(recent()).toBeUndefined();
  });
});

describe("bans", () => {
  test("of one prefix are distinguished by their start", () => {
    const table = new BanTable();
    table.replace([ban("192.0.2.1/32", "withdrawn", "2026-03-01T11:00:00.000Z")], 0);
    table.apply(ban("192.0.2.1/32"), 0);
    table.apply(ban("192.0.2.1/32", "withdrawn"), 0);
    expect(table.list().map(({ state, started_at }) => [state, started_at.slice(11, 13)])).toEqual([
      ["withdrawn", "11"],
      ["withdrawn", "12"],
    ]);
  });

  test("of which an event came stay as it says where a list that was made before takes their place", () => {
    const table = new BanTable();
    const states = () => table.list().map(({ prefix, state }) => `${prefix} ${state}`);
    table.replace([ban("192.0.2.1/32")], 0);
    table.apply(ban("192.0.2.1/32", "withdrawn"), 10_000);
    table.apply(ban("192.0.2.2/32"), 10_000);
    table.replace([ban("192.0.2.1/32")], 10_500);
    expect(states()).toEqual(["192.0.2.1/32 withdrawn", "192.0.2.2/32 active"]);
    // This list is newer than the events.
    table.replace([ban("192.0.2.3/32")], 12_000);
    expect(states()).toEqual(["192.0.2.3/32 active"]);
  });
});
