import { describe, expect, test } from "bun:test";
import {
  COMMUNITY_FORMS,
  type Community,
  communitiesText,
  communityText,
  parseCommunity,
  sortedCommunities,
} from "./community.ts";

/** As parseCommunity() returns it, by value. */
const standard = (value: number): Community => ({ kind: "standard", value });
const extended = (type: number, value: number): Community => ({ kind: "extended", type, value });
const large = (administrator: number, data1: number, data2: number): Community => ({
  kind: "large",
  administrator,
  data1,
  data2,
});

const U32 = 0xffff_ffff;

/** Text, value and, where it is another one, the text that the value has. */
const FORMS: readonly (readonly [string, Community, string?])[] = [
  ["0:0", standard(0)],
  ["65535:666", standard(0xffff029a)],
  ["65535:65535", standard(U32)],
  ["0:65535", standard(0xffff)],
  ["blackhole", standard(0xffff029a), "65535:666"],
  ["no-export", standard(0xffffff01), "65535:65281"],
  ["NO_EXPORT", standard(0xffffff01), "65535:65281"],
  ["no-advertise", standard(0xffffff02), "65535:65282"],
  ["no-export-subconfed", standard(0xffffff03), "65535:65283"],
  ["no-peer", standard(0xffffff04), "65535:65284"],
  ["graceful-shutdown", standard(0xffff0000), "65535:0"],
  ["0:0:0", large(0, 0, 0)],
  ["4200000000:1:2", large(4_200_000_000, 1, 2)],
  ["4294967295:4294967295:4294967295", large(U32, U32, U32)],
  // RFC 4360, 3.1: type 0x00, AS of 16 bits, number of 32.
  ["rt:65000:100", extended(0x0002, 0xfde8_0000_0064)],
  ["RT:65000:100", extended(0x0002, 0xfde8_0000_0064), "rt:65000:100"],
  ["soo:65000:100", extended(0x0003, 0xfde8_0000_0064)],
  ["rt:0:0", extended(0x0002, 0)],
  ["rt:65535:4294967295", extended(0x0002, 0xffff_ffff_ffff)],
  // RFC 5668: type 0x02, AS of 32 bits, number of 16.
  ["rt:65536:65535", extended(0x0202, 0x0001_0000_ffff)],
  ["soo:4294967295:65535", extended(0x0203, 0xffff_ffff_ffff)],
  // RFC 4360, 3.2: type 0x01, address, number of 16 bits.
  ["rt:192.0.2.1:100", extended(0x0102, 0xc000_0201_0064)],
  ["soo:255.255.255.255:65535", extended(0x0103, 0xffff_ffff_ffff)],
  ["rt:0.0.0.0:0", extended(0x0102, 0)],
  // By its octets: equal to the form that has them, and in no other form where there is none.
  ["ext:0002FDE800000064", extended(0x0002, 0xfde8_0000_0064), "rt:65000:100"],
  ["ext:02020000fde80064", extended(0x0202, 0xfde8_0064)],
  ["ext:0202000100000064", extended(0x0202, 0x0001_0000_0064), "rt:65536:100"],
  ["ext:4002fde800000064", extended(0x4002, 0xfde8_0000_0064)],
  ["ext:0004fde800000064", extended(0x0004, 0xfde8_0000_0064)],
  ["ext:030b000000000064", extended(0x030b, 0x64)],
  ["ext:ffffffffffffffff", extended(0xffff, 0xffff_ffff_ffff)],
  ["ext:0000000000000000", extended(0, 0)],
];

test.each(FORMS)("reads %s", (text, value, canonical = text) => {
  expect(parseCommunity(text)).toEqual(value);
  expect(communityText(value)).toBe(canonical);
  expect(parseCommunity(canonical)).toEqual(value);
});

test.each([
  // One above what fits.
  ...["65536:0", "0:65536", "4294967295:1", "4294967296:0:0", "0:4294967296:0", "0:0:4294967296"],
  ...["rt:65535:4294967296", "rt:65536:65536", "rt:4294967296:1", "rt:192.0.2.1:65536", "soo:4294967295:65536"],
  // Numbers in another way than decimal, or none.
  ...["01:1", "1:01", "-1:1", "+1:1", "1.0:1", "0x1:1", "1e3:1", " 1:1", "1:1 ", "1: 1", ":1", "1:", ":", "", "1:1\n"],
  ...["1", "666", "1:2:", "1:2:3:4", "1::2", "1:2:03", "99999999999:1:1"],
  ...["rt", "rt:", "rt:1", "rt:1:", "rt::1", "rt:1:2:3", "rt:01:1", "rt:1:x", "rt:192.0.2:1", "rt:192.0.2.256:1"],
  ...["rt:2001:db8::1:1", "rt:1.10:1", "ro:1:1", "target:1:1", "rt 1:1"],
  ...["ext:", "ext:0002fde80000006", "ext:0002fde8000000640", "ext:0002fde80000006g", "ext:0x02fde800000064"],
  ...["ext:00:02:fd:e8:00:00:00:64", "0002fde800000064", "no-such", "no export", "black-hole", "blackhole:1", "none"],
])("refuses %p", (text) => {
  expect(parseCommunity(text)).toBeNull();
});

describe("the forms that errors list", () => {
  test("are all read", () => {
    const listed = COMMUNITY_FORMS.match(/[\w-]+(?::\w+)+|\b[a-z]+-[a-z-]+|blackhole/g) ?? [];
    expect(listed.length).toBe(10);
    for (const text of listed) expect([text, parseCommunity(text)?.kind]).not.toEqual([text, undefined]);
  });
});

test("is listed in its order, and sorted by kind and number, each value once", () => {
  const values = ["4200000000:1:2", "10:1", "soo:1:1", "9:2", "ext:0003000100000001", "10:0:0", "rt:65536:1", "9:2"];
  const parsed = values.map((text) => parseCommunity(text)).filter((community) => community !== null);
  expect(communitiesText(parsed)).toBe("4200000000:1:2 10:1 soo:1:1 9:2 soo:1:1 10:0:0 rt:65536:1 9:2");
  expect(communitiesText(sortedCommunities(parsed))).toBe("9:2 10:1 soo:1:1 rt:65536:1 10:0:0 4200000000:1:2");
  expect(communitiesText([])).toBe("");
});
