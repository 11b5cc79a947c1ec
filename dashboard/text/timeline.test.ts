import { expect, test } from "bun:test";
import type { TimelineWire } from "../../src/http/wire/attack-series.ts";
import { afterFirst, entryText, entryTitle, foldedEntries, routeWords } from "./timeline.ts";

type Entry = TimelineWire["entries"][number];
const DETECTED = { at: "2026-03-01T12:00:00.200Z", kind: "detected" } as const;
const ANNOUNCED = { at: "2026-03-01T12:00:00.214Z", kind: "announced", neighbor: "192.0.2.253" } as const;
const at = DETECTED.at;

test("an entry says what was decided, to whom, and how long after the first one", () => {
  expect(foldedEntries([DETECTED, ANNOUNCED]).map(entryTitle)).toEqual(["Detected", "Announced to 192.0.2.253"]);
  expect([afterFirst(DETECTED, DETECTED), afterFirst(ANNOUNCED, DETECTED)]).toEqual(["+0.000 s", "+0.014 s"]);
});

test("the same again and again is one entry, with how often and until when", () => {
  const changed = (second: number, text: string): Entry => ({
    at: `2026-03-01T12:00:0${second}Z`,
    kind: "rules_changed",
    text,
  });
  const folded = foldedEntries([DETECTED, changed(1, "a"), changed(2, "a"), changed(3, "a"), changed(4, "b")]);
  expect(folded.map((entry) => [entryTitle(entry), entry.lastAt.slice(17, 19)])).toEqual([
    ["Detected", "00"],
    ["Rules changed, 3 times", "03"],
    ["Rules changed", "04"],
  ]);
  expect(foldedEntries([ANNOUNCED, { ...ANNOUNCED, neighbor: "192.0.2.250" }])).toHaveLength(2);
});

test.each([
  ["detected", "pps above 2000", "packets above 2.00 kpps"],
  ["detected", "udp_mbps above 20000", "UDP bandwidth above 20.0 Gbit/s"],
  ["classified", "udp_flood", "UDP flood"],
  ["ban_refused", "whitelisted", "the victim is in protected_whitelist"],
  ["dry_run_changed", "virtual", "nothing is announced or dropped"],
  [
    "ban_placed",
    "in force already: 203.0.113.70/32 next-hop 192.0.2.10 community 64500:2",
    "in force already: 203.0.113.70 to next hop 192.0.2.10, community 64500:2",
  ],
  ["escalated", "step 1: 203.0.113.70/32 blackhole", "step 1: Blackhole, for 203.0.113.70"],
  [
    "rules_changed",
    "dst 203.0.113.70/32 proto udp src-port 53 discard; dst 203.0.113.70/32 proto udp fragment yes discard",
    "UDP, from port 53, to 203.0.113.70: discard; UDP, fragments, to 203.0.113.70: discard",
  ],
  ["rules_changed", "proto tcp tcp-flags syn,!ack,!rst discard", "TCP, with SYN, without ACK, RST: discard"],
  ["rules_changed", "proto udp rate-limit 50 Mbit/s", "UDP: at most 50 Mbit/s"],
  ["rules_changed", "dst 203.0.113.70/32 ttl 1-5 discard", "dst 203.0.113.70/32 ttl 1-5 discard"],
  ["ban_withdrawn", "manual unban", "manual unban"],
] as const)("%s %p reads %p", (kind, text, expected) => {
  expect(entryText({ at, kind, text })).toBe(expected);
});

test("a route in words", () => {
  expect(routeWords("2001:db8::/48 next-hop 2001:db8::1 community 64500:1 64500:2 local-pref 200")).toBe(
    "2001:db8::/48 to next hop 2001:db8::1, communities 64500:1 64500:2, local preference 200",
  );
});

test("rules that are in words what was decided before are no entry of their own", () => {
  const entry = (kind: string, text: string) => ({ at: "2026-03-01T12:00:00.000Z", kind, text });
  const entries = [
    entry("ban_placed", "192.0.2.1/32 flowspec"),
    entry("rules_changed", "192.0.2.1/32 flowspec"),
    entry("classified", "udp_flood"),
    entry("rules_changed", "192.0.2.1/32 flowspec"),
    entry("rules_changed", "dst 192.0.2.1/32 proto udp discard"),
    entry("rules_changed", "192.0.2.1/32 flowspec"),
  ] as Parameters<typeof foldedEntries>[0];
  expect(foldedEntries(entries).map(({ kind, text }) => [kind, text])).toEqual([
    ["ban_placed", "192.0.2.1/32 flowspec"],
    ["classified", "udp_flood"],
    ["rules_changed", "dst 192.0.2.1/32 proto udp discard"],
    ["rules_changed", "192.0.2.1/32 flowspec"],
  ]);
});
