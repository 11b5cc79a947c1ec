import { expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { StatusWire } from "../../src/http/wire/status.ts";
import { banNamer, knownNames, withName } from "./known-names.ts";

const status = {
  bgp: { neighbors: [{ address: "10.98.0.2", name: "edge1" }, { address: "10.98.0.3" }] },
  scrubbing: { next_hop: "192.0.2.66", next_hop6: "2001:db8::66", next_hop_name: "rack7", community: "" },
} as unknown as StatusWire;
const names = knownNames(status);

test("a name stands before its address, and an address without one alone", () => {
  expect(withName(names, "10.98.0.2")).toBe("edge1 (10.98.0.2)");
  expect(withName(names, "10.98.0.3")).toBe("10.98.0.3");
  expect(withName(names, "2001:db8::66")).toBe("rack7 (2001:db8::66)");
});

test("a ban names the neighbors that have it, lack it or may find it invalid, and its next hop", () => {
  const ban = {
    target: "10.98.0.2",
    next_hop: "192.0.2.66",
    sent_to: ["10.98.0.2"],
    missing_at: [{ neighbor: "10.98.0.3", cause: "no session" }],
    maybe_invalid_at: ["10.98.0.2", "10.98.0.3"],
  } as BanWire;
  expect(banNamer(names)(ban)).toEqual({
    target: "10.98.0.2",
    next_hop: "rack7 (192.0.2.66)",
    sent_to: ["edge1 (10.98.0.2)"],
    missing_at: [{ neighbor: "10.98.0.3", cause: "no session" }],
    maybe_invalid_at: ["edge1 (10.98.0.2)", "10.98.0.3"],
  } as BanWire);
  const bare = { target: "10.98.0.2" } as BanWire;
  expect(banNamer(names)(bare)).toEqual(bare);
});
