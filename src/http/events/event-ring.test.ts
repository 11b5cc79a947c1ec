import { expect, test } from "bun:test";
import { EventRing } from "./event-ring.ts";

function eventOf(id: number, length: number) {
  const bytes = new Uint8Array(length);
  return { id, tenant: null, bytes, tenantBytes: bytes };
}

function ringOf(count: number, maxBytes = 1000): EventRing {
  const ring = new EventRing(maxBytes, 100);
  for (let i = 1; i <= count; i++) ring.add(eventOf(100 + i, 100));
  return ring;
}

function idsAfter(ring: EventRing, id: number): number[] | null {
  return ring.after(id)?.map((event) => event.id) ?? null;
}

test("gives what came after an id, also one that no event has", () => {
  const ring = ringOf(3);
  expect(idsAfter(ring, 100)).toEqual([101, 102, 103]);
  expect(idsAfter(ring, 102)).toEqual([103]);
  expect(idsAfter(ring, 103)).toEqual([]);
  expect(idsAfter(ring, 5000)).toEqual([]);
});

test("says so when it does not go back that far", () => {
  expect(idsAfter(ringOf(3), 99)).toBe(null);
});

test("keeps no more bytes than its bound, and knows from where on it is complete", () => {
  expect(idsAfter(ringOf(10), 100)).toHaveLength(10);
  const ring = ringOf(11);
  expect(idsAfter(ring, 103)).toBe(null);
  expect(idsAfter(ring, 104)).toEqual([105, 106, 107, 108, 109, 110, 111]);
});

test("keeps not even one event that is over the bound by itself", () => {
  const ring = ringOf(1, 99);
  expect(idsAfter(ring, 100)).toBe(null);
  expect(idsAfter(ring, 101)).toEqual([]);
});

test("that has forgotten gives what came after", () => {
  const ring = ringOf(3);
  ring.forget(200);
  expect(idsAfter(ring, 103)).toBe(null);
  ring.add(eventOf(201, 1));
  expect(idsAfter(ring, 200)).toEqual([201]);
});

test("counts both texts of an event that a tenant sees a part of", () => {
  const ring = new EventRing(100, 100);
  ring.add({ id: 101, tenant: "acme", bytes: new Uint8Array(60), tenantBytes: new Uint8Array(41) });
  expect(idsAfter(ring, 100)).toBe(null);
  ring.add({ id: 102, tenant: "acme", bytes: new Uint8Array(60), tenantBytes: new Uint8Array(40) });
  expect(idsAfter(ring, 101)).toEqual([102]);
});
