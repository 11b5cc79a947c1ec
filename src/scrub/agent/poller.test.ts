import { beforeEach, describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import type { PollAnswer } from "./controller.ts";
import { Poller, type PollResult, type PollTrouble, type ReceivedDocument } from "./poller.ts";
import { BoundsProblem } from "./rule-document.ts";

const TEXT = '{"version":1,"bans":[]}';
/** Of a document that is refused. */
const BEYOND = '"beyond"';

let clock: ManualClock;
let asked: (string | null)[];
let parked: PromiseWithResolvers<PollAnswer>;
let taken: ReceivedDocument[];
let troubles: { readonly trouble: PollTrouble; readonly nextMs: number }[];
let results: PollResult[];
let answers: number;
let poller: Poller;
let running: Promise<void>;

beforeEach(() => {
  clock = new ManualClock();
  [asked, taken, troubles, results, answers] = [[], [], [], [], 0];
  poller = new Poller({
    controller: {
      poll: (etag) => {
        asked.push(etag);
        parked = Promise.withResolvers();
        return parked.promise;
      },
    },
    reading: () => ({ maxRules: 1, isKnown: () => false }),
    onDocument: (document) => {
      if (document.etag === BEYOND) throw new BoundsProblem("too wide");
      taken.push(document);
    },
    onTrouble: (trouble, nextMs) => troubles.push({ trouble, nextMs }),
    onAnswer: () => answers++,
    count: (result) => results.push(result),
    clock,
    timers: new ManualTimers(clock),
    random: () => 0.5,
  });
  running = poller.run();
});

async function answer(with_: PollAnswer): Promise<void> {
  parked.resolve(with_);
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

const document = (etag: string | null, text = TEXT): PollAnswer => ({ kind: "document", text, etag, sentAtMs: null });

test("the first poll holds nothing; the next one has the tag, soon after", async () => {
  await answer(document('"a"'));
  expect(taken).toEqual([{ bans: [], refused: [], text: TEXT, etag: '"a"', sentAtMs: null }]);
  await pass(99);
  expect(asked).toEqual([null]);
  await pass(1);
  expect(asked).toEqual([null, '"a"']);
  expect([results, answers]).toEqual([["document"], 1]);
});

test("a poll that was held is followed by the next at once, and the tag is kept", async () => {
  await answer(document('"a"'));
  await pass(100);
  clock.advance(30_000);
  await answer({ kind: "unchanged" });
  expect(asked).toEqual([null, '"a"', '"a"']);
});

test("a document after a hold is followed by the next poll at once, one that came soon only after 100 ms in all", async () => {
  await answer(document('"a"'));
  await pass(100);
  clock.advance(100);
  await answer(document('"b"'));
  expect(asked).toEqual([null, '"a"', '"b"']);
  clock.advance(20);
  await answer(document('"c"'));
  await pass(79);
  expect(asked).toHaveLength(3);
  await pass(1);
  expect(asked).toEqual([null, '"a"', '"b"', '"c"']);
});

describe("an immediate answer without a change does not cause a busy loop:", () => {
  test.each<[string, PollAnswer]>([
    ["unchanged", { kind: "unchanged" }],
    ["the same document", document('"a"')],
    ["a document without a tag", document(null)],
  ])("%s", async (_, quick) => {
    await answer(document('"a"'));
    await pass(100);
    await answer(quick);
    await pass(999);
    expect(asked).toHaveLength(2);
    await pass(1);
    expect(asked).toHaveLength(3);
  });
});

test("waits 1 s after a failure, then twice as long each time, up to 30 s; an answer resets the wait", async () => {
  for (let i = 0; i < 7; i++) {
    await answer({ kind: "unreachable", reason: "ECONNREFUSED" });
    await pass(troubles.at(-1)?.nextMs ?? 0);
  }
  expect(troubles.map(({ nextMs }) => nextMs)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  await answer(document('"a"'));
  await pass(100);
  await answer({ kind: "refused", status: 429, detail: "" });
  expect(troubles.at(-1)?.nextMs).toBe(1000);
});

describe("when another request reached the service,", () => {
  test("an unreachable one is polled at once", async () => {
    for (let i = 0; i < 6; i++) {
      await answer({ kind: "unreachable", reason: "ECONNREFUSED" });
      await pass(troubles.at(-1)?.nextMs ?? 0);
    }
    await answer({ kind: "unreachable", reason: "ECONNREFUSED" });
    poller.pollNow();
    await pass(0);
    expect([asked.length, clock.pending]).toEqual([8, 0]);
    poller.pollNow();
    await pass(0);
    expect(asked).toHaveLength(8);
  });

  test.each([502, 503, 504])("one for which a proxy answered %d is polled at once", async (status) => {
    await answer({ kind: "refused", status, detail: "" });
    poller.pollNow();
    await pass(0);
    expect(asked).toHaveLength(2);
  });

  test.each([403, 404, 429, 500])("one that refuses with %d is not polled earlier", async (status) => {
    await answer({ kind: "refused", status, detail: "" });
    poller.pollNow();
    await pass(0);
    expect(asked).toHaveLength(1);
  });
});

test("a document that cannot be used changes nothing, and its tag is not taken", async () => {
  await answer(document('"a"'));
  await pass(100);
  await answer(document('"b"', '{"version":2}'));
  expect(taken).toHaveLength(1);
  expect(troubles[0]?.trouble).toEqual({
    kind: "bad_document",
    reason: "version: 2 is not 1, the supported version: update the agent",
  });
  await pass(1000);
  expect(asked).toEqual([null, '"a"', '"a"']);
  expect(results).toEqual(["document", "bad_document"]);
});

test("a document beyond the bounds changes nothing, and its tag is not taken", async () => {
  await answer(document('"a"'));
  await pass(100);
  await answer(document(BEYOND));
  expect(troubles[0]).toEqual({ trouble: { kind: "out_of_bounds", reason: "too wide" }, nextMs: 1000 });
  await pass(1000);
  expect(asked).toEqual([null, '"a"', '"a"']);
  expect(results).toEqual(["document", "out_of_bounds"]);
});

test("a large document is followed by a pause of 1 s for each 4 MiB", async () => {
  const mebibyte = 1 << 20;
  await answer(document('"a"', TEXT.padEnd(6 * mebibyte)));
  await pass(1535);
  expect(asked).toHaveLength(1);
  await pass(1);
  expect(asked).toHaveLength(2);
});

test("ends when it is stopped: while it waits, and while it is parked", async () => {
  await answer({ kind: "unreachable", reason: "x" });
  poller.stop();
  await running;
  expect([asked.length, clock.pending]).toEqual([1, 0]);
  const again = poller.run();
  await again;
  expect(asked).toHaveLength(1);
});

test("what comes after the stop is not taken", async () => {
  poller.stop();
  await answer(document('"a"'));
  await running;
  expect(taken).toEqual([]);
});
