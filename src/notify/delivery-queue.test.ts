import { describe, expect, test } from "bun:test";
import { fails, hangs, setup } from "../../test/fixtures/notify/delivery-setup.ts";
import { attackEvent, events } from "../../test/fixtures/notify/notify.ts";
import { attack } from "../../test/fixtures/views.ts";
import { NOTIFY_QUEUE_MAX } from "../limits.ts";
import { DeliveryFault } from "./delivery-fault.ts";
import { type DeliveryQueue, JOINED_AFTER_MS } from "./delivery-queue.ts";
import type { NotifyEvent } from "./event.ts";

describe("a queue for programs", () => {
  test("delivers one event at a time, in order", async () => {
    const { channel, queue, advance, counted } = setup();
    for (const event of events(3)) queue.add(event);
    expect(await counted("queue_length")).toBe(3);
    for (let i = 0; i < 3; i++) await advance(0);
    expect(channel.deliveries).toEqual([["e0"], ["e1"], ["e2"]]);
    expect(await counted("sent_total")).toBe(3);
    expect(await counted("queue_length")).toBe(0);
  });

  test("tries again after pauses that double, gives up, and keeps the pause for the next event", async () => {
    const { channel, queue, advance, counted, lines } = setup();
    channel.outcome = fails;
    for (const event of events(2)) queue.add(event);
    await advance(0);
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      const before = channel.deliveries.length;
      await advance(pauseMs - 1);
      expect(channel.deliveries).toHaveLength(before);
      await advance(1);
      expect(channel.deliveries).toHaveLength(before + 1);
    }
    expect(channel.deliveries).toEqual([["e0"], ["e0"], ["e0"], ["e0"]]);
    expect(await counted("failed_total")).toBe(4);
    expect(await counted("dropped_total")).toBe(1);
    await advance(7_999);
    expect(channel.deliveries).toHaveLength(4);
    channel.outcome = async () => {};
    await advance(1);
    expect(channel.deliveries[4]).toEqual(["e1"]);
    expect(await counted("sent_total")).toBe(1);
    expect(lines.some((line) => line.includes('"cause":"too many attempts"'))).toBe(true);
  });

  test("spreads its pauses by chance", async () => {
    const { channel, queue, advance } = setup();
    channel.outcome = fails;
    queue.add(attackEvent());
    await advance(0);
    await advance(1_000);
    expect(channel.deliveries).toHaveLength(2);
  });

  test("waits as long as the receiver asks, within bounds", async () => {
    const { channel, queue, advance } = setup();
    channel.outcome = async () => {
      throw new DeliveryFault("answered 429", { retryAfterMs: 10_000 });
    };
    queue.add(attackEvent());
    await advance(0);
    await advance(9_999);
    expect(channel.deliveries).toHaveLength(1);
    channel.outcome = async () => {
      throw new DeliveryFault("answered 429", { retryAfterMs: 1e9 });
    };
    await advance(1);
    expect(channel.deliveries).toHaveLength(2);
    await advance(19_999);
    expect(channel.deliveries).toHaveLength(2);
    await advance(1);
    expect(channel.deliveries).toHaveLength(3);
  });

  test("does not ask again what the receiver will never take", async () => {
    const { channel, queue, advance, counted } = setup();
    channel.outcome = async () => {
      throw new DeliveryFault("answered 400", { isFinal: true });
    };
    queue.add(attackEvent());
    await advance(0);
    await advance(60_000);
    expect(channel.deliveries).toHaveLength(1);
    expect(await counted("dropped_total")).toBe(1);
  });

  test("breaks off a delivery that hangs, and tries it again", async () => {
    const { channel, queue, advance, lines } = setup();
    let broken = 0;
    channel.outcome = (signal) => {
      signal.addEventListener("abort", () => broken++);
      return hangs();
    };
    queue.add(attackEvent());
    await advance(0);
    await advance(channel.deadlineMs);
    expect(broken).toBe(1);
    expect(lines.join("")).toContain('"cause":"no answer in time"');
    await advance(1_000);
    expect(channel.deliveries).toHaveLength(2);
  });

  test("gives up what has become too old", async () => {
    const { channel, queue, advance, counted } = setup();
    channel.outcome = async () => {
      throw new DeliveryFault("answered 429", { retryAfterMs: 20_000 });
    };
    for (const event of events(3)) queue.add(event);
    for (const pauseMs of [0, 20_000, 20_000, 20_000, 20_000]) await advance(pauseMs);
    expect(channel.deliveries).toHaveLength(4);
    expect(await counted("dropped_total")).toBe(3);
    expect(queue.length).toBe(0);
  });

  test("takes as many events as its bound, and joins what it has no place for into one", async () => {
    const { channel, queue, advance, counted } = setup();
    channel.outcome = hangs;
    for (const event of events(NOTIFY_QUEUE_MAX)) queue.add(event);
    await advance(0);
    expect(queue.length).toBe(NOTIFY_QUEUE_MAX);
    queue.add(attackEvent());
    queue.add(attackEvent({ kind: "attack_ended" }));
    expect(await counted("dropped_total")).toBeNaN();
    expect(await counted("queue_length")).toBe(NOTIFY_QUEUE_MAX + 1);
  });

  test("a storm of 10,000 attacks is a hundred alerts and a few that count the rest: none is lost, and their ends follow", async () => {
    const { channel, queue, advance, counted } = setup("programs", { burst: 100 });
    const storm = (kind: "attack_started" | "attack_ended") =>
      events(10_000).map((event) => ({ ...event, id: `${kind} ${event.id}`, kind }) as NotifyEvent);
    for (const event of storm("attack_started")) queue.add(event, "acme");
    queue.add(attackEvent({ id: "other", attack: attack({ id: "other" }) }), "other");
    for (const event of storm("attack_ended")) queue.add(event, "acme");
    for (let i = 0; i < 400; i++) await advance(i < 300 ? 0 : JOINED_AFTER_MS);
    const sent = channel.events;
    expect(sent.filter(({ kind }) => kind !== "events_joined")).toHaveLength(201);
    const joined = sent.flatMap((event) => (event.kind === "events_joined" ? [event.joined.counts] : []));
    expect(joined).toEqual([{ attack_started: 9900, attack_ended: 9900 }]);
    expect(sent.map(({ id }) => id)).toContain("other");
    expect(await counted("dropped_total")).toBeNaN();
    expect(queue.length).toBe(0);
  });

  test("an end whose begin was sent is sent, and of a tenant in a storm one more in a while", async () => {
    const { channel, queue, advance } = setup("programs", { burst: 1 });
    for (const event of events(2)) queue.add(event);
    await advance(0);
    await advance(6_000);
    queue.add(attackEvent({ id: "later", attack: attack({ id: "later" }) }));
    queue.add(attackEvent({ id: "end", kind: "attack_ended", attack: attack({ id: "a0" }) }));
    for (let i = 0; i < 4; i++) await advance(0);
    expect(channel.deliveries.flat()).toEqual(["e0", "later", "end"]);
  });
});

describe("a queue for people", () => {
  test("waits as long as the event says whose message is due first, and takes the others along", async () => {
    const { channel, queue, advance } = setup("people");
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

  test("that fails tries again after its pause, whatever is due sooner", async () => {
    const { channel, queue, advance } = setup("people");
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
    const { channel, queue, advance, counted } = setup("people");
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
    const { channel, queue, advance } = setup("people");
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
    const { channel, queue, advance } = setup("people");
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

describe("a queue that stops", () => {
  test("delivers what is left at once", async () => {
    const { clock, channel, queue, advance } = setup("people");
    queue.add(attackEvent());
    const stopped = queue.stop(3_000);
    await advance(0);
    await advance(0);
    await stopped;
    expect(channel.deliveries).toHaveLength(1);
    expect(clock.pending).toBe(0);
    queue.add(attackEvent());
    expect(queue.length).toBe(0);
  });

  test("stops at once when there is nothing to deliver", async () => {
    const { clock, queue, advance } = setup();
    const stopped = queue.stop(3_000);
    await advance(0);
    await stopped;
    expect(clock.pending).toBe(0);
  });

  test("gives up with the first failure", async () => {
    const { clock, channel, queue, advance, counted } = setup();
    channel.outcome = fails;
    for (const event of events(10)) queue.add(event);
    const stopped = queue.stop(3_000);
    await advance(0);
    await stopped;
    expect(channel.deliveries).toHaveLength(1);
    expect(await counted("dropped_total")).toBe(10);
    expect(clock.pending).toBe(0);
  });

  test("waits for a delivery that hangs no longer than it may", async () => {
    const { channel, queue, advance, counted } = setup();
    let broken = 0;
    channel.outcome = (signal) => {
      signal.addEventListener("abort", () => broken++);
      return hangs();
    };
    for (const event of events(10)) queue.add(event);
    await advance(0);
    const stopped = queue.stop(3_000);
    await advance(3_000);
    await stopped;
    expect(broken).toBe(1);
    expect(await counted("dropped_total")).toBe(10);
  });
});

describe("5,000 events of one tenant drown none of another's", () => {
  const flood = (queue: DeliveryQueue) => {
    for (const [i, event] of events(5000).entries()) queue.add({ ...event, id: `acme-${i}` }, "acme");
    queue.add(attackEvent({ id: "other" }), "other");
    queue.add(attackEvent({ id: "own" }));
  };

  test("for programs", async () => {
    const { channel, queue, advance } = setup();
    flood(queue);
    for (let i = 0; i < 4; i++) await advance(0);
    expect(channel.deliveries.flat().sort()).toEqual(["acme-0", "acme-1", "other", "own"]);
    expect(queue.length).toBe(NOTIFY_QUEUE_MAX - 4 + 1);
  });

  test("for people, in whose message they are among the first", async () => {
    const { channel, queue, advance } = setup("people");
    flood(queue);
    await advance(500);
    expect(channel.deliveries[0]?.slice(0, 4).sort()).toEqual(["acme-0", "acme-1", "other", "own"]);
  });
});
