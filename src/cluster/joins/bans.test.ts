import { describe, expect, test } from "bun:test";
import { AT_ONCE_MS, type BanTimes, firstRules, joinedTimes, laterRung, rungTurn, SAME_TIME_MS } from "./bans.ts";

describe("times of bans at several brains", () => {
  const own: BanTimes = { expiresAt: 10_000, holdUntil: null, repeat: 1 };

  test("are the largest of all", () => {
    const others = [
      { expiresAt: 20_000, holdUntil: null, repeat: 0 },
      { expiresAt: 5000, holdUntil: 15_000, repeat: 3 },
    ];
    expect(joinedTimes(own, others)).toEqual({ expiresAt: 20_000, holdUntil: 15_000, repeat: 3 });
    expect(joinedTimes(own, others.slice(1))).toEqual({ expiresAt: 15_000, holdUntil: 15_000, repeat: 3 });
  });

  test("stay the same object if the others have no more, or hardly more", () => {
    expect(joinedTimes(own, [])).toBe(own);
    expect(joinedTimes(own, [{ ...own, repeat: 0 }])).toBe(own);
    expect(joinedTimes(own, [{ ...own, expiresAt: 9999 + SAME_TIME_MS }])).toBe(own);
    expect(joinedTimes(own, [{ ...own, expiresAt: 10_000 + SAME_TIME_MS }]).expiresAt).toBe(11_000);
  });
});

describe("the rung", () => {
  const at = (eases: number, step: number) => ({ eases, step });

  test("is the hardest of those that went back as often", () => {
    expect([laterRung(at(0, 1), at(0, 2)), laterRung(at(1, 0), at(0, 2))]).toEqual([at(0, 2), at(1, 0)]);
    expect(rungTurn(at(0, 1), [at(0, 2), at(0, 0)])).toEqual({ leastStep: 2, isEased: false, eases: 0 });
  });

  test("goes back with the brain that decides it, a step at a time", () => {
    expect(rungTurn(at(0, 2), [at(1, 1)])).toEqual({ leastStep: 1, isEased: true, eases: 0 });
    expect(rungTurn(at(1, 1), [at(1, 1)])).toEqual({ leastStep: 0, isEased: false, eases: 1 });
    expect(rungTurn(at(0, 0), [at(1, 1)])).toEqual({ leastStep: 1, isEased: false, eases: 1 });
  });

  test("does not follow one that has not gone back yet", () => {
    expect(rungTurn(at(1, 0), [at(0, 2)])).toEqual({ leastStep: 0, isEased: false, eases: 1 });
    expect(rungTurn(at(0, 1), [])).toEqual({ leastStep: 0, isEased: false, eases: 0 });
  });

  test("comes to the same at all brains, in any order of their messages", () => {
    const rungs = [at(0, 3), at(1, 1), at(1, 2), at(0, 0)];
    const latest = (of: typeof rungs) => of.reduce(laterRung);
    expect([latest(rungs), latest(rungs.toReversed())]).toEqual([at(1, 2), at(1, 2)]);
  });
});

describe("rules", () => {
  const made = (brain: string, sinceMs: number) => ({ brain, sinceMs, rules: brain });

  test("are those that were made first", () => {
    expect(firstRules({ brain: "a", sinceMs: null }, [made("c", 900), made("b", 500)])?.rules).toBe("b");
    expect(firstRules({ brain: "a", sinceMs: 1000 }, [made("b", 500)])?.rules).toBe("b");
    expect(firstRules({ brain: "a", sinceMs: 500 }, [made("b", 1000)])).toBeNull();
    expect(firstRules({ brain: "a", sinceMs: null }, [])).toBeNull();
  });

  test("of those that were made at once are those of the lower name, at both", () => {
    const near = 1000 + AT_ONCE_MS - 1;
    expect(firstRules({ brain: "b", sinceMs: 1000 }, [made("a", near)])?.rules).toBe("a");
    expect(firstRules({ brain: "a", sinceMs: near }, [made("b", 1000)])).toBeNull();
    expect(firstRules({ brain: "b", sinceMs: 1000 }, [made("a", 1000 + AT_ONCE_MS)])).toBeNull();
  });
});
