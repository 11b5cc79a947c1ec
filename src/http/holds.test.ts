import { beforeEach, describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { jsonAnswer } from "./answer.ts";
import { type HeldDocument, heldDocument } from "./held-document.ts";
import { type HoldCaps, Holds, holdCaps, type PollCall, SLICE_POLLS, type Verdict } from "./holds.ts";

const HOLD_MS = 25_000;
const OLD = heldDocument({ version: 1, zones: [] });
const NEW = heldDocument({ version: 1, zones: ["a"] });

interface NodeCall extends PollCall {
  readonly node: string;
}

interface Poll {
  readonly answer: Promise<Response>;
  readonly isAnswered: () => boolean;
  leave(): void;
}

let clock: ManualClock;
let documents: Map<string, HeldDocument>;
let refusal: Response | null;
let caps: HoldCaps;
let judge: (call: NodeCall) => Verdict;
let seen: string[];
let waiting: (() => void)[];
let holds: Holds<NodeCall>;

beforeEach(() => {
  clock = new ManualClock();
  documents = new Map([
    ["a", OLD],
    ["b", OLD],
  ]);
  refusal = null;
  caps = { perToken: 4, total: 8 };
  judge = ({ node }) =>
    refusal !== null
      ? { kind: "refused", answer: refusal }
      : { kind: "document", key: node, document: documents.get(node) as HeldDocument };
  seen = [];
  waiting = [];
  holds = new Holds<NodeCall>({
    holdMs: HOLD_MS,
    caps: () => caps,
    judge: (call) => judge(call),
    presence: { started: ({ node }) => seen.push(`${node} started`), ended: ({ node }) => seen.push(`${node} ended`) },
    metrics: {
      parked: () => seen.push("parked"),
      ended: (reason) => seen.push(reason),
      refused: () => seen.push("over the cap"),
    },
    timers: new ManualTimers(clock),
    nextTurn: () => new Promise((resolve) => waiting.push(resolve)),
  });
});

function poll(header: string | null = OLD.etag, { node = "a", token = "t" } = {}): Poll {
  const caller = new AbortController();
  const headers: Record<string, string> = header === null ? {} : { "if-none-match": header };
  const request = new Request("http://h/", { signal: caller.signal, headers });
  const answer = Promise.resolve(holds.poll({ node, request, principal: { operator: token } }));
  let isAnswered = false;
  answer.then(
    () => {
      isAnswered = true;
    },
    () => {},
  );
  return { answer, isAnswered: () => isAnswered, leave: () => caller.abort() };
}

/** The event loop's next turn, and what follows from it at once. */
async function turn(): Promise<void> {
  for (const resolve of waiting.splice(0)) resolve();
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

async function expectDocument({ answer }: Poll, document: HeldDocument): Promise<void> {
  const { status, headers } = await answer;
  expect([status, headers.get("etag"), headers.get("content-type")]).toEqual([200, document.etag, "application/json"]);
  expect(await (await answer).text()).toBe(await document.body.text());
}

async function expectUnchanged({ answer }: Poll, document: HeldDocument): Promise<void> {
  const { status, headers } = await answer;
  expect([status, headers.get("etag")]).toEqual([304, document.etag]);
  expect(await (await answer).text()).toBe("");
}

describe("a poll", () => {
  test.each([null, '"other"', "", '"unclosed', '"x", "y"'])("with %p is answered at once", async (header) => {
    await expectDocument(poll(header), OLD);
    expect(seen).toEqual(["a started", "a ended"]);
    expect(clock.pending).toBe(0);
  });

  test.each(["the tag", "weak", "bare", "among others", "*"])("with the current tag (%s) is parked", async (form) => {
    const forms: Record<string, string> = {
      "the tag": OLD.etag,
      weak: `W/${OLD.etag}`,
      bare: OLD.etag.slice(1, -1),
      "among others": `"x", W/"y", ${OLD.etag}`,
      "*": "*",
    };
    const parked = poll(forms[form]);
    await turn();
    expect(parked.isAnswered()).toBe(false);
    expect(holds.size).toBe(1);
    expect(seen).toEqual(["a started", "parked"]);
  });

  test("that is refused leaves no trace", async () => {
    refusal = jsonAnswer(403, { error: "bound" });
    expect((await poll().answer).status).toBe(403);
    expect(seen).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("a parked poll", () => {
  test("gets the new document when it changes", async () => {
    const parked = poll();
    documents.set("a", NEW);
    holds.changed("a");
    await turn();
    await expectDocument(parked, NEW);
    expect(seen).toEqual(["a started", "parked", "a ended", "changed"]);
    expect([holds.size, clock.pending]).toEqual([0, 0]);
  });

  test("is not woken by a change elsewhere", async () => {
    const parked = poll();
    documents.set("b", NEW);
    holds.changed("b");
    holds.changed("nobody polls this");
    await turn();
    expect(parked.isAnswered()).toBe(false);
  });

  test("stays parked when the bytes are what they were", async () => {
    const parked = poll();
    documents.set("a", NEW);
    holds.changed("a");
    documents.set("a", OLD);
    holds.changed("a");
    await turn();
    expect([parked.isAnswered(), holds.size]).toEqual([false, 1]);
    documents.set("a", NEW);
    holds.changed("a");
    await turn();
    await expectDocument(parked, NEW);
  });

  test("stays parked when the new document is another one that its caller has", async () => {
    const parked = poll(`${OLD.etag}, ${NEW.etag}`);
    documents.set("a", NEW);
    holds.changed("a");
    await turn();
    expect(parked.isAnswered()).toBe(false);
    clock.advance(HOLD_MS);
    await turn();
    await expectUnchanged(parked, NEW);
  });

  test("with * waits for any other document than the one that there was", async () => {
    const parked = poll("*");
    documents.set("a", NEW);
    holds.changed("a");
    await turn();
    await expectDocument(parked, NEW);
  });

  test("woken twice before its turn is answered once, with the newest", async () => {
    const parked = poll();
    const newest = heldDocument({ version: 1, zones: ["a", "b"] });
    documents.set("a", NEW);
    holds.changed("a");
    documents.set("a", newest);
    holds.changed("a");
    holds.judgeAll();
    await turn();
    await expectDocument(parked, newest);
    expect(seen.filter((word) => word === "changed")).toHaveLength(1);
  });

  test("is answered 304 when the hold is over, and not a millisecond before", async () => {
    const parked = poll();
    clock.advance(HOLD_MS - 1);
    await turn();
    expect(parked.isAnswered()).toBe(false);
    clock.advance(1);
    await turn();
    await expectUnchanged(parked, OLD);
    expect(seen).toEqual(["a started", "parked", "a ended", "expired"]);
  });

  test("that was woken for nothing is not held any longer for it", async () => {
    const parked = poll();
    clock.advance(HOLD_MS - 1);
    holds.judgeAll();
    await turn();
    clock.advance(1);
    await turn();
    await expectUnchanged(parked, OLD);
  });

  test("whose hold ends in the turn of a change gets the change", async () => {
    const parked = poll();
    clock.advance(HOLD_MS);
    documents.set("a", NEW);
    await turn();
    await expectDocument(parked, NEW);
  });

  test("ends when its caller leaves", async () => {
    const parked = poll();
    parked.leave();
    expect((await parked.answer).status).toBe(499);
    expect(seen).toEqual(["a started", "parked", "a ended", "aborted"]);
    expect([holds.size, clock.pending]).toEqual([0, 0]);
  });

  test("whose caller leaves after the wake-up ends once", async () => {
    const parked = poll();
    documents.set("a", NEW);
    holds.changed("a");
    parked.leave();
    await turn();
    expect((await parked.answer).status).toBe(499);
    expect(seen.filter((word) => word.endsWith("ended"))).toHaveLength(1);
    holds.changed("a");
    expect(waiting).toEqual([]);
  });

  test("whose caller left before it was parked ends at once", async () => {
    const caller = new AbortController();
    caller.abort();
    const request = new Request("http://h/", { signal: caller.signal, headers: { "if-none-match": OLD.etag } });
    const answer = await holds.poll({ node: "a", request, principal: { operator: "t" } });
    expect(answer.status).toBe(499);
    expect(seen).toEqual(["a started", "parked", "a ended", "aborted"]);
    expect([holds.size, clock.pending]).toEqual([0, 0]);
  });

  test.each([401, 403, 404])("ends with the %d that a fresh poll would now get", async (status) => {
    const parked = poll();
    refusal = jsonAnswer(status, { error: "no" });
    holds.judgeAll();
    await turn();
    expect((await parked.answer).status).toBe(status);
    expect(seen).toEqual(["a started", "parked", "a ended", "refused"]);
  });

  test("is refused rather than given a document that it may no longer see", async () => {
    const parked = poll();
    documents.set("a", NEW);
    holds.changed("a");
    refusal = jsonAnswer(401, { error: "no" });
    await turn();
    expect((await parked.answer).status).toBe(401);
  });

  test("is refused at the end of its hold when its token was rotated without a reload", async () => {
    const parked = poll();
    refusal = jsonAnswer(401, { error: "no" });
    clock.advance(HOLD_MS);
    await turn();
    expect((await parked.answer).status).toBe(401);
  });

  test("survives a reload that changes nothing for it", async () => {
    const parked = poll();
    holds.judgeAll();
    await turn();
    expect([parked.isAnswered(), holds.size]).toEqual([false, 1]);
  });

  test("follows its node to another document with the same bytes", async () => {
    const parked = poll();
    judge = () => ({ kind: "document", key: "moved", document: documents.get("a") as HeldDocument });
    holds.judgeAll();
    await turn();
    documents.set("a", NEW);
    holds.changed("a");
    await turn();
    expect(parked.isAnswered()).toBe(false);
    holds.changed("moved");
    await turn();
    await expectDocument(parked, NEW);
    expect(holds.size).toBe(0);
  });

  test("fails alone when judging it fails", async () => {
    const [first, second] = [poll(), poll()];
    const [before, fault] = [judge, new Error("no disk")];
    let calls = 0;
    judge = (call) => {
      if (calls++ === 0) throw fault;
      return before(call);
    };
    documents.set("a", NEW);
    holds.changed("a");
    await turn();
    expect(await first.answer.catch((cause: unknown) => cause)).toBe(fault);
    await expectDocument(second, NEW);
    expect(seen.filter((word) => word === "failed" || word === "changed")).toEqual(["failed", "changed"]);
    expect([holds.size, clock.pending]).toEqual([0, 0]);
  });
});

describe("a change in the midst of a judgement", () => {
  /** Changes the document right after it was handed out, as a lapse that is noticed while it is written. */
  function changingOnce(): void {
    const before = judge;
    judge = (call) => {
      const verdict = before(call);
      judge = before;
      documents.set("a", NEW);
      holds.changed("a");
      return verdict;
    };
  }

  test("wakes the poll that is then parked", async () => {
    changingOnce();
    const parked = poll();
    expect(holds.size).toBe(1);
    await turn();
    await expectDocument(parked, NEW);
  });

  test("wakes the parked poll that it is about", async () => {
    const parked = poll();
    await turn();
    changingOnce();
    holds.judgeAll();
    await turn();
    await expectDocument(parked, NEW);
  });
});

describe("the caps", () => {
  const REFUSED = { status: 429, retryAfter: "1", body: { error: "too many concurrent zone holds" } };

  async function told({ answer }: Poll) {
    const { status, headers } = await answer;
    return { status, retryAfter: headers.get("retry-after"), body: await (await answer).json() };
  }

  test("of a token: the fourth poll is parked, the fifth refused, and one that ends makes room", async () => {
    const parked = [poll(), poll(), poll(), poll(OLD.etag, { node: "b" })];
    expect(await told(poll())).toEqual(REFUSED);
    expect(holds.size).toBe(4);
    expect(seen.filter((word) => word === "over the cap")).toHaveLength(1);
    expect(seen.filter((word) => word.endsWith("started"))).toHaveLength(4);
    poll(OLD.etag, { token: "another" });
    expect(holds.size).toBe(5);
    parked[0]?.leave();
    poll();
    expect(holds.size).toBe(5);
  });

  test("in total: the eighth poll is parked, the ninth refused, whoever sends it", async () => {
    for (let i = 0; i < 8; i++) poll(OLD.etag, { token: `t${i}` });
    expect(await told(poll(OLD.etag, { token: "t8" }))).toEqual(REFUSED);
    expect(holds.size).toBe(8);
  });

  test("do not refuse a poll that is answered at once", async () => {
    for (let i = 0; i < 4; i++) poll();
    await expectDocument(poll(null), OLD);
  });

  test("without a token know the total alone", async () => {
    for (let i = 0; i < 8; i++) poll(OLD.etag, { token: "" });
    expect(holds.size).toBe(8);
    expect(await told(poll(OLD.etag, { token: "" }))).toEqual(REFUSED);
  });

  test("keep the place of a poll that is woken for nothing", async () => {
    const parked = [poll(), poll(), poll(), poll()];
    caps = { perToken: 1, total: 1 };
    holds.judgeAll();
    await turn();
    expect(parked.some((one) => one.isAnswered())).toBe(false);
    expect((await poll().answer).status).toBe(429);
  });

  test.each([
    [0, 8],
    [4, 8],
    [5, 10],
    [100, 200],
  ])("with %d nodes are 4 a token and %d in total", (nodes, total) => {
    expect(holdCaps(nodes)).toEqual({ perToken: 4, total });
  });
});

test("many are answered in slices, with other work in between", async () => {
  const count = 2 * SLICE_POLLS + 1;
  caps = { perToken: count, total: count };
  const parked = Array.from({ length: count }, () => poll());
  documents.set("a", NEW);
  holds.changed("a");
  const answered = () => parked.filter((one) => one.isAnswered()).length;
  const steps: number[] = [];
  while (waiting.length > 0) {
    await turn();
    steps.push(answered());
  }
  expect(steps).toEqual([SLICE_POLLS, 2 * SLICE_POLLS, count]);
  for (const one of parked) await expectDocument(one, NEW);
});

describe("a stop", () => {
  async function stopped(): Promise<void> {
    const stop = holds.stop();
    await turn();
    await stop;
  }

  test("answers all parked polls, and leaves no timer", async () => {
    const [same, changed] = [poll(), poll(OLD.etag, { node: "b" })];
    documents.set("b", NEW);
    await stopped();
    await expectUnchanged(same, OLD);
    await expectDocument(changed, NEW);
    expect(seen.filter((word) => word === "stopped")).toHaveLength(1);
    expect([holds.size, clock.pending]).toEqual([0, 0]);
  });

  test("parks nobody after", async () => {
    await stopped();
    await expectUnchanged(poll(), OLD);
    await expectDocument(poll(null), OLD);
    expect(holds.size).toBe(0);
    await stopped();
  });

  test("answers also those that were woken before", async () => {
    const parked = poll();
    holds.judgeAll();
    await stopped();
    await expectUnchanged(parked, OLD);
  });
});
