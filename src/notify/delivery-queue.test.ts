import { describe, expect, test } from "bun:test";
import { attackEvent, events } from "../../test/fixtures/notify/notify.ts";
import { fails, hangs, queueWorld } from "../../test/fixtures/notify/queue-world.ts";
import { attack } from "../../test/fixtures/views.ts";
import { NOTIFY_QUEUE_MAX } from "../limits.ts";
import { DeliveryFault } from "./delivery-fault.ts";
import { type DeliveryQueue, JOINED_AFTER_MS, type SentOnce } from "./delivery-queue.ts";
import type { NotifyEvent } from "./event.ts";

describe("a queue for programs", () => {
  test("delivers one event at a time, in order", async () => {
    const { channel, queue, advance, counted } = queueWorld();
    for (const event of events(3)) queue.add(event);
    expect(await counted("queue_length")).toBe(3);
    for (let i = 0; i < 3; i++) await advance(0);
    expect(channel.deliveries).toEqual([["e0"], ["e1"], ["e2"]]);
    expect(await counted("sent_total")).toBe(3);
    expect(await counted("queue_length")).toBe(0);
  });

  test("tries again after pauses that double, gives up, and keeps the pause for the next event", async () => {
    const { channel, queue, advance, counted, lines } = queueWorld();
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
    const { channel, queue, advance } = queueWorld();
    channel.outcome = fails;
    queue.add(attackEvent());
    await advance(0);
    await advance(1_000);
    expect(channel.deliveries).toHaveLength(2);
  });

  test("waits as long as the receiver asks, within bounds", async () => {
    const { channel, queue, advance } = queueWorld();
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
    const { channel, queue, advance, counted } = queueWorld();
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
    const { channel, queue, advance, lines } = queueWorld();
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
    const { channel, queue, advance, counted } = queueWorld();
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
    const { channel, queue, advance, counted } = queueWorld();
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
    const { channel, queue, advance, counted } = queueWorld("programs", { burst: 100 });
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
    const { channel, queue, advance } = queueWorld("programs", { burst: 1 });
    for (const event of events(2)) queue.add(event);
    await advance(0);
    await advance(6_000);
    queue.add(attackEvent({ id: "later", attack: attack({ id: "later" }) }));
    queue.add(attackEvent({ id: "end", kind: "attack_ended", attack: attack({ id: "a0" }) }));
    for (let i = 0; i < 4; i++) await advance(0);
    expect(channel.deliveries.flat()).toEqual(["e0", "later", "end"]);
  });
});

describe("a queue that stops", () => {
  test("delivers what is left at once", async () => {
    const { clock, channel, queue, advance } = queueWorld("people");
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
    const { clock, queue, advance } = queueWorld();
    const stopped = queue.stop(3_000);
    await advance(0);
    await stopped;
    expect(clock.pending).toBe(0);
  });

  test("gives up with the first failure", async () => {
    const { clock, channel, queue, advance, counted } = queueWorld();
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
    const { channel, queue, advance, counted } = queueWorld();
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
    const { channel, queue, advance } = queueWorld();
    flood(queue);
    for (let i = 0; i < 4; i++) await advance(0);
    expect(channel.deliveries.flat().sort()).toEqual(["acme-0", "acme-1", "other", "own"]);
    expect(queue.length).toBe(NOTIFY_QUEUE_MAX - 4 + 1);
  });

  test("for people, in whose message they are among the first", async () => {
    const { channel, queue, advance } = queueWorld("people");
    flood(queue);
    await advance(500);
    expect(channel.deliveries[0]?.slice(0, 4).sort()).toEqual(["acme-0", "acme-1", "other", "own"]);
  });
});

describe("a storm, where several brains have the events", () => {
  const stormy = () => {
    const said = { sent: [] as string[], gaveUp: [] as string[] };
    const idsOf = (all: readonly NotifyEvent[]) => all.map(({ id }) => id).filter((id) => id.startsWith("e"));
    const once: SentOnce = {
      maySend: () => true,
      sent: (all) => said.sent.push(...idsOf(all)),
      gaveUp: (all) => said.gaveUp.push(...idsOf(all)),
    };
    const made = queueWorld("programs", { burst: 1, once });
    const add = () => {
      for (let i = 1; i <= 4; i++)
        made.queue.add({
          ...attackEvent(),
          id: `e${i}`,
          attack: attack({ id: `a${i}`, target: `192.0.2.${i}` as never }),
        });
    };
    return { ...made, said, add };
  };

  test("is said to be sent when the event that counts them is", async () => {
    const { said, add, advance, channel } = stormy();
    add();
    await advance(0);
    await advance(0);
    expect([said.sent, channel.deliveries]).toEqual([["e1"], [["e1"]]]);
    await advance(JOINED_AFTER_MS);
    await advance(0);
    expect([said.sent, channel.deliveries.length]).toEqual([["e1", "e2", "e3", "e4"], 2]);
  });

  test("is left to another brain if that is given up", async () => {
    const { said, add, advance, channel, queue } = stormy();
    channel.outcome = fails;
    add();
    await advance(0);
    queue.close();
    expect([said.sent, said.gaveUp.toSorted()]).toEqual([[], ["e1", "e2", "e3", "e4"]]);
  });
});
