import { expect, test } from "bun:test";
import { actionOfForeign, familyName, foreignText, ownerOf } from "./foreign-routes.ts";

test("routes of others are in words", () => {
  expect(familyName({ family: "ipv4-flowspec" })).toBe("IPv4 FlowSpec");
  expect(familyName({ family: "ipv6-unicast" })).toBe("IPv6 unicast");
  expect(actionOfForeign({ next_hop: "192.0.2.1" })).toBe("next hop 192.0.2.1");
  expect(actionOfForeign({ rate_bytes: 0 })).toBe("discard");
  expect(actionOfForeign({ rate_bytes: 1_250_000 })).toBe("limit to 10.0 Mbit/s");
  expect(actionOfForeign({})).toBe("–");
  expect(ownerOf({})).toBe("another program");
  expect(ownerOf({ instance: 7 })).toBe("Floodwall service 7");
  const row = { family: "ipv4-unicast", route: "203.0.113.7/32", community: "65535:666" };
  expect(foreignText(row)).toBe("IPv4 unicast 203.0.113.7/32 – 65535:666 another program");
});
