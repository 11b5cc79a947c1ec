import { describe, expect, test } from "bun:test";
import { inForce, packetsOfFlood, ruleRequest } from "../../../test/fixtures/mitigation/rule-requests.ts";
import { attackRules } from "./attack-rules.ts";
import { ruleText } from "./rule.ts";
import { answerTo, type RuleOrder, RuleOrders } from "./rule-orders.ts";

const [A, B, C] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"] as const;
const victims = (orders: readonly RuleOrder[]) => orders.map(({ request }) => request.prefix.address as string);

describe("attacks whose rules are looked for", () => {
  test("are taken by size, those without rules first", () => {
    const orders = new RuleOrders(10);
    orders.add(ruleRequest({ victim: A, pps: 9000, present: [inForce(A)] }), 0);
    orders.add(ruleRequest({ victim: B, pps: 1000 }), 0);
    orders.add(ruleRequest({ victim: C, pps: 2000 }), 0);
    expect(victims(orders.take(2))).toEqual([C, B]);
    expect(victims(orders.take(2))).toEqual([A]);
    expect(orders.take(2)).toEqual([]);
  });

  test("that have rules are taken by the time that they wait, which newer packets do not change", () => {
    const orders = new RuleOrders(10);
    orders.add(ruleRequest({ victim: A, pps: 1000, present: [inForce(A)] }), 1);
    orders.add(ruleRequest({ victim: B, pps: 9000, present: [inForce(B)] }), 2);
    orders.add(ruleRequest({ victim: A, pps: 1000, present: [inForce(A)] }), 3);
    const taken = orders.take(2);
    expect(victims(taken)).toEqual([A, B]);
    expect(taken[0]?.sinceMs).toBe(1);
  });

  test("are in the list once, with the newest packets", () => {
    const orders = new RuleOrders(10);
    const newer = ruleRequest({ victim: A });
    for (const request of [ruleRequest({ victim: A }), newer]) expect(orders.add(request, 0)).toBe(true);
    expect(orders.waiting).toBe(1);
    expect(orders.take(1)[0]?.request).toBe(newer as never);
  });

  test("are not looked for again while nothing is new: neither packets nor rules in force", () => {
    const orders = new RuleOrders(10);
    const packets = packetsOfFlood(A);
    orders.add(ruleRequest({ victim: A, packets }), 0);
    const taken = orders.take(1);
    orders.add(ruleRequest({ victim: A, packets }), 0);
    expect(orders.waiting).toBe(0);
    orders.add(ruleRequest({ victim: A, packets, present: [inForce(A)] }), 0);
    expect(orders.waiting).toBe(1);
    orders.done(taken);
    orders.done(orders.take(1));
    orders.add(ruleRequest({ victim: A, packets }), 0);
    expect(orders.waiting).toBe(1);
  });

  test("of which there are too many leave out the last", () => {
    const orders = new RuleOrders(2);
    orders.add(ruleRequest({ victim: A, pps: 1000 }), 0);
    orders.add(ruleRequest({ victim: B, pps: 3000 }), 0);
    expect(orders.waiting).toBe(2);
    orders.add(ruleRequest({ victim: C, pps: 2000 }), 0);
    expect(victims(orders.take(3))).toEqual([B, C]);
  });

  test("wait again if who looked for them failed, unless there are newer packets", () => {
    const orders = new RuleOrders(10);
    for (const victim of [A, B]) orders.add(ruleRequest({ victim }), 0);
    const taken = orders.take(2);
    const newer = ruleRequest({ victim: B });
    orders.add(newer, 1);
    expect(orders.failed(taken)).toEqual([]);
    const again = [orders.take(3), orders.take(3)].flat();
    expect(victims(again).sort()).toEqual([A, B]);
    expect(again.map(({ request }) => request)).toContain(newer as never);
  });

  test("wait for the answer to older packets of the same attack", () => {
    const orders = new RuleOrders(10);
    orders.add(ruleRequest({ victim: A }), 0);
    const taken = orders.take(2);
    for (const victim of [A, B]) orders.add(ruleRequest({ victim }), 0);
    expect(victims(orders.take(2))).toEqual([B]);
    expect(orders.take(2)).toEqual([]);
    orders.done(taken);
    expect(victims(orders.take(2))).toEqual([A]);
  });

  test("that could not be searched are taken alone, and no more after the second time", () => {
    const orders = new RuleOrders(10);
    const packets = packetsOfFlood(A);
    orders.add(ruleRequest({ victim: A, pps: 9000, packets }), 0);
    for (const victim of [B, C]) orders.add(ruleRequest({ victim }), 0);
    expect(orders.failed(orders.take(2))).toEqual([]);
    const first = orders.take(3);
    expect(victims(first)).toEqual([A]);
    expect(victims(orders.failed(first))).toEqual([A]);
    expect(victims([orders.take(3), orders.take(3), orders.take(3)].flat()).sort()).toEqual([B, C]);
    // Not again with the same packets; with newer ones alone.
    orders.add(ruleRequest({ victim: A, pps: 9000, packets }), 0);
    expect(orders.waiting).toBe(0);
    for (const [victim, pps] of [
      [A, 9000],
      ["192.0.2.4", 1000],
    ] as const)
      orders.add(ruleRequest({ victim, pps }), 0);
    expect(victims(orders.take(3))).toEqual([A]);
  });

  test("whose search failed with others that had not begun leave these as they were", () => {
    const orders = new RuleOrders(10);
    for (const victim of [A, B]) orders.add(ruleRequest({ victim }), 0);
    orders.putBack(orders.take(2));
    expect(victims(orders.take(2)).sort()).toEqual([A, B]);
  });

  test("without sampled packets are none for the list", () => {
    const orders = new RuleOrders(10);
    const { attacks, ...request } = ruleRequest();
    const unseen = attacks.map(({ attack }) => ({ attack, packets: [], profile: null }));
    expect(orders.add({ ...request, attacks: unseen }, 0)).toBe(false);
    expect(orders.add({ ...request, attacks: [] }, 0)).toBe(false);
    expect(orders.waiting).toBe(0);
  });
});

describe("a message", () => {
  const sent = (request = ruleRequest()) => {
    const orders = new RuleOrders(1);
    orders.add(request, 0);
    const [order] = orders.take(1);
    return structuredClone(order?.message) as RuleOrder["message"];
  };

  test("is answered as the request would be", () => {
    const { prefix, attacks, flowspec, present } = ruleRequest();
    const found = attackRules(prefix, attacks, flowspec, present);
    expect(answerTo(sent())).toEqual({ found });
    expect(found.rules.map(ruleText)).toEqual(["dst 192.0.2.1/32 proto udp src-port 53 length 1428 discard"]);
  });

  test("whose rules cannot be made is answered with the fault", () => {
    expect(answerTo({ ...sent(), attacks: [null as never] })).toMatchObject({ failed: expect.any(String) });
  });
});
