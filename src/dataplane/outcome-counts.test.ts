/** What the kernel counts of the packets to watched hosts, frame by frame. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ethernet, ip, tcp, udp } from "../../test/fixtures/packets/frames.ts";
import { Chance, seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { KernelRule } from "../mitigation/rules/kernel-rule.ts";
import { wideRule } from "../mitigation/rules/rule.ts";
import { WATCHED_DESTINATIONS_MAX } from "../native/constants.ts";
import { ADDRESS_BYTES, addressToBytes, type IpAddress } from "../net/address.ts";
import { type KernelFilter, openKernelFilter } from "./kernel-filter.ts";
import { OutcomeCounts } from "./outcome-counts.ts";

const BOUNDS = { maxPairs: 1000, maxRules: 64, maxPrefixes: 64, maxSources: 1000 } as const;
const [VICTIM, OTHER] = ["203.0.113.9", "203.0.113.10"];
const [VICTIM6, SOURCE6] = ["2001:db8::9", "2001:db9::7"];
const SOURCE = "198.51.100.7";
const BLOCKED = "198.51.100.8";
/** addon/abi/outcomes_abi.h: OUTCOME_EARLY_NS. */
const EARLY_SPAN_MS = 1000;
/** Of the drops of hosts that are not watched, one in this number is counted, for all: addon/bpf/count_outcome.h. */
const EARLY_EVERY = 16;

let directory: BpfDirectory;
let filter: KernelFilter;
let outcomes: OutcomeCounts;

const later = () => Date.now() + 3_600_000;
const send = (src: string, dst: string, count = 1) => {
  const bytes = ethernet(ip({ src, dst }, udp()));
  for (let i = 0; i < count; i++) filter.native.drops(bytes);
  return count * bytes.length;
};
const rule = (id: string, one: KernelRule["rule"]): KernelRule => ({ id, rule: one, expiresAtMs: later() });
/** Of an address, or of a prefix. */
const destinationOf = (text: string) => prefix(text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`);
const discard = (destination: string, id = "ban") =>
  rule(id, wideRule(destinationOf(destination), { kind: "discard" }));

function bytesOf(hosts: readonly IpAddress[]): Uint8Array {
  const bytes = new Uint8Array(hosts.length * ADDRESS_BYTES);
  for (const [i, host] of hosts.entries()) bytes.set(addressToBytes(host), i * ADDRESS_BYTES);
  return bytes;
}
const watch = (...hosts: string[]) => outcomes.watch(bytesOf(hosts.map(address)));

/** Packets by cause, without those of which there are none. */
function causesOf(host: string): Record<string, number> {
  outcomes.read();
  const { by = null } = outcomes.droppedOf(address(host)) ?? {};
  const counts = Object.entries(by ?? {}).map(([cause, { packets }]) => [cause, packets] as const);
  return Object.fromEntries(counts.filter(([, packets]) => packets > 0));
}

describe.skipIf(bpfUnavailable !== null)(`outcomes${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  beforeEach(() => {
    directory = new BpfDirectory();
    filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...BOUNDS });
    outcomes = new OutcomeCounts();
    outcomes.use(filter);
  });
  afterEach(() => {
    filter.close("detach");
    directory.close();
  });

  test.each([VICTIM, VICTIM6])("count what passes and what each cause drops, with its bytes (%p)", (victim) => {
    const [source, blocked] = victim === VICTIM ? [SOURCE, BLOCKED] : [SOURCE6, "2001:db9::8"];
    watch(victim);
    send(source, victim, 3);
    filter.putPairs([{ source: address(blocked), victim: address(victim), expiresAtMs: later() }]);
    const blockedBytes = send(blocked, victim, 2);
    filter.setRules([discard(victim)]);
    const ruleBytes = send(source, victim, 5);
    const own = discard(victim, "own");
    filter.setRules([discard(victim)], {
      rules: [own],
      destinations: [{ prefix: destinationOf(victim), rules: [own] }],
    });
    const filterRuleBytes = send(source, victim, 7);
    outcomes.read();
    expect(outcomes.droppedOf(address(victim))).toEqual({
      packets: 14,
      bits: 8 * (blockedBytes + ruleBytes + filterRuleBytes),
      by: {
        rules: { packets: 5, bits: 8 * ruleBytes },
        filter_rules: { packets: 7, bits: 8 * filterRuleBytes },
        source_blocks: { packets: 2, bits: 8 * blockedBytes },
        limits: { packets: 0, bits: 0 },
        unproved: { packets: 0, bits: 0 },
        answered: { packets: 0, bits: 0 },
      },
    });
  });

  test("distinguish a limit and an answer for a proof from a rule", () => {
    watch(VICTIM, OTHER);
    filter.setRules([
      rule("limit", wideRule(destinationOf(VICTIM), { kind: "rate_limit", bytesPerSecond: 1 })),
      rule("proof", { ...discard(OTHER).rule, action: { kind: "validate_reset", learnedBytesPerSecond: 0 } }),
    ]);
    send(SOURCE, VICTIM, 2000);
    filter.native.drops(ethernet(ip({ src: SOURCE, dst: OTHER }, tcp({ flags: 2 }))));
    filter.native.drops(ethernet(ip({ src: SOURCE, dst: OTHER }, tcp({ flags: 16 }))));
    expect(Object.keys(causesOf(VICTIM))).toEqual(["limits"]);
    const { answered = 0, unproved = 0 } = causesOf(OTHER);
    expect(answered).toBeGreaterThan(0);
    expect(answered + unproved).toBe(2);
  });

  test("are not known of a host that is not watched, and of one whose packets do not come by", () => {
    watch(VICTIM, OTHER);
    send(SOURCE, VICTIM);
    outcomes.read();
    expect(outcomes.droppedOf(address(VICTIM))).toMatchObject({ packets: 0 });
    expect(outcomes.droppedOf(address(OTHER))).toBeNull();
    expect(outcomes.droppedOf(address(SOURCE))).toBeNull();
  });

  test("stay with a host that stays watched, and begin with what was kept from it before for one that is new", () => {
    filter.setRules([discard(VICTIM), discard(OTHER, "other")]);
    watch(VICTIM, OTHER);
    send(SOURCE, VICTIM, 2);
    send(SOURCE, OTHER, 3);
    watch(OTHER);
    expect(causesOf(OTHER)).toEqual({ rules: 3 });
    send(SOURCE, VICTIM, 2 * EARLY_EVERY);
    watch(OTHER, VICTIM);
    send(SOURCE, VICTIM, 4);
    expect(causesOf(VICTIM)).toEqual({ rules: 2 * EARLY_EVERY + 4 });
    expect(causesOf(OTHER)).toEqual({ rules: 3 });
    watch(OTHER);
    watch(OTHER, VICTIM);
    send(SOURCE, VICTIM);
    // Nothing is counted twice.
    expect(causesOf(VICTIM)).toEqual({ rules: 1 });
  });

  test("have by its cause what was kept from a host shortly before it is watched, and nothing older", async () => {
    filter.setRules([
      rule("limit", wideRule(destinationOf(VICTIM), { kind: "rate_limit", bytesPerSecond: 1 })),
      discard(OTHER, "other"),
    ]);
    send(SOURCE, OTHER, 2 * EARLY_EVERY);
    await Bun.sleep(2 * EARLY_SPAN_MS + 100);
    send(SOURCE, VICTIM, 2000);
    send(SOURCE, OTHER, 3 * EARLY_EVERY);
    watch(VICTIM, OTHER);
    const limited = causesOf(VICTIM)["limits"] ?? 0;
    expect(limited).toBeGreaterThan(1000);
    expect(causesOf(VICTIM)).toEqual({ limits: limited });
    expect(causesOf(OTHER)).toEqual({ rules: 3 * EARLY_EVERY });
  });

  test("are known of a new host from the first reading after it is watched, of others as they were read last", () => {
    filter.setRules([discard(VICTIM), discard(OTHER, "other")]);
    watch(OTHER);
    send(SOURCE, OTHER, 3);
    outcomes.read();
    send(SOURCE, OTHER);
    watch(VICTIM, OTHER);
    send(SOURCE, VICTIM);
    expect(outcomes.droppedOf(address(VICTIM))).toBeNull();
    expect(outcomes.droppedOf(address(OTHER))?.packets).toBe(3);
    outcomes.read();
    expect(outcomes.droppedOf(address(VICTIM))?.packets).toBe(1);
    expect(outcomes.droppedOf(address(OTHER))?.packets).toBe(4);
  });

  test("are of the first hosts where there are more than can be watched", () => {
    const hosts = Array.from({ length: WATCHED_DESTINATIONS_MAX + 1 }, (_, i) => `10.7.${i >> 8}.${i & 255}`);
    filter.setRules([discard("10.7.0.0/16")]);
    watch(...hosts);
    for (const host of hosts) send(SOURCE, host);
    outcomes.read();
    const known = hosts.filter((host) => outcomes.droppedOf(address(host))?.packets === 1);
    expect(known).toEqual(hosts.slice(0, WATCHED_DESTINATIONS_MAX));
  });

  test("add up to what was sent and what was dropped, of random rules, blocks and packets", () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const chance = new Chance(seededRandom(seed));
    const hosts = Array.from({ length: 8 }, (_, i) => `10.9.0.${i}`);
    watch(...hosts);
    const [sent, dropped] = [new Map<string, number>(), new Map<string, number>()];
    const count = (of: Map<string, number>, host: string) => of.set(host, (of.get(host) ?? 0) + 1);
    for (let round = 0; round < 40; round++) {
      const target = chance.oneOf(hosts);
      const own = discard(target, `own${round}`);
      filter.setRules([discard(chance.oneOf(hosts), `ban${round}`)], {
        rules: [own],
        destinations: [{ prefix: destinationOf(target), rules: [own] }],
      });
      const blocked = { source: address(BLOCKED), victim: address(chance.oneOf(hosts)) };
      filter.putPairs([{ ...blocked, expiresAtMs: later() }]);
      for (let i = 0; i < 50; i++) {
        const [src, dst] = [chance.oneOf([SOURCE, BLOCKED]), chance.oneOf(hosts)];
        count(sent, dst);
        if (filter.native.drops(ethernet(ip({ src, dst }, udp())))) count(dropped, dst);
      }
    }
    outcomes.read();
    const read = hosts.map((host) => [host, outcomes.droppedOf(address(host))?.packets]);
    expect(`seed ${seed}: ${read.join(" ")}`).toBe(
      `seed ${seed}: ${hosts.map((host) => [host, dropped.get(host) ?? 0]).join(" ")}`,
    );
    expect([...sent.values()].reduce((sum, packets) => sum + packets, 0)).toBe(2000);
  });
});
