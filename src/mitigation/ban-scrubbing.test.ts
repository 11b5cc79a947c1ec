/** Bans that scrub: their filter over time. */
import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import {
  attackOn,
  banBy,
  classified,
  harness,
  lasts,
  policy,
  started,
  under,
  victim,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { buildScrub } from "../config/sections/scrub.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { BanEngine } from "./ban-engine.ts";
import { type Ladder, OVER_THRESHOLD_MS, STRICTER_MS } from "./escalation.ts";
import type { ScrubMeasure } from "./measure.ts";

const UDP = "flow dst 192.0.2.1/32 proto udp";

const filterOf = (engine: BanEngine, attack: Attack) =>
  (engine.banOf(attack)?.measure as ScrubMeasure | undefined)?.filter;

describe("a ban that scrubs", () => {
  test("announces nothing, and has sources of TCP prove their address while the attack may be over TCP", () => {
    const { engine, announcer } = harness(under({ method: "scrub" }));
    const attack = attackOn();
    engine.attacksChanged([started(attack)], 0);
    expect(engine.banOf(attack)).toMatchObject({
      method: "scrub",
      measure: { kind: "scrub", filter: { tcp: "transparent" } },
    });
    engine.attackClassified(classified(attack, "syn_flood"), 100);
    engine.tick(250);
    expect(engine.banOf(attack)?.measure).toMatchObject({ filter: { tcp: "transparent" } });
    engine.attackClassified(classified(attack, "udp_flood"), 500);
    engine.tick(750);
    expect(engine.banOf(attack)?.measure).toMatchObject({
      filter: { tcp: null, learnsTcp: true },
      rules: { matchesAll: false },
    });
    engine.attackClassified(classified(attack, "syn_flood"), 1000);
    engine.tick(1250);
    expect(filterOf(engine, attack)).not.toHaveProperty("learnsTcp");
    expect(announcer.wanted).toEqual([]);
  });

  test("by an operator, without an attack, has sources prove their address", async () => {
    const { engine } = harness(under({ method: "scrub" }));
    expect((await banBy(engine, victim, 0)).measure).toMatchObject({ kind: "scrub", filter: { tcp: "transparent" } });
  });

  test("does not where the hostgroup says so", () => {
    const { engine } = harness(under({ method: "scrub", scrub: buildScrub({ tcp: "off" }, []) }));
    const attack = classified(attackOn(), "syn_flood");
    engine.attacksChanged([started(attack)], 0);
    expect(engine.banOf(attack)?.measure).toMatchObject({ kind: "scrub", filter: { tcp: null } });
    engine.attackClassified(classified(attack, "udp_flood"), 500);
    engine.tick(750);
    expect(filterOf(engine, attack)).not.toHaveProperty("learnsTcp");
  });

  test("has sources of DNS queries prove their address while the attack may be over UDP", () => {
    const { engine } = harness(under({ method: "scrub", scrub: buildScrub({ profile: "dns" }, []) }));
    const attack = attackOn();
    const filter = () => filterOf(engine, attack);
    engine.attacksChanged([started(attack)], 0);
    expect(filter()).toMatchObject({ tcp: "transparent", dns: true });
    engine.attackClassified(classified(attack, "syn_flood"), 500);
    engine.tick(750);
    expect(filter()).toMatchObject({ tcp: "transparent", dns: false });
    engine.attackClassified(classified(attack, "udp_flood"), 1000);
    engine.tick(1250);
    expect(filter()).toMatchObject({ tcp: null, dns: true });
    expect(filter()?.services).toBeArray();
  });

  test("of what is always scrubbed leaves that as it is", () => {
    const always = buildScrub({ always: true, on_nodes: true, profile: "dns" }, []);
    for (const method of ["scrub", "divert"] as const) {
      const { engine } = harness(under({ method, scrub: always }));
      const [tcp, udp] = [attackOn(), attackOn(address("192.0.2.2"))];
      engine.attacksChanged([started(classified(tcp, "syn_flood")), started(classified(udp, "udp_flood"))], 0);
      const filters = [tcp, udp].map((attack) => filterOf(engine, attack));
      // Nodes have it only while there is a ban.
      const isAll = method === "scrub";
      expect(filters.map((filter) => filter?.tcp)).toEqual(["transparent", isAll ? "transparent" : null]);
      expect(filters.map((filter) => filter?.dns)).toEqual([isAll, true]);
    }
  });

  test("by order takes new terms as a whole", async () => {
    const { engine } = harness(under({ method: "scrub", scrub: buildScrub({ tcp: "off" }, []) }));
    expect((await banBy(engine, victim, 0)).measure).toMatchObject({ filter: { tcp: null, dns: false } });
    engine.reconfigure(policy(under({ method: "scrub", scrub: buildScrub({ profile: "dns" }, []) })), 1);
    expect([...engine.active.values()][0]?.measure).toMatchObject({ filter: { tcp: "transparent", dns: true } });
  });

  test("by scrub nodes has its filter with it where the hostgroup says so", () => {
    for (const on_nodes of [true, false]) {
      const { engine } = harness(under({ method: "divert", scrub: buildScrub({ on_nodes, tcp: "reset" }, []) }));
      const attack = classified(attackOn(), "syn_flood");
      engine.attacksChanged([started(attack)], 0);
      const { measure } = engine.banOf(attack) ?? {};
      expect(measure).toMatchObject({ kind: "divert", ...(on_nodes && { filter: { tcp: "reset" } }) });
      expect(Object.hasOwn(measure ?? {}, "filter")).toBe(on_nodes);
    }
  });

  test("has sources prove more once the attack gets through, before the next rung, and goes on so", () => {
    for (const scrub of [buildScrub({}, []), buildScrub({ always: true }, [])]) {
      const ladder: Ladder = [
        { afterSeconds: 0, action: "scrub" },
        { afterSeconds: 1, action: "blackhole", unlessHeld: true },
      ];
      let overThresholdMs = 0;
      const { engine } = harness(under({ ladder, scrub }), { overThresholdMs: () => overThresholdMs });
      const attack = classified(attackOn(), "syn_flood");
      engine.attacksChanged([started(attack)], 0);
      const way = (wallMs: number) => {
        engine.tick(wallMs);
        return filterOf(engine, attack)?.tcp;
      };
      overThresholdMs = STRICTER_MS - 1;
      expect(way(10_000)).toBe("transparent");
      overThresholdMs = STRICTER_MS;
      expect(way(13_000)).toBe("reset");
      overThresholdMs = 0;
      expect(way(20_000)).toBe("reset");
      expect(engine.banOf(attack)?.method).toBe("scrub");
      // Other terms are those of the operator.
      engine.reconfigure(policy(under({ ladder, scrub: buildScrub({ tcp: "off" }, []) })), 21_000);
      expect(filterOf(engine, attack)?.tcp).toBeNull();
    }
  });

  test("goes on to the next rung only while its attack is not held on this one, and stays there", () => {
    const ladder: Ladder = [
      { afterSeconds: 0, action: "scrub" },
      { afterSeconds: 10, action: "flowspec", unlessHeld: true },
      { afterSeconds: 20, action: "blackhole", unlessHeld: true },
    ];
    let overThresholdMs = 0;
    const { engine } = harness(under({ ladder }), { overThresholdMs: () => overThresholdMs });
    const attack = classified(attackOn(), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    const method = (wallMs: number) => {
      engine.tick(wallMs);
      return engine.banOf(attack)?.method;
    };
    expect([method(0), method(30_000)]).toEqual(["scrub", "scrub"]);
    overThresholdMs = OVER_THRESHOLD_MS;
    expect(method(31_000)).toBe("flowspec");
    // The next rung has its own time to hold it.
    overThresholdMs = 60_000;
    expect([method(32_000), method(31_000 + OVER_THRESHOLD_MS - 1)]).toEqual(["flowspec", "flowspec"]);
    overThresholdMs = 0;
    expect(method(60_000)).toBe("flowspec");
    overThresholdMs = OVER_THRESHOLD_MS;
    expect(method(61_000)).toBe("blackhole");
  });

  describe("goes back to a milder rung", () => {
    const ladder: Ladder = [
      { afterSeconds: 0, action: "scrub" },
      { afterSeconds: 10, action: "blackhole", unlessHeld: true },
    ];
    const AFTER_S = 60;
    const box = (deescalateAfterSeconds = AFTER_S) => {
      const state = { overThresholdMs: 0, isHere: true, wallMs: 0 };
      const attack = classified(attackOn(), "udp_flood");
      const made = harness(under({ ladder, ban: { deescalateAfterSeconds } }), {
        ...{ overThresholdMs: () => state.overThresholdMs, isHere: () => state.isHere },
      });
      made.engine.attacksChanged([started(attack)], 0);
      /** Second by second. `calm`: nothing above the thresholds comes in. Returns how often the method changed. */
      const pass = (seconds: number, calm: boolean) => {
        let changes = 0;
        for (let i = 0; i < seconds; i++) {
          const before = made.engine.banOf(attack)?.method;
          state.wallMs += 1000;
          made.engine.attacksChanged([lasts({ ...attack, calmSinceMs: calm ? 0 : null })], state.wallMs);
          made.engine.tick(state.wallMs);
          if (made.engine.banOf(attack)?.method !== before) changes++;
        }
        return changes;
      };
      /** It is not held. */
      const climb = () => {
        state.overThresholdMs = OVER_THRESHOLD_MS;
        const changes = pass(11, false);
        state.overThresholdMs = 0;
        return changes;
      };
      return { ...made, attack, state, pass, climb, method: () => made.engine.banOf(attack)?.method };
    };

    test("after nothing above the thresholds came in for its time, and not while something does", () => {
      const { pass, climb, method } = box();
      climb();
      expect(method()).toBe("blackhole");
      expect(pass(3 * AFTER_S, false)).toBe(0);
      expect(pass(AFTER_S, true)).toBe(0);
      expect(pass(1, false)).toBe(0);
      expect(pass(AFTER_S, true)).toBe(0);
      expect(pass(2, true)).toBe(1);
      expect(method()).toBe("scrub");
      const never = box(0);
      never.climb();
      expect(never.pass(100 * AFTER_S, true)).toBe(0);
    });

    test("and keeps the harder one's route until the kernel has the milder one's rules", () => {
      const { announcer, state, pass, climb, method } = box();
      climb();
      const route = [...announcer.wanted];
      expect(route).toHaveLength(1);
      state.isHere = false;
      pass(AFTER_S + 30, true);
      expect([method(), announcer.wanted]).toEqual(["scrub", route]);
      state.isHere = true;
      pass(1, true);
      expect([method(), announcer.wanted]).toEqual(["scrub", []]);
    });

    test("each time half as often, where the attack waits behind the harder one", () => {
      const { state, pass, climb, method } = box();
      climb();
      let changes = 0;
      const hours = 12;
      while (state.wallMs < hours * 3_600_000) {
        // Behind a blackhole nothing comes in; beside scrubbing all of it.
        if (method() === "blackhole") changes += pass(1, true);
        else changes += climb();
      }
      expect(changes).toBeGreaterThanOrEqual(6);
      expect(changes).toBeLessThanOrEqual(2 * Math.ceil(Math.log2((hours * 3600) / AFTER_S)));
    });

    test("after the same time where the clock is set meanwhile", () => {
      const { engine, state, pass, climb } = box();
      climb();
      pass(AFTER_S - 10, true);
      for (const byMs of [86_400_000, -7 * 86_400_000]) {
        state.wallMs += byMs;
        engine.clockStepped(byMs, state.wallMs);
        expect(pass(1, true)).toBe(0);
      }
      expect(pass(10, true)).toBe(1);
    });

    test("but not by itself from an operator's ban", async () => {
      const { engine, state, pass, climb, method } = box();
      climb();
      await banBy(engine, victim, state.wallMs);
      expect(pass(3 * AFTER_S, true)).toBe(0);
      expect(method()).toBe("blackhole");
    });
  });

  test("goes on to FlowSpec when its rung ends", () => {
    const ladder: Ladder = [
      { afterSeconds: 0, action: "scrub" },
      { afterSeconds: 10, action: "flowspec" },
    ];
    const { engine, announcer } = harness(under({ ladder }));
    const attack = classified(attackOn(), "udp_flood");
    engine.attacksChanged([started(attack)], 0);
    expect(announcer.wanted).toEqual([]);
    engine.tick(10_000);
    expect(announcer.wanted).toEqual([UDP]);
  });
});
