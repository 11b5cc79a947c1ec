/** Bans over time: methods, ladders and repetitions. */
import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  classified,
  ended,
  flush,
  harness,
  lasts,
  policy,
  started,
  unbanBy,
  under,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { communitiesOf } from "../../test/fixtures/networks.ts";
import type { Ladder } from "./escalation.ts";

const UNICAST = "192.0.2.1/32";
const UDP = "flow dst 192.0.2.1/32 proto udp";
const TCP = "flow dst 192.0.2.1/32 proto tcp";
const ALL = "flow dst 192.0.2.1/32";
const LADDER: Ladder = [
  { afterSeconds: 0, action: "none" },
  { afterSeconds: 10, action: "flowspec" },
  { afterSeconds: 60, action: "divert" },
  { afterSeconds: 120, action: "blackhole" },
];

describe("a ban by FlowSpec", () => {
  test("waits for the first classification of the attack, then matches that", () => {
    const { engine, announcer } = harness({ ...under({ method: "flowspec" }), evidenceWaitMs: 1000 });
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 0);
    engine.tick(500);
    expect(announcer.wanted).toEqual([]);
    expect(engine.banOf(attack)).toMatchObject({ method: "flowspec", state: "active" });
    engine.attackClassified(classified(attack, "udp_flood"), 600);
    expect(announcer.wanted).toEqual([UDP]);
    expect(engine.banOf(attack)?.measure).toMatchObject({ matchesAll: false });
  });

  test("matches everything only when packets were waited for in vain, and says so", () => {
    const { engine, announcer } = harness({ ...under({ method: "flowspec" }), evidenceWaitMs: 1000 });
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 0);
    engine.tick(2999);
    expect(announcer.wanted).toEqual([]);
    engine.tick(3000);
    expect(announcer.wanted).toEqual([ALL]);
    expect(engine.banOf(attack)?.measure).toMatchObject({ matchesAll: true });
    engine.attackClassified(classified(attack, "udp_flood"), 5000);
    expect(announcer.wanted).toEqual([ALL, UDP]);
    engine.tick(5250);
    expect(announcer.wanted).toEqual([UDP]);
  });

  test("follows a change of vector, make before break, and no mere change of shares", () => {
    const { engine, announcer } = harness(under({ method: "flowspec" }));
    const attack = classified(attackOn(), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    const calls = announcer.calls;
    engine.attackClassified({ ...attack, classification: { ...attack.classification, confidence: 0.7 } as never }, 1);
    engine.tick(250);
    expect(announcer.calls).toBe(calls);
    announcer.states.set(TCP, { kind: "pending" });
    engine.attackClassified(classified(attack, "syn_flood"), 500);
    engine.tick(750);
    expect(announcer.wanted).toEqual([TCP, UDP]);
    announcer.states.delete(TCP);
    engine.tick(1000);
    expect(announcer.wanted).toEqual([TCP]);
  });

  test("that an operator requested matches everything", async () => {
    const { engine, announcer } = harness({ ...under({ method: "flowspec" }), evidenceWaitMs: 1000 });
    expect((await banBy(engine, victim, 0)).measure).toMatchObject({ matchesAll: true });
    expect(announcer.wanted).toEqual([ALL]);
  });

  test("keeps its rules over a restart, and while it outlasts its attack", async () => {
    const flowspec = under({ method: "flowspec" });
    const before = harness(flowspec);
    const attack = classified(attackOn(), "udp_flood");
    before.engine.attacksChanged([started(attack)], 0);
    await banBy(before.engine, victim, 1);
    await flush(before.engine);
    const after = harness(flowspec);
    after.engine.restore({ bans: [...before.disk.values()], attacks: [attack] }, 2);
    expect(after.announcer.wanted).toEqual([UDP]);
    expect([...after.engine.active.values()]).toEqual([...before.disk.values()]);
    after.engine.attacksChanged([ended(attack)], 3);
    after.engine.tick(250);
    expect(after.announcer.wanted).toEqual([UDP]);
  });
});

describe("an escalation ladder", () => {
  test("is climbed as its rungs fall due, each route out before the one before goes", () => {
    const { engine, announcer } = harness(under({ ladder: LADDER }));
    const attack = classified(attackOn(), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    const at = (ms: number) => {
      engine.attacksChanged([lasts(attack)], ms);
      engine.tick(ms);
      const { step, method } = engine.banOf(attack) ?? {};
      return [step, method, ...announcer.wanted];
    };
    expect(at(0)).toEqual([0, "flowspec"]);
    expect(at(9999)).toEqual([0, "flowspec"]);
    expect(at(10_000)).toEqual([1, "flowspec", UDP]);
    announcer.states.set(UNICAST, { kind: "pending" });
    expect(at(60_000)).toEqual([2, "divert", UNICAST, UDP]);
    expect(announcer.routes[0]).toMatchObject({
      kind: "unicast",
      nextHop: "198.51.100.2",
      communities: communitiesOf("64500:2"),
    });
    announcer.states.delete(UNICAST);
    expect(at(60_250)).toEqual([2, "divert", UNICAST]);
    expect(at(120_000)).toEqual([3, "blackhole", UNICAST]);
    expect(announcer.routes[0]).toMatchObject({ nextHop: "198.51.100.1" });
  });

  test("leaves out a rung that has no next hop for the address while the one before acts", () => {
    const divert = { nextHop: null, nextHop6: address("2001:db8::1"), communities: [], localPref: 0 };
    const { engine, announcer } = harness(under({ ladder: LADDER, divert, ban: { fallback: "none" } }));
    const attack = classified(attackOn(), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    for (const atMs of [10_000, 60_000, 61_000]) {
      engine.attacksChanged([lasts(attack)], atMs);
      engine.tick(atMs);
      expect(announcer.wanted).toEqual([UDP]);
    }
    expect(engine.banOf(attack)).toMatchObject({ method: "flowspec", step: 1 });
    engine.attacksChanged([lasts(attack)], 120_000);
    engine.tick(120_000);
    expect(engine.banOf(attack)).toMatchObject({ method: "blackhole", step: 3 });
  });

  test("is climbed to the highest due rung after a pause", () => {
    const { engine } = harness(under({ ladder: LADDER }));
    engine.attacksChanged([started(attackOn())], 0);
    engine.tick(500_000);
    expect([...engine.active.values()]).toMatchObject([{ step: 3, method: "blackhole" }]);
  });

  test("does not depend on steps of the wall clock", () => {
    const { engine } = harness(under({ ladder: LADDER }));
    engine.attacksChanged([started(attackOn())], 0);
    engine.clockStepped(86_400_000, 86_400_000);
    engine.tick(86_400_000 + 9999);
    expect([...engine.active.values()]).toMatchObject([{ step: 0, startedAt: 0 }]);
    engine.clockStepped(-86_400_000, 10_000);
    engine.tick(10_000);
    expect([...engine.active.values()]).toMatchObject([{ step: 1 }]);
  });

  test("starts a manual ban at the first rung that acts", async () => {
    const { engine, announcer } = harness(under({ ladder: LADDER }));
    expect(await banBy(engine, victim, 0)).toMatchObject({ step: 1, method: "flowspec", escalation: LADDER });
    expect(announcer.wanted).toEqual([ALL]);
  });

  test("that an operator's refresh finds watching acts at once", async () => {
    const { engine, announcer } = harness(under({ ladder: LADDER }));
    engine.attacksChanged([started(classified(attackOn(), "udp_flood"))], 0);
    expect(await banBy(engine, victim, 100)).toMatchObject({ step: 1, manual: true });
    expect(announcer.wanted).toEqual([UDP]);
  });

  test("is climbed in dry run too, where nothing is announced", () => {
    const { engine, announcer } = harness({ ...under({ ladder: LADDER }), dryRun: true });
    engine.attacksChanged([started(attackOn())], 0);
    engine.tick(60_000);
    expect([...engine.active.values()]).toMatchObject([{ step: 2, method: "divert", dryRun: true }]);
    expect(announcer.wanted).toEqual([]);
  });
});

describe("a reload", () => {
  test("converts bans to the new method, make before break", () => {
    const { engine, announcer } = harness();
    engine.attacksChanged([started(classified(attackOn(), "udp_flood"))], 0);
    announcer.states.set(UDP, { kind: "pending" });
    engine.reconfigure(policy(under({ method: "flowspec" })), 1000);
    expect(announcer.wanted).toEqual([UNICAST, UDP]);
    announcer.states.delete(UDP);
    engine.tick(1250);
    expect(announcer.wanted).toEqual([UDP]);
    expect([...engine.active.values()]).toMatchObject([{ id: "ban-1", startedAt: 0, method: "flowspec" }]);
  });

  test("that brings a ladder counts it from the ban's start; one that takes it away leaves the method", () => {
    const { engine } = harness();
    engine.attacksChanged([started(attackOn())], 0);
    engine.reconfigure(policy(under({ ladder: LADDER })), 61_000);
    expect([...engine.active.values()]).toMatchObject([{ step: 2, method: "divert", escalation: LADDER }]);
    engine.reconfigure(policy(), 62_000);
    expect([...engine.active.values()]).toMatchObject([{ step: 0, method: "blackhole", escalation: null }]);
  });

  test("moves bans to the terms of the group that has their address now", async () => {
    const { engine, announcer } = harness();
    await banBy(engine, victim, 0);
    const other = address("198.51.100.77");
    const terms = { nextHop: other, nextHop6: null, communities: communitiesOf("1:2"), localPref: 5 };
    engine.reconfigure(policy(under({ group: "web", blackhole: terms })), 1);
    expect(announcer.routes).toMatchObject([{ nextHop: other, communities: communitiesOf("1:2"), localPref: 5 }]);
  });
});

describe("two attacks on one host", () => {
  test("share one ban, which ends with the later of them", () => {
    const { engine, announcer } = harness();
    const incoming = attackOn(victim, "in");
    const outgoing = { ...attackOn(victim, "out"), direction: "outgoing" } as const;
    engine.attacksChanged([started(incoming), started(outgoing)], 0);
    expect(engine.active.size).toBe(1);
    expect(engine.banOf(outgoing)).toBe(engine.banOf(incoming));
    engine.attacksChanged([ended(incoming), lasts(outgoing)], 1000);
    expect(announcer.wanted).toEqual([UNICAST]);
    engine.attacksChanged([{ kind: "ended", attack: { ...outgoing, endedAt: 2000 } }], 2000);
    expect(announcer.wanted).toEqual([]);
    expect(engine.banOf({ ...outgoing, endedAt: 2000 })).toMatchObject({ reason: "attack ended" });
  });

  test("are both left alone after an operator lifted it, until they end", async () => {
    const { engine } = harness();
    const [incoming, outgoing] = [attackOn(victim, "in"), attackOn(victim, "out")];
    engine.attacksChanged([started(incoming), started(outgoing)], 0);
    await unbanBy(engine, victim, 1);
    engine.attacksChanged([lasts(incoming), lasts(outgoing)], 2);
    expect(engine.active.size).toBe(0);
  });
});

describe("after an operator's unban", () => {
  test("no attack brings the ban back for the cooldown, and the refusal says so", async () => {
    const { engine, disk } = harness(under({ ban: { cooldownSeconds: 60 } }));
    await banBy(engine, victim, 0);
    await unbanBy(engine, victim, 1000);
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 2000);
    expect(engine.banOf(attack)).toMatchObject({ state: "rejected", reason: "cooldown after unban" });
    const restarted = harness(under({ ban: { cooldownSeconds: 60 } }));
    restarted.engine.restore({ bans: [...disk.values()], attacks: [attack] }, 3000);
    restarted.engine.attacksChanged([lasts(attack)], 3100);
    expect(restarted.engine.active.size).toBe(0);
    engine.attacksChanged([lasts(attack)], 60_999);
    expect(engine.active.size).toBe(0);
    engine.attacksChanged([lasts(attack)], 61_000);
    expect(engine.active.size).toBe(1);
  });

  test("an operator may ban again at once", async () => {
    const { engine } = harness(under({ ban: { cooldownSeconds: 60 } }));
    await banBy(engine, victim, 0);
    await unbanBy(engine, victim, 1000);
    expect((await banBy(engine, victim, 1001)).state).toBe("active");
  });
});

describe("a victim that is hit again soon after its ban", () => {
  const repeating = { repeatWindowSeconds: 60, repeatHoldSeconds: 100, repeatHoldMaxSeconds: 300 };
  /** An attack that seems to end one second after its ban, repeatedly. */
  function vanishing(gapMs: number, overrides: Partial<typeof repeating> = {}) {
    const { engine, disk } = harness(under({ ban: { ...repeating, ...overrides } }));
    const lasted: number[] = [];
    let now = 0;
    for (let i = 0; i < 5; i++) {
      const attack = { ...attackOn(victim, `a${i}`), startedAt: now };
      engine.attacksChanged([started(attack)], now);
      const began = now;
      engine.attacksChanged([{ kind: "ended", attack: { ...attack, endedAt: now + 1000 } }], now + 1000);
      now += 1000;
      while (engine.active.size > 0) {
        now += 1000;
        engine.tick(now);
      }
      lasted.push((now - began) / 1000);
      now += gapMs;
    }
    return { engine, disk, lasted };
  }

  test("gets a ban that holds, twice as long each time, up to a bound", () => {
    const { engine, lasted } = vanishing(5000);
    expect(lasted).toEqual([1, 100, 200, 300, 300]);
    expect(engine.all().map(({ repeat }) => repeat)).toEqual([0, 1, 2, 3, 4]);
  });

  test("does not when it was left alone for a while, or by setting", () => {
    expect(vanishing(60_000).lasted).toEqual([1, 1, 1, 1, 1]);
    expect(vanishing(5000, { repeatWindowSeconds: 0 }).lasted).toEqual([1, 1, 1, 1, 1]);
  });

  test("is remembered over a restart", async () => {
    const { engine, disk } = vanishing(5000);
    await flush(engine);
    const after = harness(under({ ban: repeating }));
    const bans = [...disk.values()].sort((a, b) => a.startedAt - b.startedAt);
    const last = bans.at(-1)?.withdrawnAt ?? 0;
    after.engine.restore({ bans, attacks: [] }, last + 1000);
    after.engine.attacksChanged([started(attackOn(victim, "again"))], last + 2000);
    expect([...after.engine.active.values()]).toMatchObject([{ repeat: 5, holdUntil: last + 302_000 }]);
  });

  test("does not when it was policy that ended the ban", () => {
    const { engine } = harness(under({ ban: repeating }));
    engine.attacksChanged([started(attackOn(victim, "a"))], 0);
    engine.reconfigure(policy({ ...under({ ban: repeating }), isWhitelisted: () => true }), 1000);
    expect(engine.active.size).toBe(0);
    engine.reconfigure(policy(under({ ban: repeating })), 2000);
    engine.attacksChanged([lasts(attackOn(victim, "a"))], 2000);
    expect([...engine.active.values()]).toMatchObject([{ repeat: 0, holdUntil: null }]);
  });

  test("restarts the count after an operator's unban, and a manual ban is no repetition", async () => {
    const { engine } = harness(under({ ban: repeating }));
    engine.attacksChanged([started(attackOn(victim, "a"))], 0);
    await unbanBy(engine, victim, 1000);
    engine.attacksChanged([ended(attackOn(victim, "a")), started(attackOn(victim, "b"))], 2000);
    expect([...engine.active.values()]).toMatchObject([{ repeat: 0, holdUntil: null }]);
    engine.attacksChanged([ended(attackOn(victim, "b"))], 3000);
    expect(await banBy(engine, victim, 4000)).toMatchObject({ repeat: 0, holdUntil: null });
  });
});
