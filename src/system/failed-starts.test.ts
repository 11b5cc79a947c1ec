import { beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { FailedStarts } from "./failed-starts.ts";
import type { Signal, Signals } from "./signals.ts";

const directory = emptiedFolder("starts");
let said: string[];
let waitedMs: number[];
beforeEach(() => {
  said = [];
  waitedMs = [];
});

/** Of one process. */
function starts(
  runtimeDirectory: string | null,
  { signals = { on: () => () => {} }, isPatient = false }: { signals?: Signals; isPatient?: boolean } = {},
): FailedStarts {
  const after = (ms: number, fn: () => void) => {
    waitedMs.push(ms);
    if (!isPatient) fn();
    return () => {};
  };
  return new FailedStarts({
    environment: { read: (name) => (name === "RUNTIME_DIRECTORY" ? runtimeDirectory : null) },
    timers: { after },
    signals,
    say: (line) => said.push(line),
  });
}

test("the pause after a failed start doubles up to 30 s, and a start that succeeds makes it short again", async () => {
  for (let i = 0; i < 7; i++) await starts(directory).failed();
  expect(waitedMs).toEqual([1, 2, 4, 8, 16, 30, 30].map((seconds) => seconds * 1000));
  expect(said[2]).toBe("floodwall: ends in 4 s, so that the service manager starts it again");
  starts(directory).succeeded();
  expect(readdirSync(directory)).toEqual([]);
  await starts(directory).failed();
  expect(waitedMs.at(-1)).toBe(1_000);
});

test("a signal to stop ends the pause", async () => {
  const stop = new Map<Signal, () => void>();
  const on = (signal: Signal, handler: () => void) => {
    stop.set(signal, handler);
    return () => {};
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const ended = starts(directory, { signals: { on }, isPatient: true }).failed();
    stop.get(signal)?.();
    await ended;
  }
});

test("without a folder of a service manager there is no pause, and with an unusable one the longest", async () => {
  await starts(null).failed();
  starts(null).succeeded();
  expect(waitedMs).toEqual([]);
  await starts(join(directory, "missing")).failed();
  expect(waitedMs).toEqual([30_000]);
});
