/** Diversions by a hook that are confirmed again and again, and what requests say of their end. */
import { describe, expect, test } from "bun:test";
import { Bench, HOOK } from "../../test/fixtures/divert/bench.ts";
import { prefix } from "../../test/fixtures/networks.ts";

const A = prefix("203.0.113.0/24");

describe("a diversion", () => {
  test("says when the last ban that wants it ends, in each request but the one to end it #hook-expires-at", async () => {
    const bench = new Bench();
    bench.expiresAt = Date.parse("2026-03-01T13:00:00.000Z");
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.expiresAt += 600_000;
    await bench.pass(5);
    expect(bench.diversions.views()).toMatchObject([{ bans: [A.text], wantedUntil: bench.expiresAt }]);
    bench.want([]);
    await bench.settle();
    expect(bench.asked.map(({ action, expires_at }) => [action, expires_at])).toEqual([
      ["begin", "2026-03-01T13:00:00.000Z"],
      ["confirm", "2026-03-01T13:00:00.000Z"],
      ["confirm", "2026-03-01T13:10:00.000Z"],
      ["end", undefined],
    ]);
  });

  const CHECKED = { ...HOOK, confirmEverySeconds: 60 };

  test("is confirmed again, and requested again when it is not there any more #hook-lost", async () => {
    const bench = new Bench();
    bench.hook = CHECKED;
    bench.diversions.start();
    bench.want([A]);
    await bench.pass(61);
    expect(bench.actions).toEqual(["begin", "confirm", "confirm"]);
    let isThere = false;
    bench.answer = ({ action }) => (action === "confirm" && !isThere ? "not_yet" : "done");
    await bench.pass(60);
    // The provider may be behind: one answer does not count.
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    await bench.pass(5);
    // Its bans have time to act otherwise, as it is not diverted.
    const cause = "the scrubbing hook does not divert 203.0.113.0/24: the scrubbing center had the traffic";
    const failed = { kind: "failed" as const, cause: expect.stringContaining(cause) };
    expect(bench.diversions.stateOf(A)).toEqual(failed);
    await bench.pass(5);
    expect(bench.actions.slice(3)).toEqual(["confirm", "confirm", "begin", "confirm"]);
    expect(bench.diversions.stateOf(A)).toEqual(failed);
    const lost = { isLost: true, error: expect.stringContaining("does not confirm it any more") };
    expect(bench.diversions.views()).toMatchObject([{ phase: "confirming", ...lost }]);
    // The next process knows it, too.
    const next = new Bench(bench.disk);
    expect(next.diversions.views()).toMatchObject([{ phase: "confirming", ...lost }]);
    isThere = true;
    await bench.pass(5);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    expect(bench.diversions.views()).toMatchObject([{ phase: "diverted", error: null, begunAt: expect.any(Number) }]);
    expect(bench.diversions.views()[0]).not.toHaveProperty("isLost");
  });

  test("whose bans act otherwise once it is lost is ended, and may be wanted again a minute later #hook-lost", async () => {
    const bench = new Bench();
    bench.hook = CHECKED;
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    await bench.pass(65);
    expect(bench.faultOf(A)).toContain("does not confirm it any more");
    bench.want([]);
    await bench.settle();
    expect(bench.actions).toEqual(["begin", "confirm", "confirm", "confirm", "end"]);
    await bench.pass(59);
    expect(bench.faultOf(A)).not.toBeNull();
    await bench.pass(1);
    expect(bench.faultOf(A)).toBeNull();
  });

  test("is lost until it is diverted again, also when it cannot be begun again #hook-lost", async () => {
    const bench = new Bench();
    bench.hook = CHECKED;
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.answer = ({ action }) => {
      if (action === "confirm") return "not_yet";
      throw new Error("no room");
    };
    const phases = new Set<string>();
    for (let i = 0; i < 400; i++) {
      await bench.pass(1);
      const [view] = bench.diversions.views();
      if (view?.isLost === true) phases.add(view.phase);
      else expect([...phases]).toEqual([]);
    }
    expect([...phases]).toEqual(["failed", "beginning"]);
    bench.answer = () => "done";
    await bench.pass(HOOK.retryAfterSeconds + 60);
    expect(bench.diversions.views()).toMatchObject([{ phase: "diverted", error: null }]);
    expect(bench.diversions.views()[0]).not.toHaveProperty("isLost");
  });

  test("is confirmed as often as a reload says, from then on", async () => {
    const bench = new Bench();
    bench.hook = { ...CHECKED, confirmEverySeconds: 86_400 };
    bench.diversions.start();
    bench.want([A]);
    await bench.pass(300);
    expect(bench.actions).toEqual(["begin", "confirm"]);
    bench.hook = CHECKED;
    await bench.pass(60);
    expect(bench.actions).toEqual(["begin", "confirm", "confirm"]);
  });

  test("stays confirmed while the hook does not answer, and ends when it is not wanted meanwhile", async () => {
    const bench = new Bench();
    bench.hook = CHECKED;
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.answer = () => {
      throw new Error("no connection");
    };
    await bench.pass(300);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    expect(bench.diversions.views()).toMatchObject([{ phase: "diverted", error: "no connection" }]);
    bench.answer = () => "done";
    bench.want([]);
    await bench.settle();
    expect(bench.actions.at(-1)).toBe("end");
  });

  test.each([
    [{ ...CHECKED, confirmEverySeconds: 0 }, ["begin", "confirm"]],
    [{ ...CHECKED, confirmSeconds: 0 }, ["begin"]],
  ])("is not confirmed again where that is off", async (hook, actions) => {
    const bench = new Bench();
    bench.hook = hook;
    bench.diversions.start();
    bench.want([A]);
    await bench.pass(200);
    expect(bench.actions).toEqual(actions);
  });
});
