/** Diversions by a hook: begun, confirmed and ended, over failures and restarts. */
import { describe, expect, test } from "bun:test";
import { Bench, HOOK } from "../../test/fixtures/divert/bench.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { DIVERSIONS_MAX } from "./diversions.ts";
import type { HookAnswer } from "./hook.ts";

const A = prefix("203.0.113.0/24");
const B = prefix("198.51.100.0/24");
describe("a diversion", () => {
  test("that no ban wants any more while it is written to disk ends", async () => {
    const bench = new Bench();
    bench.hook = { ...HOOK, confirmSeconds: 0 };
    bench.diversions.start();
    bench.want([A]);
    for (let turns = 0; turns < 40; turns++) {
      await Promise.resolve();
      if (bench.diversions.stateOf(A).kind === "announced") break;
    }
    bench.want([]);
    await bench.settle();
    expect(bench.actions).toEqual(["begin", "end"]);
  });

  test("is on disk before the hook is called, confirmed once it is, and ended when no ban wants it", async () => {
    const bench = new Bench();
    const onDisk: number[] = [];
    let confirmed: HookAnswer = "not_yet";
    bench.answer = ({ action }) => {
      onDisk.push(bench.disk.length);
      return action === "confirm" ? confirmed : "done";
    };
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    expect(bench.actions).toEqual(["begin", "confirm"]);
    expect(onDisk[0]).toBe(1);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "pending" });
    confirmed = "done";
    await bench.pass(5);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.want([A]);
    await bench.pass(120);
    expect(bench.actions).toEqual(["begin", "confirm", "confirm"]);
    bench.want([]);
    await bench.settle();
    expect(bench.actions.at(-1)).toBe("end");
    expect(bench.diversions.views()).toEqual([]);
    expect(bench.disk).toEqual([]);
    const [begin, , , end] = bench.asked;
    expect(begin).toMatchObject({ prefix: A.text, dry_run: false, id: end?.id });
    expect(begin?.request_id).not.toBe(end?.request_id);
  });

  test("asks no hook before the start, nor for what no ban wants", async () => {
    const bench = new Bench();
    bench.want([A]);
    await bench.pass(10);
    expect(bench.asked).toEqual([]);
    bench.want([]);
    bench.diversions.start();
    await bench.pass(10);
    expect(bench.asked).toEqual([]);
  });

  test.each([
    [false, "announced"],
    // Nothing is diverted: what was announced before must stay.
    [true, "pending"],
  ] as const)(
    "is confirmed when it has begun, where nothing is to be confirmed; in dry run %p",
    async (isDryRun, kind) => {
      const bench = new Bench();
      bench.hook = { ...HOOK, confirmSeconds: 0, isDryRun };
      bench.diversions.start();
      bench.want([A]);
      await bench.settle();
      expect(bench.diversions.views()).toMatchObject([{ phase: "diverted" }]);
      expect(bench.diversions.stateOf(A)).toEqual({ kind });
      expect(bench.asked).toMatchObject([{ action: "begin", dry_run: isDryRun }]);
    },
  );

  test("is begun again while the hook has not begun it, where nothing is to be confirmed, as often as attempts say", async () => {
    const bench = new Bench();
    bench.hook = { ...HOOK, confirmSeconds: 0, attempts: 3 };
    let begun = 0;
    bench.answer = ({ action }) => (action === "begin" && ++begun < 3 ? "not_yet" : "done");
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "pending" });
    await bench.pass(3);
    expect(bench.actions).toEqual(["begin", "begin", "begin"]);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.answer = ({ action }) => (action === "begin" ? "not_yet" : "done");
    bench.want([A, B]);
    await bench.settle();
    await bench.pass(3);
    expect(bench.faultOf(B)).toContain("it has not begun it, and confirm_seconds is 0");
  });

  test("that waits to be confirmed is begun again where a reload leaves nothing to be confirmed", async () => {
    const bench = new Bench();
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.hook = { ...HOOK, confirmSeconds: 0 };
    await bench.pass(5);
    expect(bench.actions).toEqual(["begin", "confirm", "confirm", "begin"]);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
  });

  test.each([false, true])(
    "that was begun with dry run %p is ended so, and begun again, when that is changed",
    async (was) => {
      const bench = new Bench();
      bench.hook = { ...HOOK, confirmSeconds: 0, isDryRun: was };
      bench.diversions.start();
      bench.want([A]);
      await bench.settle();
      bench.hook = { ...HOOK, confirmSeconds: 0, isDryRun: !was };
      bench.want([A]);
      await bench.settle();
      const calls = bench.asked.map(({ action, dry_run }) => [action, dry_run]);
      expect(calls).toEqual([
        ["begin", was],
        ["end", was],
        ["begin", !was],
      ]);
      // The same after a restart: the next process knows how it was begun.
      const next = new Bench(bench.disk);
      next.hook = { ...HOOK, isDryRun: was };
      next.want([A]);
      next.diversions.start();
      await next.settle();
      expect(next.asked[0]).toMatchObject({ action: "end", dry_run: !was });
    },
  );

  test("waits as long after a failed request, and between questions, whatever else bans want meanwhile", async () => {
    const bench = new Bench();
    bench.hook = { ...HOOK, attempts: 4 };
    bench.diversions.start();
    const changeOften = async (seconds: number) => {
      for (let i = 0; i < seconds * 10; i++) {
        bench.want(i % 2 === 0 ? [A] : [A, B]);
        bench.clock.advance(100);
        await bench.settle();
      }
    };
    const ofA = (action: string) => bench.asked.filter((one) => one.prefix === A.text && one.action === action).length;
    bench.answer = ({ action, prefix: text }) => {
      if (action === "begin" && text === A.text) throw new Error("the hook answered 503");
      return action === "confirm" ? "not_yet" : "done";
    };
    await changeOften(2);
    expect(ofA("begin")).toBe(2);
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    await changeOften(12);
    expect(ofA("confirm")).toBeLessThanOrEqual(3);
  });

  test("has failed after failures in a row alone", async () => {
    const bench = new Bench();
    bench.hook = { ...HOOK, confirmSeconds: 900 };
    bench.diversions.start();
    let confirms = 0;
    bench.answer = ({ action }) => {
      if (action !== "confirm") return "done";
      if (++confirms % 5 === 0) throw new Error("no answer within 5 s");
      return "not_yet";
    };
    bench.want([A]);
    await bench.pass(300);
    expect(confirms).toBeGreaterThan(20);
    expect(bench.diversions.views()).toMatchObject([{ phase: "confirming" }]);
    expect(bench.faultOf(A)).toBeNull();
  });

  test("is not concerned by steps of the wall clock", async () => {
    const bench = new Bench();
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.clock.setWall("2026-03-02T12:00:00.000Z");
    await bench.pass(30);
    expect(bench.diversions.views()).toMatchObject([{ phase: "confirming" }]);
    await bench.pass(40);
    expect(bench.faultOf(A)).not.toBeNull();
    bench.clock.setWall("2026-03-01T12:00:00.000Z");
    await bench.pass(300);
    expect(bench.faultOf(A)).toBeNull();
  });

  test("that fails is ended, and the hook is left alone for a while; attempts have one id", async () => {
    const bench = new Bench();
    bench.answer = ({ action }) => {
      if (action === "begin") throw new Error("the hook answered 500");
      return "done";
    };
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    await bench.pass(1);
    expect(bench.actions).toEqual(["begin", "begin"]);
    expect(new Set(bench.asked.map(({ request_id }) => request_id)).size).toBe(1);
    const cause = "the scrubbing hook does not divert 203.0.113.0/24: the hook answered 500";
    expect(bench.faultOf(A)).toBe(cause);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "failed", cause });
    bench.want([]);
    await bench.settle();
    expect(bench.actions).toEqual(["begin", "begin", "end"]);
    bench.want([A]);
    await bench.settle();
    expect(bench.actions).toHaveLength(3);
    await bench.pass(300);
    expect(bench.faultOf(A)).toBeNull();
    bench.answer = () => "done";
    bench.want([A]);
    await bench.settle();
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
  });

  test("that is not confirmed in time has failed", async () => {
    const bench = new Bench();
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    bench.diversions.start();
    bench.want([A, B]);
    await bench.pass(65);
    expect(bench.faultOf(A)).toContain("not confirmed within 60 s");
    expect(bench.faultOf(B)).toContain("not confirmed within 60 s");
  });

  test("is ended again and again until the hook has ended it, and may be wanted again meanwhile", async () => {
    const bench = new Bench();
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.answer = () => {
      throw new Error("no connection");
    };
    bench.want([]);
    await bench.pass(600);
    expect(bench.diversions.views()).toMatchObject([{ phase: "ending", error: "no connection" }]);
    expect(bench.actions.filter((action) => action === "end").length).toBeGreaterThan(10);
    bench.answer = () => "done";
    bench.want([A]);
    await bench.settle();
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.want([]);
    await bench.settle();
    expect(bench.diversions.views()).toEqual([]);
  });

  test.each(["beginning", "confirming", "diverted", "failed", "ending"] as const)(
    "of a killed process that was %s goes on where a ban wants it, and ends where none does",
    async (phase) => {
      const left = { ...{ id: "a", requestId: "r", prefix: A.text, phase }, since: 0, attempts: 0, error: null };
      const wanting = new Bench([left]);
      wanting.want([A]);
      wanting.diversions.start();
      await wanting.settle();
      expect(wanting.diversions.stateOf(A)).toEqual({ kind: "announced" });
      expect(new Set(wanting.asked.map(({ id }) => id))).toEqual(new Set(phase === "diverted" ? [] : ["a"]));
      if (phase === "beginning") expect(wanting.asked[0]?.request_id).toBe("r");
      const other = new Bench([left]);
      other.want([]);
      other.diversions.start();
      await other.settle();
      expect(other.asked).toMatchObject([{ action: "end", id: "a" }]);
      expect(other.disk).toEqual([]);
    },
  );

  test("waits for the disk for as many attempts as the hook has, then begins all the same, and ends so, too", async () => {
    const bench = new Bench();
    bench.diskFault = new Error("disk full");
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    expect(bench.asked).toEqual([]);
    expect(bench.diversions.views()).toMatchObject([{ phase: "beginning", error: "it could not be saved: disk full" }]);
    await bench.pass(2);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.diskFault = null;
    bench.want([A, B]);
    await bench.settle();
    expect(bench.disk).toMatchObject([{ prefix: A.text, phase: "diverted" }, {}]);
    bench.diskFault = new Error("disk full");
    bench.want([]);
    await bench.pass(2);
    expect(bench.actions.at(-1)).toBe("end");
  });

  test("whose hook was taken from the configuration waits for it", async () => {
    const bench = new Bench();
    bench.diversions.start();
    bench.want([A]);
    await bench.settle();
    bench.hook = null;
    bench.want([]);
    await bench.pass(10);
    expect(bench.diversions.views()).toMatchObject([
      { phase: "ending", error: expect.stringContaining("not configured") },
    ]);
    bench.hook = HOOK;
    await bench.pass(60);
    expect(bench.diversions.views()).toEqual([]);
  });
});

test("no more are begun than there is room for, and few calls run at once", async () => {
  const bench = new Bench();
  let now = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  bench.answer = async () => {
    most = Math.max(most, ++now);
    await new Promise<void>((resolve) => waiting.push(resolve));
    now--;
    return "done" as const;
  };
  bench.diversions.start();
  const all = Array.from({ length: DIVERSIONS_MAX + 1 }, (_, i) => prefix(`10.${i >> 8}.${i & 255}.0/24`));
  bench.want(all);
  await bench.settle();
  expect(bench.diversions.views()).toHaveLength(DIVERSIONS_MAX);
  expect(bench.diversions.stateOf(all.at(-1) ?? A)).toMatchObject({
    kind: "failed",
    cause: expect.stringContaining("too many"),
  });
  for (const go of waiting.splice(0)) go();
  await bench.settle();
  expect(most).toBeLessThanOrEqual(8);
});

test("ends that take long hold up no begin", async () => {
  const bench = new Bench();
  const many = Array.from({ length: 40 }, (_, i) => prefix(`10.0.${i}.0/24`));
  bench.diversions.start();
  bench.want(many);
  await bench.pass(2);
  const ending: (() => void)[] = [];
  bench.answer = async ({ action }) => {
    if (action === "end") await new Promise<void>((resolve) => ending.push(resolve));
    return "done" as const;
  };
  bench.want([]);
  await bench.settle();
  bench.want([A]);
  await bench.settle();
  expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
  expect(ending.length).toBeLessThan(8);
  for (let i = 0; i < 40; i++) {
    for (const go of ending.splice(0)) go();
    await bench.settle();
  }
  expect(bench.diversions.views()).toHaveLength(1);
});

test("the time in which a question waits for its turn is none of those in which a diversion is confirmed", async () => {
  const bench = new Bench();
  const many = Array.from({ length: 40 }, (_, i) => prefix(`10.0.${i}.0/24`));
  let answered = 0;
  // Each question takes 20 seconds.
  bench.answer = async ({ action }) => {
    if (action !== "confirm") return "done";
    await new Promise<void>((resolve) => bench.clock.wakeAt(bench.clock.monotonicMs() + 20_000, resolve));
    return ++answered > 40 ? ("done" as const) : ("not_yet" as const);
  };
  bench.diversions.start();
  bench.want(many);
  await bench.pass(400);
  expect(bench.diversions.views().filter(({ phase }) => phase === "failed")).toEqual([]);
  expect(bench.diversions.views().filter(({ phase }) => phase === "diverted")).toHaveLength(40);
});
