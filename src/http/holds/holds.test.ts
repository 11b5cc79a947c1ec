import { beforeEach, describe, expect, test } from "bun:test";
import { HOLD_MS, jsonDocument, NEW, OLD, PollChannel, type SentPoll } from "../../../test/fixtures/http/polls.ts";
import type { PolledDocument } from "../../nodes/polled-document.ts";
import type { Refusal } from "../refusal.ts";

let channel: PollChannel;

beforeEach(() => {
  channel = new PollChannel();
});

async function expectDocument({ answer }: SentPoll, document: PolledDocument): Promise<void> {
  const { status, headers } = await answer;
  expect([status, headers.get("etag"), headers.get("content-type")]).toEqual([200, document.etag, "application/json"]);
  expect(await (await answer).text()).toBe(await document.body.text());
}

async function expectUnchanged({ answer }: SentPoll, document: PolledDocument): Promise<void> {
  const { status, headers } = await answer;
  expect([status, headers.get("etag")]).toEqual([304, document.etag]);
  expect(await (await answer).text()).toBe("");
}

function expectNothingLeft(): void {
  expect([channel.holds.size, channel.clock.pending]).toEqual([0, 0]);
}

describe("a poll #long-poll-document", () => {
  test.each([null, '"other"', "", '"unclosed', '"x", "y"'])("with %p is answered at once", async (header) => {
    await expectDocument(channel.poll(header), OLD);
    expect(channel.seen).toEqual(["a started", "a ended"]);
    expectNothingLeft();
  });

  test.each([
    ["the tag", OLD.etag],
    ["the weak tag", `W/${OLD.etag}`],
    ["the bare tag", OLD.etag.slice(1, -1)],
    ["the tag among others", `"x", W/"y", ${OLD.etag}`],
    ["a star", "*"],
  ])("with %s of the current document is parked", async (_, header) => {
    const parked = channel.poll(header);
    await channel.turn();
    expect(parked.isAnswered()).toBe(false);
    expect(channel.holds.size).toBe(1);
    expect(channel.seen).toEqual(["a started", "parked"]);
  });

  test("for what does not exist leaves no trace", async () => {
    channel.find = () => ({ kind: "unknown_path" });
    expect((await channel.poll().answer).status).toBe(404);
    expect(channel.seen).toEqual([]);
    expectNothingLeft();
  });
});

describe("a poll held with the document's tag #long-poll-held", () => {
  test("gets the new document when it changes", async () => {
    const parked = channel.poll();
    channel.change("a", NEW);
    await channel.turn();
    await expectDocument(parked, NEW);
    expect(channel.seen).toEqual(["a started", "parked", "a ended", "changed"]);
    expectNothingLeft();
  });

  test("is not woken by a change elsewhere", async () => {
    const parked = channel.poll();
    channel.change("b", NEW);
    channel.change("no node polls this", NEW);
    await channel.turn();
    expect(parked.isAnswered()).toBe(false);
  });

  test("stays parked when the bytes are what they were", async () => {
    const parked = channel.poll();
    channel.change("a", NEW);
    channel.change("a", OLD);
    await channel.turn();
    expect([parked.isAnswered(), channel.holds.size]).toEqual([false, 1]);
    channel.change("a", NEW);
    await channel.turn();
    await expectDocument(parked, NEW);
  });

  test("stays parked when the new document is another one that its caller has", async () => {
    const parked = channel.poll(`${OLD.etag}, ${NEW.etag}`);
    channel.change("a", NEW);
    await channel.turn();
    expect(parked.isAnswered()).toBe(false);
    channel.clock.advance(HOLD_MS);
    await channel.turn();
    await expectUnchanged(parked, NEW);
  });

  test("with * waits for any other document than the one that there was", async () => {
    const parked = channel.poll("*");
    channel.change("a", NEW);
    await channel.turn();
    await expectDocument(parked, NEW);
  });

  test("woken twice before its turn is answered once, with the newest", async () => {
    const parked = channel.poll();
    const newest = jsonDocument({ version: 1, zones: ["a", "b"] });
    channel.change("a", NEW);
    channel.change("a", newest);
    channel.holds.recheckAll();
    await channel.turn();
    await expectDocument(parked, newest);
    expect(channel.count("changed")).toBe(1);
  });

  test("is answered 304 when the hold is over, and not a millisecond before", async () => {
    const parked = channel.poll();
    channel.clock.advance(HOLD_MS - 1);
    await channel.turn();
    expect(parked.isAnswered()).toBe(false);
    channel.clock.advance(1);
    await channel.turn();
    await expectUnchanged(parked, OLD);
    expect(channel.seen).toEqual(["a started", "parked", "a ended", "expired"]);
    expectNothingLeft();
  });

  test("that was woken for nothing is not held any longer for it", async () => {
    const parked = channel.poll();
    channel.clock.advance(HOLD_MS - 1);
    channel.holds.recheckAll();
    await channel.turn();
    channel.clock.advance(1);
    await channel.turn();
    await expectUnchanged(parked, OLD);
  });

  test("whose hold ends in the turn of a change gets the change", async () => {
    const parked = channel.poll();
    channel.clock.advance(HOLD_MS);
    channel.documents.set("a", NEW);
    await channel.turn();
    await expectDocument(parked, NEW);
  });

  test("follows its node to another document with the same bytes", async () => {
    const parked = channel.poll();
    channel.find = ({ node }) => ({ kind: "document", key: "moved", document: channel.documents.get(node) ?? OLD });
    channel.holds.recheckAll();
    await channel.turn();
    channel.change("a", NEW);
    await channel.turn();
    expect(parked.isAnswered()).toBe(false);
    channel.holds.changed("moved");
    await channel.turn();
    await expectDocument(parked, NEW);
    expectNothingLeft();
  });

  test("fails alone when finding its document fails", async () => {
    const [first, second] = [channel.poll(), channel.poll()];
    const [find, fault] = [channel.find, new Error("no disk")];
    let calls = 0;
    channel.find = (poll) => {
      if (calls++ === 0) throw fault;
      return find(poll);
    };
    channel.change("a", NEW);
    await channel.turn();
    expect(await first.answer.catch((cause: unknown) => cause)).toBe(fault);
    await expectDocument(second, NEW);
    expect([channel.count("failed"), channel.count("changed")]).toEqual([1, 1]);
    expectNothingLeft();
  });
});

describe("a caller who leaves #long-poll-presence", () => {
  test("ends its parked poll", async () => {
    const parked = channel.poll();
    parked.leave();
    expect((await parked.answer).status).toBe(499);
    expect(channel.seen).toEqual(["a started", "parked", "a ended", "aborted"]);
    expectNothingLeft();
  });

  test("after its poll was woken ends it once", async () => {
    const parked = channel.poll();
    channel.change("a", NEW);
    parked.leave();
    await channel.turn();
    expect((await parked.answer).status).toBe(499);
    expect(channel.count("a ended")).toBe(1);
    channel.holds.changed("a");
    expect(channel.turns).toEqual([]);
  });

  test("before its poll was parked ends it at once", async () => {
    const parked = channel.poll(OLD.etag, { isGone: true });
    expect((await parked.answer).status).toBe(499);
    expect(channel.seen).toEqual(["a started", "parked", "a ended", "aborted"]);
    expectNothingLeft();
  });
});

describe("a poll that a reload ends #long-poll-ended-by-a-reload", () => {
  test.each<[number, Refusal]>([
    [401, { kind: "no_valid_token" }],
    [403, { kind: "other_node" }],
  ])("ends with the %d that the gate would now say", async (status, refusal) => {
    const parked = channel.poll();
    channel.refusal = refusal;
    channel.holds.recheckAll();
    await channel.turn();
    expect((await parked.answer).status).toBe(status);
    expect(channel.seen).toEqual(["a started", "parked", "a ended", "refused"]);
    expectNothingLeft();
  });

  test("ends with a 404 when its node is gone", async () => {
    const parked = channel.poll();
    channel.find = () => ({ kind: "unknown_path" });
    channel.holds.recheckAll();
    await channel.turn();
    expect((await parked.answer).status).toBe(404);
    expect(channel.seen).toEqual(["a started", "parked", "a ended", "refused"]);
  });

  test("stays when nothing has changed for it", async () => {
    const parked = channel.poll();
    channel.holds.recheckAll();
    await channel.turn();
    expect([parked.isAnswered(), channel.holds.size]).toEqual([false, 1]);
  });

  test("is refused rather than given a document that it may no longer see", async () => {
    const parked = channel.poll();
    channel.change("a", NEW);
    channel.refusal = { kind: "no_valid_token" };
    await channel.turn();
    expect((await parked.answer).status).toBe(401);
  });
});

test("a token that was rotated without a reload is refused when the hold is over", async () => {
  const parked = channel.poll();
  channel.refusal = { kind: "no_valid_token" };
  channel.clock.advance(HOLD_MS);
  await channel.turn();
  expect((await parked.answer).status).toBe(401);
});

describe("a change while a poll is judged", () => {
  /** Changes the document right after it was returned, as when writing it shows that something in it has expired. */
  function changeOnce(): void {
    const { find } = channel;
    channel.find = (poll) => {
      const found = find(poll);
      channel.find = find;
      channel.change("a", NEW);
      return found;
    };
  }

  test("wakes the poll that is then parked", async () => {
    changeOnce();
    const parked = channel.poll();
    expect(channel.holds.size).toBe(1);
    await channel.turn();
    await expectDocument(parked, NEW);
  });

  test("wakes the parked poll that is judged again", async () => {
    const parked = channel.poll();
    await channel.turn();
    changeOnce();
    channel.holds.recheckAll();
    await channel.turn();
    await expectDocument(parked, NEW);
  });
});

describe("a stop", () => {
  async function stop(): Promise<void> {
    const stopped = channel.holds.stop();
    await channel.turn();
    await stopped;
  }

  test("answers all parked polls, and leaves no timer", async () => {
    const [same, changed] = [channel.poll(), channel.poll(OLD.etag, { node: "b" })];
    channel.documents.set("b", NEW);
    await stop();
    await expectUnchanged(same, OLD);
    await expectDocument(changed, NEW);
    expect(channel.count("stopped")).toBe(1);
    expectNothingLeft();
  });

  test("parks no poll afterwards, and may be called twice", async () => {
    await stop();
    await expectUnchanged(channel.poll(), OLD);
    await expectDocument(channel.poll(null), OLD);
    expectNothingLeft();
    await stop();
  });

  test("answers also those that were woken before", async () => {
    const parked = channel.poll();
    channel.holds.recheckAll();
    await stop();
    await expectUnchanged(parked, OLD);
  });
});

describe("who a parked poll is from", () => {
  const GONE: Refusal = { kind: "no_valid_token" };

  test("is not called while its document stays the same, and is when it changes", async () => {
    const poll = channel.poll();
    channel.refusal = GONE;
    channel.holds.changedAll();
    await channel.turn();
    expect([poll.isAnswered(), channel.holds.size]).toEqual([false, 1]);
    channel.change("a", NEW);
    await channel.turn();
    expect((await poll.answer).status).toBe(401);
    expectNothingLeft();
  });

  test("is called once after each reload, whatever its document", async () => {
    const poll = channel.poll();
    let asked = 0;
    const find = channel.find;
    channel.find = (call) => {
      asked++;
      return find(call);
    };
    channel.holds.recheckAll();
    await channel.turn();
    expect([asked, poll.isAnswered()]).toEqual([1, false]);
    channel.refusal = GONE;
    channel.holds.changedAll();
    await channel.turn();
    expect(poll.isAnswered()).toBe(false);
    channel.holds.recheckAll();
    await channel.turn();
    expect((await poll.answer).status).toBe(401);
  });

  test("is called when its time is over", async () => {
    const poll = channel.poll();
    channel.refusal = GONE;
    channel.clock.advance(HOLD_MS);
    await channel.turn();
    expect((await poll.answer).status).toBe(401);
  });
});
