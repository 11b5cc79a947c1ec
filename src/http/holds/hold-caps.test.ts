import { beforeEach, describe, expect, test } from "bun:test";
import { NEW, OLD, PollChannel, type SentPoll } from "../../../test/fixtures/http/polls.ts";
import { holdCaps, SLICE_POLLS } from "./holds.ts";

let channel: PollChannel;

beforeEach(() => {
  channel = new PollChannel();
});

async function expectRefused({ answer }: SentPoll): Promise<void> {
  const refused = await answer;
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await refused.json()).toEqual({ error: "too many concurrent zone holds" });
}

describe("the caps on parked polls #long-polls-parked", () => {
  test("of a token: the fourth poll is parked, the fifth refused, and one that ends makes room", async () => {
    const first = channel.poll();
    for (let i = 0; i < 3; i++) channel.poll();
    await expectRefused(channel.poll(OLD.etag, { node: "b" }));
    expect(channel.holds.size).toBe(4);
    expect([channel.count("over the cap"), channel.count("b started")]).toEqual([1, 0]);
    channel.poll(OLD.etag, { token: "another" });
    expect(channel.holds.size).toBe(5);
    first.leave();
    channel.poll();
    expect(channel.holds.size).toBe(5);
  });

  test("in total: the eighth poll is parked, the ninth refused, for any sender", async () => {
    for (let i = 0; i < 8; i++) channel.poll(OLD.etag, { token: `t${i}` });
    await expectRefused(channel.poll(OLD.etag, { token: "t8" }));
    expect(channel.holds.size).toBe(8);
  });

  test("leave one place to each node with a token of its own, whatever others park", async () => {
    for (let i = 0; i < 8; i++) channel.poll(OLD.etag, { token: `t${i >> 2}`, bound: `n${i >> 2}` });
    const own = channel.poll(OLD.etag, { token: "t9", bound: "n9" });
    await channel.turn();
    expect([own.isAnswered(), channel.holds.size]).toEqual([false, 9]);
    await expectRefused(channel.poll(OLD.etag, { token: "t9", bound: "n9" }));
    await expectRefused(channel.poll(OLD.etag, { token: "t8" }));
    own.leave();
    channel.poll(OLD.etag, { token: "second", bound: "n9" });
    expect(channel.holds.size).toBe(9);
  });

  test("do not refuse a poll that is answered at once", async () => {
    for (let i = 0; i < 4; i++) channel.poll();
    expect((await channel.poll(null).answer).status).toBe(200);
  });

  test("without a token know the total alone", async () => {
    for (let i = 0; i < 8; i++) channel.poll(OLD.etag, { token: "" });
    expect(channel.holds.size).toBe(8);
    await expectRefused(channel.poll(OLD.etag, { token: "" }));
  });

  test("that a reload lowers end no hold, nor one that is woken for nothing", async () => {
    const parked = [channel.poll(), channel.poll(), channel.poll(), channel.poll()];
    channel.caps = { perToken: 1, total: 1 };
    channel.holds.recheckAll();
    await channel.turn();
    expect(parked.some((poll) => poll.isAnswered())).toBe(false);
    await expectRefused(channel.poll());
  });

  test("are forgotten with the last poll of a token", async () => {
    for (const poll of [channel.poll(), channel.poll(), channel.poll(), channel.poll()]) poll.leave();
    for (let i = 0; i < 4; i++) channel.poll();
    expect(channel.holds.size).toBe(4);
    await expectRefused(channel.poll());
  });
});

test.each([
  [0, 8],
  [4, 8],
  [5, 10],
  [100, 200],
])("with %d nodes 4 polls of a token and %d in total may be parked #limit-parked-zone-polls", (nodes, total) => {
  expect(holdCaps(nodes)).toEqual({ perToken: 4, total });
});
test("many are answered in slices, with other work in between", async () => {
  const count = 2 * SLICE_POLLS + 1;
  channel.caps = { perToken: count, total: count };
  const parked = Array.from({ length: count }, () => channel.poll());
  channel.change("a", NEW);
  const steps: number[] = [];
  while (channel.turns.length > 0) {
    await channel.turn();
    steps.push(parked.filter((poll) => poll.isAnswered()).length);
  }
  expect(steps).toEqual([SLICE_POLLS, 2 * SLICE_POLLS, count]);
  for (const poll of parked) expect((await poll.answer).headers.get("etag")).toBe(NEW.etag);
});

test("those whose documents take long are answered with other work after every few milliseconds", async () => {
  const { clock } = channel;
  channel.caps = { perToken: 5, total: 5 };
  for (let i = 0; i < 5; i++) channel.poll();
  channel.find = () => {
    clock.advance(3);
    return { kind: "document", key: "a", document: NEW };
  };
  channel.change("a", NEW);
  const steps: number[] = [];
  while (channel.turns.length > 0) {
    await channel.turn();
    steps.push(channel.count("changed"));
  }
  expect(steps).toEqual([2, 4, 5]);
});
