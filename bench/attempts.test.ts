import { describe, expect, test } from "bun:test";
import { measuredQuietly, type Row } from "./attempts.ts";
import { figure, type Measurement } from "./measurement.ts";

const MINUTE_MS = 60_000;

interface Machine {
  /** Load of other processes during each attempt. */
  readonly others: readonly number[];
  readonly isQuick?: boolean;
  readonly attemptMinutes?: number;
  readonly rows?: (attempt: number) => Partial<Measurement>[];
}

/** Each attempt measures its own number. */
async function run({ others, isQuick = false, attemptMinutes = 0, rows = () => [{}] }: Machine): Promise<Row[]> {
  let attempt = 0;
  let nowMs = 0;
  const bench = {
    question: "",
    run: () => {
      attempt++;
      nowMs += attemptMinutes * MINUTE_MS;
      const shared = { question: "", unit: "", rival: null, target: "1", isMet: true };
      return Promise.resolve(rows(attempt).map((row) => ({ ...shared, ours: figure("", [attempt]), ...row })));
    },
  };
  const load = () => ({ read: () => ({ stolen: 0, others: others[attempt - 1] ?? Number.NaN }) });
  const result = await measuredQuietly(bench, { isQuick }, { load, nowMs: () => nowMs });
  if ("skipped" in result) throw new Error(result.skipped);
  return [...result];
}

describe("a bench on a machine that others use", () => {
  test("runs once when it is quiet", async () => {
    expect(await run({ others: [0.1] })).toMatchObject([{ attempt: 1, verdict: { word: "met" } }]);
  });

  test("runs again until it is quiet", async () => {
    expect(await run({ others: [0.5, 0.1] })).toMatchObject([
      { attempt: 2, ours: { median: 2 }, load: { others: 0.1 } },
    ]);
  });

  test("gives up after three attempts, and says so", async () => {
    const expected = [{ attempt: 3, ours: { median: 3 }, verdict: { word: "not measured" } }];
    expect(await run({ others: [0.5, 0.4, 0.3] })).toMatchObject(expected);
  });

  test("gives up at once in a trial run, and after an attempt of more than five minutes", async () => {
    expect(await run({ others: [0.5], isQuick: true })).toMatchObject([{ attempt: 1 }]);
    expect(await run({ others: [0.5, 0.5], attemptMinutes: 4 })).toMatchObject([{ attempt: 2 }]);
  });

  test("keeps each row's first quiet attempt", async () => {
    const ratio = (values: number[]) => ({ ratio: figure("", values) });
    const rows = (attempt: number) => [ratio([1, 1]), attempt === 2 ? ratio([1, 1]) : ratio([1, 2])];
    expect(await run({ others: [0, 0], rows })).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
  });

  test("does not repeat a row that the traffic source limits", async () => {
    const rows = () => [{ sourceShare: 1 }];
    expect(await run({ others: [0], rows })).toMatchObject([{ attempt: 1, verdict: { word: "not measured" } }]);
  });
});
