import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { addressToBytes } from "../net/address.ts";
import { AddressIndex } from "./address-index.ts";

const KNOWN = ["203.0.113.7", "203.0.113.8", "2001:db8::7", "2001:db8:1::7"].map(address);
const OTHERS = ["203.0.113.9", "2001:db8:2::7", "::cb00:7107"].map(address);
const ROWS = new Uint8Array([...KNOWN, ...OTHERS].flatMap((known) => [...addressToBytes(known)]));

describe("an index of addresses", () => {
  test("finds those that it knows, by row, and no other", () => {
    const index = new AddressIndex(KNOWN);
    const found = [...KNOWN, ...OTHERS].map((_, row) => index.find(ROWS, row));
    expect(found).toEqual([...KNOWN, null, null, null]);
  });

  test("knows an address once, and forgets it alone", () => {
    const index = new AddressIndex(KNOWN);
    for (const known of KNOWN) index.add(known);
    expect([...index.values()].toSorted()).toEqual(KNOWN.toSorted());
    index.delete(address("203.0.113.7"));
    index.delete(address("203.0.113.9"));
    expect(KNOWN.map((_, row) => index.find(ROWS, row))).toEqual([null, ...KNOWN.slice(1)]);
  });

  test("finds each of thousands of addresses that differ in one part only", () => {
    const known = Array.from({ length: 4096 }, (_, i) => address(`2001:db8:${(i + 1).toString(16)}::1`));
    const index = new AddressIndex(known.slice(0, 2048));
    const rows = new Uint8Array(known.flatMap((one) => [...addressToBytes(one)]));
    expect(known.map((_, row) => index.find(rows, row))).toEqual([
      ...known.slice(0, 2048),
      ...new Array<null>(2048).fill(null),
    ]);
  });
});
