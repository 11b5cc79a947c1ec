/** Diversions by a hook: begun, confirmed and ended, over failures and restarts. */
import { describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import type { Diversion } from "../mitigation/diversion.ts";
import { DIVERSIONS_MAX, Diversions } from "./diversions.ts";
import type { HookConfig } from "./divert-config.ts";
import type { HookAnswer, HookRequest } from "./hook.ts";

const A = prefix("203.0.113.0/24");
const B = prefix("198.51.100.0/24");
const HOOK: HookConfig = {
  ...{ target: { kind: "command", command: "/divert" }, timeoutSeconds: 5, attempts: 2 },
  ...{ confirmSeconds: 60, retryAfterSeconds: 300, isDryRun: false },
};

class Bench {
  readonly clock: ManualClock;
  hook: HookConfig | null = HOOK;
  readonly asked: HookRequest[] = [];
  /** What is on disk. */
  disk: readonly Diversion[];
  diskFault: Error | null = null;
  answer: (request: HookRequest) => HookAnswer | Promise<HookAnswer> = () => "done";
  readonly diversions: Diversions;

  constructor(disk: readonly Diversion[] = [], clock = new ManualClock()) {
    this.disk = disk;
    this.clock = clock;
    let ids = disk.length * 100;
    const log = { info() {}, warn() {}, error() {} };
    this.diversions = new Diversions(
      {
        ...{ clock, timers: new ManualTimers(clock), log, newId: () => `id-${++ids}`, hook: () => this.hook },
        ask: async (_, request) => {
          this.asked.push(request);
          return this.answer(request);
        },
        save: async (all) => {
          if (this.diskFault !== null) throw this.diskFault;
          this.disk = JSON.parse(JSON.stringify(all)) as Diversion[];
        },
      },
      disk,
    );
  }

  get actions(): string[] {
    return this.asked.map(({ action }) => action);
  }

  /** Lets what waits for promises alone go on. */
  async settle(): Promise<void> {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  }

  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000);
      await this.settle();
    }
  }
}

describe("a diversion", () => {
  test("that no ban wants any more while it is written to disk ends", async () => {
    const bench = new Bench();
    bench.hook = { ...HOOK, confirmSeconds: 0 };
    bench.diversions.start();
    bench.diversions.want([A]);
    for (let turns = 0; turns < 40; turns++) {
      await Promise.resolve();
      if (bench.diversions.stateOf(A).kind === "announced") break;
    }
    bench.diversions.want([]);
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
    bench.diversions.want([A]);
    await bench.settle();
    expect(bench.actions).toEqual(["begin", "confirm"]);
    expect(onDisk[0]).toBe(1);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "pending" });
    confirmed = "done";
    await bench.pass(5);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.diversions.want([A]);
    await bench.pass(120);
    expect(bench.actions).toEqual(["begin", "confirm", "confirm"]);
    bench.diversions.want([]);
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
    bench.diversions.want([A]);
    await bench.pass(10);
    expect(bench.asked).toEqual([]);
    bench.diversions.want([]);
    bench.diversions.start();
    await bench.pass(10);
    expect(bench.asked).toEqual([]);
  });

  test("is confirmed when it has begun, where nothing is to be confirmed", async () => {
    const bench = new Bench();
    bench.hook = { ...HOOK, confirmSeconds: 0, isDryRun: true };
    bench.diversions.start();
    bench.diversions.want([A]);
    await bench.settle();
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    expect(bench.asked).toMatchObject([{ action: "begin", dry_run: true }]);
  });

  test("that fails is ended, and the hook is left alone for a while; attempts have one id", async () => {
    const bench = new Bench();
    bench.answer = ({ action }) => {
      if (action === "begin") throw new Error("the hook answered 500");
      return "done";
    };
    bench.diversions.start();
    bench.diversions.want([A]);
    await bench.settle();
    await bench.pass(1);
    expect(bench.actions).toEqual(["begin", "begin"]);
    expect(new Set(bench.asked.map(({ request_id }) => request_id)).size).toBe(1);
    const cause = "the scrubbing hook does not divert 203.0.113.0/24: the hook answered 500";
    expect(bench.diversions.faultOf(A)).toBe(cause);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "failed", cause });
    bench.diversions.want([]);
    await bench.settle();
    expect(bench.actions).toEqual(["begin", "begin", "end"]);
    bench.diversions.want([A]);
    await bench.settle();
    expect(bench.actions).toHaveLength(3);
    await bench.pass(300);
    expect(bench.diversions.faultOf(A)).toBeNull();
    bench.answer = () => "done";
    bench.diversions.want([A]);
    await bench.settle();
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
  });

  test("that is not confirmed in time has failed", async () => {
    const bench = new Bench();
    bench.answer = ({ action }) => (action === "confirm" ? "not_yet" : "done");
    bench.diversions.start();
    bench.diversions.want([A, B]);
    await bench.pass(65);
    expect(bench.diversions.faultOf(A)).toContain("not confirmed within 60 s");
    expect(bench.diversions.faultOf(B)).toContain("not confirmed within 60 s");
  });

  test("is ended again and again until the hook has ended it, and may be wanted again meanwhile", async () => {
    const bench = new Bench();
    bench.diversions.start();
    bench.diversions.want([A]);
    await bench.settle();
    bench.answer = () => {
      throw new Error("no connection");
    };
    bench.diversions.want([]);
    await bench.pass(600);
    expect(bench.diversions.views()).toMatchObject([{ phase: "ending", error: "no connection" }]);
    expect(bench.actions.filter((action) => action === "end").length).toBeGreaterThan(10);
    bench.answer = () => "done";
    bench.diversions.want([A]);
    await bench.settle();
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.diversions.want([]);
    await bench.settle();
    expect(bench.diversions.views()).toEqual([]);
  });

  test.each(["beginning", "confirming", "diverted", "failed", "ending"] as const)(
    "of a killed process that was %s goes on where a ban wants it, and ends where none does",
    async (phase) => {
      const left = { ...{ id: "a", requestId: "r", prefix: A.text, phase }, since: 0, attempts: 0, error: null };
      const wanting = new Bench([left]);
      wanting.diversions.want([A]);
      wanting.diversions.start();
      await wanting.settle();
      expect(wanting.diversions.stateOf(A)).toEqual({ kind: "announced" });
      expect(new Set(wanting.asked.map(({ id }) => id))).toEqual(new Set(phase === "diverted" ? [] : ["a"]));
      if (phase === "beginning") expect(wanting.asked[0]?.request_id).toBe("r");
      const other = new Bench([left]);
      other.diversions.want([]);
      other.diversions.start();
      await other.settle();
      expect(other.asked).toMatchObject([{ action: "end", id: "a" }]);
      expect(other.disk).toEqual([]);
    },
  );

  test("does not begin while it cannot be written, and ends all the same", async () => {
    const bench = new Bench();
    bench.diskFault = new Error("disk full");
    bench.diversions.start();
    bench.diversions.want([A]);
    await bench.pass(30);
    expect(bench.asked).toEqual([]);
    expect(bench.diversions.views()).toMatchObject([{ phase: "beginning", error: "it could not be saved: disk full" }]);
    bench.diskFault = null;
    await bench.pass(60);
    expect(bench.diversions.stateOf(A)).toEqual({ kind: "announced" });
    bench.diskFault = new Error("disk full");
    bench.diversions.want([]);
    await bench.pass(2);
    expect(bench.actions.at(-1)).toBe("end");
  });

  test("whose hook was taken from the configuration waits for it", async () => {
    const bench = new Bench();
    bench.diversions.start();
    bench.diversions.want([A]);
    await bench.settle();
    bench.hook = null;
    bench.diversions.want([]);
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
  bench.diversions.want(all);
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
