import { expect, test } from "bun:test";
import { type Crash, CrashSuspects, crashIn } from "./crash-suspects.ts";

const A = "192.0.2.1";
const B = "192.0.2.2";
const BOTH = new Set([A, B]);

const line = (key: string, msg: string) => JSON.stringify({ Key: key, Topic: "Peer", level: "info", msg });

test("the neighbor that gobgpd wrote about last before it crashed is named", () => {
  const before = [
    line(A, "Peer Up"),
    line(B, "Peer Up"),
    line("198.51.100.9", "x"),
    line(A, "Closed an accepted connection"),
  ];
  const after = ["panic: runtime error: index out of range", "", "goroutine 7 [running]:", line(A, "Peer Down")];
  const reason = "panic: runtime error: index out of range";
  expect(crashIn([...before, ...after].join("\n"), BOTH)).toEqual({ reason, neighbor: B });
  expect(crashIn(after.join("\n"), BOTH)).toEqual({ reason, neighbor: null });
  expect(crashIn(before.join("\n"), BOTH)).toBeNull();
  expect(crashIn("", BOTH)).toBeNull();
});

const over = (neighbor: string | null): Crash => ({ reason: "panic: x", neighbor });

test("the third crash in a row over one neighbor leaves it out for a minute, each later one for twice as long", () => {
  const suspects = new CrashSuspects();
  const crash = (nowMs: number) => suspects.crashed(over(A), BOTH, nowMs);
  expect([crash(0), crash(1_000), crash(2_000)]).toEqual([null, null, A]);
  expect(suspects.leftOutForMs(A, 2_000)).toBe(60_000);
  expect(suspects.leftOutForMs(A, 61_999)).toBe(1);
  expect(suspects.leftOutForMs(A, 62_000)).toBe(0);
  expect(crash(63_000)).toBe(A);
  expect(suspects.leftOutForMs(A, 63_000)).toBe(120_000);
  let now = 63_000;
  for (let times = 0; times < 6; times++) {
    now += suspects.leftOutForMs(A, now) + 1_000;
    crash(now);
  }
  expect(suspects.leftOutForMs(A, now)).toBe(3_600_000);
  // An hour without a crash over it is forgiven.
  now += 3_600_000 + 3_600_000;
  expect(crash(now)).toBeNull();
});

test("crashes over different neighbors, far apart or over none leave no neighbor out", () => {
  for (const crashes of [
    [over(A), over(A), over(B), over(A), over(A)].map((crash, i) => ({ crash, nowMs: i * 1_000 })),
    [0, 1, 2, 3].map((i) => ({ crash: over(A), nowMs: i * 60_000 })),
    [0, 1, 2, 3].map((i) => ({ crash: over(null), nowMs: i * 1_000 })),
  ]) {
    const suspects = new CrashSuspects();
    expect(crashes.map(({ crash, nowMs }) => suspects.crashed(crash, BOTH, nowMs))).toEqual(crashes.map(() => null));
  }
});

test("the last neighbor is never left out", () => {
  const suspects = new CrashSuspects();
  for (let i = 0; i < 5; i++) expect(suspects.crashed(over(A), new Set([A]), i)).toBeNull();
  for (let i = 5; i < 8; i++) suspects.crashed(over(B), BOTH, i);
  expect(suspects.leftOutForMs(B, 8)).toBeGreaterThan(0);
  for (let i = 8; i < 12; i++) expect(suspects.crashed(over(A), BOTH, i)).toBeNull();
});
