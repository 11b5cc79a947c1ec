import { describe, expect, test } from "bun:test";
import { attackEvent, events } from "../../test/fixtures/notify/notify.ts";
import { fails, queueWorld } from "../../test/fixtures/notify/queue-world.ts";
import { GROUP_SECONDS_MAX } from "../config/sections/notify-routes.ts";
import { DEFAULT_TIMES } from "./target-queues.ts";

describe("a queue for people", () => {
  test("waits as long as the event says whose message is due first, and takes the others along", async () => {
    const { channel, queue, advance } = queueWorld("people");
    const [first, second, third, fourth] = events(4);
    if (!first || !second || !third || !fourth) throw new Error("too few");
    queue.add(first, null, 60_000);
    await advance(30_000);
    expect(channel.deliveries).toEqual([]);
    queue.add(second, null, 60_000);
    queue.add(third, null, 0);
    await advance(0);
    expect(channel.deliveries).toEqual([["e0", "e1", "e2"]]);
    queue.add(fourth, null, 60_000);
    await advance(59_999);
    expect(channel.deliveries).toHaveLength(1);
    await advance(1);
    expect(channel.deliveries.at(-1)).toEqual(["e3"]);
  });

  test("tries a message as often as others, after it has waited as long as a route may say", async () => {
    const { channel, queue, advance } = queueWorld("people", { times: DEFAULT_TIMES });
    channel.outcome = fails;
    queue.add(attackEvent(), null, 1000 * GROUP_SECONDS_MAX);
    await advance(1000 * GROUP_SECONDS_MAX);
    for (let i = 1; i < DEFAULT_TIMES.attemptsMax; i++) await advance(DEFAULT_TIMES.retryMaxMs);
    expect(channel.deliveries).toHaveLength(DEFAULT_TIMES.attemptsMax);
  });

  test("that fails tries again after its pause, whatever is due sooner", async () => {
    const { channel, queue, advance } = queueWorld("people");
    channel.outcome = fails;
    const [first, second] = events(2);
    if (!first || !second) throw new Error("too few");
    queue.add(first, null, 0);
    await advance(0);
    queue.add(second, null, 0);
    await advance(999);
    expect(channel.deliveries).toEqual([["e0"]]);
    await advance(1);
    expect(channel.deliveries).toEqual([["e0"], ["e0"]]);
  });

  test("gathers what comes in a moment into one delivery", async () => {
    const { channel, queue, advance, counted } = queueWorld("people");
    const [first, ...others] = events(250);
    if (first !== undefined) queue.add(first);
    await advance(499);
    for (const event of others) queue.add(event);
    expect(channel.deliveries).toEqual([]);
    await advance(1);
    expect(channel.deliveries.map(({ length }) => length)).toEqual([250]);
    expect(await counted("sent_total")).toBe(250);
  });

  test("leaves them some time between two messages, and sends events after a quiet time soon", async () => {
    const { channel, queue, advance } = queueWorld("people");
    queue.add(attackEvent({ id: "a" }));
    await advance(500);
    for (const id of ["b", "c", "d"]) {
      queue.add(attackEvent({ id }));
      await advance(1_000);
    }
    await advance(1_999);
    expect(channel.deliveries).toEqual([["a"]]);
    await advance(1);
    expect(channel.deliveries).toEqual([["a"], ["b", "c", "d"]]);
    await advance(60_000);
    queue.add(attackEvent({ id: "e" }));
    await advance(500);
    expect(channel.deliveries.at(-1)).toEqual(["e"]);
  });

  test("puts what comes during a delivery into the next, and tries the same events again", async () => {
    const { channel, queue, advance } = queueWorld("people");
    channel.outcome = fails;
    queue.add(attackEvent({ id: "first" }));
    await advance(500);
    queue.add(attackEvent({ id: "second" }));
    queue.add(attackEvent({ id: "third" }));
    channel.outcome = async () => {};
    await advance(1_000);
    await advance(5_000);
    expect(channel.deliveries).toEqual([["first"], ["first"], ["second", "third"]]);
  });
});
