/** What rules ask for beside Rule, and the order of the operator's rules, in the real kernel, frame by frame. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ethernet, ip, tcp, udp } from "../../test/fixtures/packets/frames.ts";
import { Chance, seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { KernelRule } from "../mitigation/rules/kernel-rule.ts";
import type { Match, PayloadPattern } from "../mitigation/rules/match.ts";
import { type FilterRule, type Rule, wideRule } from "../mitigation/rules/rule.ts";
import { DETAILED_RULES_MAX, OPERATOR_ENTRIES_MAX, PATTERN_BYTES_MAX, PAYLOAD_BYTES_MAX } from "../native/constants.ts";
import { ADDRESS_BYTES, addressToBytes } from "../net/address.ts";
import { mappedLength } from "../net/prefix.ts";
import { exactly } from "../net/range.ts";
import { buildNamedSets, type KernelFilter, openKernelFilter } from "./kernel-filter.ts";

const IPV4 = { src: "198.51.100.7", dst: "203.0.113.9" };
const IPV6 = { src: "2001:db9::7", dst: "2001:db8::9" };
const VICTIM = prefix("203.0.113.9/32");
const VICTIM6 = prefix("2001:db8::9/128");

let directory: BpfDirectory;
let filter: KernelFilter;

const later = () => Date.now() + 3_600_000;
const put = (id: string, rule: FilterRule): KernelRule => ({
  id,
  rule,
  expiresAtMs: later(),
});
const discard = (destination = VICTIM): Rule => wideRule(destination, { kind: "discard" });
const bytes = (...values: number[]) => new Uint8Array(values);
const hex = (text: string) => [...Buffer.from(text, "hex")];
const pattern = (offset: number, value: string, mask = "ff".repeat(value.length / 2)): PayloadPattern => ({
  offset,
  value: hex(value),
  mask: hex(mask),
});

/** Whether a rule that asks for this drops the frame, to either victim. */
function matches(match: Partial<Match>, frame: Uint8Array): boolean {
  filter.setRules([put("4", { ...discard(), ...match }), put("6", { ...discard(VICTIM6), ...match })]);
  return filter.native.drops(frame);
}

/** Sets a byte of the frame; the kernel's filter looks at no checksum. */
function poked(frame: Uint8Array, at: number, value: number): Uint8Array {
  const changed = frame.slice();
  changed[at] = value;
  return changed;
}

describe.skipIf(bpfUnavailable !== null)(`details${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  beforeEach(() => {
    directory = new BpfDirectory();
    const bounds = { maxPairs: 16, maxRules: 2 * DETAILED_RULES_MAX, maxPrefixes: 64, maxSources: 1000 };
    filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...bounds });
  });
  afterEach(() => {
    filter.close("detach");
    directory.close();
  });

  test.each([
    ["IPv4", IPV4, 14, []],
    ["IPv6", IPV6, 14, []],
    ["IPv4 in QinQ", IPV4, 22, [5, 6]],
    ["IPv6 in a VLAN", IPV6, 18, [5]],
  ])("the header fields of %s", (name, ends, networkAt, vlans) => {
    const plain = ethernet(ip({ ...ends, ttl: 57 }, udp({ payload: bytes(1, 2, 3) })), { vlans });
    expect(matches({ ttl: { from: 57, to: 57 } }, plain)).toBe(true);
    expect(matches({ ttl: { from: 0, to: 56 } }, plain)).toBe(false);
    expect(matches({ ttl: { from: 58, to: 255 } }, plain)).toBe(false);
    // DSCP 46 with ECN 3: of IPv6 the bits are in two bytes.
    const marked = name.startsWith("IPv4")
      ? poked(plain, networkAt + 1, (46 << 2) | 3)
      : poked(poked(plain, networkAt, 0x60 | (46 >> 2)), networkAt + 1, ((46 & 3) << 6) | 0x30);
    expect(matches({ dscp: [0, 46] }, marked)).toBe(true);
    expect(matches({ dscp: [0, 45, 47, 63] }, marked)).toBe(false);
    expect(matches({ dscp: [0] }, plain)).toBe(true);
    const length = plain.length - networkAt;
    expect(
      matches(
        {
          packetLengths: [
            { from: 1, to: 2 },
            { from: length, to: length },
          ],
        },
        plain,
      ),
    ).toBe(true);
    expect(
      matches(
        {
          packetLengths: [
            { from: 1, to: length - 1 },
            { from: length + 1, to: 9000 },
          ],
        },
        plain,
      ),
    ).toBe(false);
    expect(matches({ payload: [pattern(0, "010203")] }, plain)).toBe(true);
    expect(matches({ payload: [pattern(1, "0203")] }, plain)).toBe(true);
    expect(matches({ payload: [pattern(1, "020300")] }, plain)).toBe(false);
    expect(matches({ payload: [pattern(0, "010204")] }, plain)).toBe(false);
    expect(matches({ payload: [pattern(0, "010200", "ffff00")] }, plain)).toBe(true);
    expect(matches({ payload: [pattern(0, "ff"), pattern(2, "03")] }, plain)).toBe(true);
    // All fields must match.
    expect(matches({ ttl: { from: 57, to: 57 }, payload: [pattern(0, "ff")] }, plain)).toBe(false);
  });

  test("the payload begins after options of IP and TCP and after extension headers, and ends with the packet", () => {
    const options = bytes(2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 1, 1);
    const data = { payload: Uint8Array.from(hex("160301020001")) };
    const hello = { payload: [pattern(0, "160300000001", "ffff000000ff")] };
    expect(matches(hello, ethernet(ip({ ...IPV4, options: bytes(1, 1, 1, 0) }, tcp({ options, ...data }))))).toBe(true);
    const extensions = [
      { type: 60, bytes: new Uint8Array(8) },
      { type: 43, bytes: new Uint8Array(24) },
    ];
    expect(matches(hello, ethernet(ip({ ...IPV6, extensions }, tcp({ options, ...data }))))).toBe(true);
    // Padding of the frame is no payload.
    expect(
      matches({ payload: [pattern(3, "00")] }, ethernet(ip(IPV4, udp({ payload: bytes(0, 0, 0) })), { padTo: 60 })),
    ).toBe(false);
  });

  test("options and window of TCP", () => {
    const options = bytes(2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0);
    const syn = ethernet(ip(IPV4, tcp({ flags: 2, options, window: 1024 })));
    expect(matches({ tcpOptions: { set: [2, 3, 4, 8], unset: [34, 5] } }, syn)).toBe(true);
    expect(matches({ tcpOptions: { set: [2, 34], unset: [] } }, syn)).toBe(false);
    expect(matches({ tcpOptions: { set: [], unset: [8] } }, syn)).toBe(false);
    const bare = ethernet(ip(IPV6, tcp({ flags: 2, window: 1024 })));
    expect(matches({ tcpOptions: { set: [], unset: [2] } }, bare)).toBe(true);
    expect(matches({ tcpWindow: { from: 1024, to: 1024 } }, bare)).toBe(true);
    expect(matches({ tcpWindow: { from: 1025, to: 65535 } }, syn)).toBe(false);
    // What is not TCP has neither options nor a window.
    const datagram = ethernet(ip(IPV4, udp()));
    expect(matches({ tcpOptions: { set: [], unset: [2] } }, datagram)).toBe(false);
    expect(matches({ tcpWindow: { from: 0, to: 65535 } }, datagram)).toBe(false);
    // An option without a length, and one that says it is longer than the header.
    const endless = ethernet(ip(IPV4, tcp({ flags: 2, options: bytes(2, 0, 3, 3) })));
    expect(matches({ tcpOptions: { set: [2], unset: [3] } }, endless)).toBe(true);
    const long = ethernet(ip(IPV4, tcp({ flags: 2, options: bytes(2, 255, 3, 3) })));
    expect(matches({ tcpOptions: { set: [2], unset: [3] } }, long)).toBe(true);
  });

  test("random patterns on random payloads, cut anywhere", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const chance = new Chance(seededRandom(seed));
    const random = (count: number, most: number) => Uint8Array.from({ length: count }, () => chance.below(most + 1));
    let hits = 0;
    for (let round = 0; round < 300; round++) {
      const payload = random(chance.below(161), 1);
      const length = 1 + chance.below(PATTERN_BYTES_MAX);
      const offset = chance.below(PAYLOAD_BYTES_MAX - length + 1);
      const mask = random(length, 1);
      const value = random(length, 1).map((byte, i) => byte & (mask[i] ?? 0));
      // Half of them are made to match.
      if (chance.oneIn(2)) for (let i = 0; i < length; i++) value[i] = (payload[offset + i] ?? 0) & (mask[i] ?? 0);
      const isThere = offset + length <= payload.length;
      const wanted = isThere && mask.every((bits, i) => ((payload[offset + i] ?? 0) & bits) === value[i]);
      const frame = ethernet(ip(chance.oneIn(2) ? IPV4 : IPV6, udp({ payload })));
      const input = `seed ${seed}, round ${round}`;
      expect(`${input}: ${matches({ payload: [{ offset, mask: [...mask], value: [...value] }] }, frame)}`).toBe(
        `${input}: ${wanted}`,
      );
      if (wanted) hits++;
    }
    expect(hits).toBeGreaterThan(30);
  });

  test("the operator's rules are tried first, in their order, those for the longest destination alone", () => {
    const pass = put("pass", { ...discard(), action: { kind: "pass" } });
    const drop = put("drop", { ...discard(), destination: null, protocols: exactly(17) });
    const frame = ethernet(ip(IPV4, udp()));
    const ofBan = put("ban", discard());
    const net = prefix("203.0.113.0/24");
    const set = (...destinations: [ReturnType<typeof prefix>, KernelRule[]][]) =>
      filter.setRules([ofBan], {
        rules: [...new Set(destinations.flatMap(([, rules]) => rules))],
        destinations: destinations.map(([one, rules]) => ({ prefix: one, rules })),
      });
    set([net, [drop, pass]]);
    expect(filter.native.drops(frame)).toBe(true);
    set([net, [pass, drop]]);
    expect(filter.native.drops(frame)).toBe(false);
    // The victim's own list has no rule that matches: that of its network is not tried, the ban's rule is.
    set([net, [pass]], [VICTIM, [put("other", { ...discard(), destination: null, protocols: exactly(6) })]]);
    expect(filter.native.drops(frame)).toBe(true);
    const counts = new Map(filter.readRules().map(({ id, packets }) => [id, packets]));
    expect(counts).toEqual(
      new Map([
        ["ban", 1],
        ["pass", 1],
        ["other", 0],
      ]),
    );
  });

  test("a rule for several destinations has one budget; what is within goes on to the next rule", () => {
    const action = { kind: "limit", packetsPerSecond: 1, bytesPerSecond: 0 } as const;
    const limit = put("limit", { ...discard(), destination: null, action });
    const destinations = [VICTIM, VICTIM6].map((one) => ({ prefix: one, rules: [limit] }));
    filter.setRules([put("tcp", { ...discard(), protocols: exactly(6) })], { rules: [limit], destinations });
    const frames = [ethernet(ip(IPV4, udp())), ethernet(ip(IPV6, udp()))];
    const drops = Array.from({ length: 4 }, (_, i) => filter.native.drops(frames[i % 2] ?? new Uint8Array()));
    // The first is paid for by one second, and the burst is less.
    expect(drops).toEqual([false, true, true, true]);
    expect(filter.native.drops(ethernet(ip(IPV4, tcp())))).toBe(true);
    expect(filter.status().verdicts.drop_rate_limit.packets).toBe(4);
  });

  test("named sets of the source, in one of some and in none of others", async () => {
    const set = (name: string, bit: number, ...texts: string[]) => {
      const prefixes = texts.map(prefix);
      const addresses = new Uint8Array(prefixes.length * ADDRESS_BYTES);
      for (const [i, one] of prefixes.entries()) addresses.set(addressToBytes(one.address), i * ADDRESS_BYTES);
      return { name, bit, addresses, lengths: Uint8Array.from(prefixes, mappedLength) };
    };
    const bits = new Map([
      ["net", 0],
      ["host", 63],
      ["other", 7],
    ]);
    const nets = set("net", 0, "198.51.100.0/24", "2001:db9::/32");
    const built = await buildNamedSets([nets, set("host", 63, "198.51.100.7/32"), set("other", 7, "10.0.0.0/8")]);
    filter.setNamedSets(built);
    const drops = (sets: Pick<Match, "inSets" | "notInSets">, ends: typeof IPV4) => {
      const rules = [put("4", { ...discard(), ...sets }), put("6", { ...discard(VICTIM6), ...sets })];
      filter.setRules(rules, undefined, (name) => bits.get(name) ?? null);
      return filter.native.drops(ethernet(ip(ends, udp())));
    };
    for (const ends of [IPV4, IPV6]) {
      expect(drops({ inSets: ["net"], notInSets: [] }, ends)).toBe(true);
      expect(drops({ inSets: ["other"], notInSets: [] }, ends)).toBe(false);
      expect(drops({ inSets: ["other", "net"], notInSets: [] }, ends)).toBe(true);
      expect(drops({ inSets: ["net"], notInSets: ["host"] }, ends)).toBe(ends === IPV6);
      expect(drops({ inSets: [], notInSets: ["other"] }, ends)).toBe(true);
    }
    built.close();
  });

  test("bounds: rules with details, entries, patterns; nothing changes beyond them", () => {
    const detailed = (count: number) =>
      Array.from({ length: count }, (_, i) =>
        put(`r${i}`, { ...discard(prefix(`203.0.${i >> 8}.${i & 255}/32`)), dscp: [i % 64] }),
      );
    filter.setRules(detailed(DETAILED_RULES_MAX));
    // All are replaced at once: rows are free again.
    for (let round = 0; round < 3; round++) {
      filter.setRules(detailed(DETAILED_RULES_MAX).map((one) => ({ ...one, id: `${one.id}/${round}` })));
    }
    expect(() => filter.setRules(detailed(DETAILED_RULES_MAX + 1))).toThrow(`only ${DETAILED_RULES_MAX}: use fewer`);
    expect(filter.readRules().length).toBe(DETAILED_RULES_MAX);
    const one = put("one", { ...discard(), destination: null });
    const many = Array.from({ length: OPERATOR_ENTRIES_MAX + 1 }, (_, i) => ({
      prefix: prefix(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}/32`),
      rules: [one],
    }));
    expect(() => filter.setRules([], { rules: [one], destinations: many })).toThrow(
      "of the operator's rules, only 16384",
    );
    expect(filter.readRules().length).toBe(DETAILED_RULES_MAX);
    const beyond = pattern(PAYLOAD_BYTES_MAX - 1, "0000");
    expect(() => matches({ payload: [beyond] }, new Uint8Array(60))).toThrow("of the first 128 bytes of the payload");
    expect(() => matches({ inSets: ["nets"] }, new Uint8Array(60))).toThrow("no set of prefixes named nets");
  });

  test("operators' rules and details are in force after the process that set them, and are adopted", () => {
    const drop = put("drop", { ...discard(), destination: null, payload: [pattern(0, "0102")] });
    const rules = { rules: [drop], destinations: [{ prefix: VICTIM, rules: [drop] }] };
    const frame = ethernet(ip(IPV4, udp({ payload: bytes(1, 2) })));
    filter.setRules([], rules);
    filter.attach();
    expect(filter.native.drops(frame)).toBe(true);
    filter.close("keep");
    const bounds = { maxPairs: 16, maxRules: 2 * DETAILED_RULES_MAX, maxPrefixes: 64, maxSources: 1000 };
    filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...bounds });
    expect(filter.native.drops(frame)).toBe(true);
    filter.setRules([], { ...rules });
    expect(filter.readRules()).toMatchObject([{ id: "drop", packets: 2, droppedPackets: 2 }]);
  });
});
