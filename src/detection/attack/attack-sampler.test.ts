import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, TCP_FLAGS, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import { attack, classification } from "../../../test/fixtures/views.ts";
import { numberedIngress } from "../../traffic/ingress.ts";
import type { Attack } from "./attack.ts";
import {
  COMPLETE_PACKETS,
  COMPLETION_MS,
  JUDGE_AGAIN_MS,
  PACKETS_KEPT,
  PACKETS_MIN,
  type SamplingPolicy,
} from "./attack-reading.ts";
import { AttackSampler, SAMPLED_PACKETS_MAX } from "./attack-sampler.ts";
import { sampleOf } from "./sample.ts";

const VICTIM = address("203.0.113.7");
const OTHER = address("203.0.113.8");
const POLICY = {
  ...{ windowMs: 1000, top: 10, flows: 20, originOf: null, ingressOf: numberedIngress },
  numberOf: (group: string) => (group === "web" ? 1 : null),
};

const frame = (src: string, dst: string = VICTIM) => ethernet(ip({ src, dst }, udp()));
const frames = (count: number, ageMs = 0) => new Array(count).fill({ frame: frame("198.51.100.1"), ageMs });
const syn = { frame: ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, tcp({ flags: TCP_FLAGS.syn }))) };
const at = (monotonicMs: number) => ({ wallMs: 0, monotonicMs });

/** The target of the first reading; the others are left. */
function firstOf(sampler: AttackSampler, ms = 0): string | undefined {
  for (const { target } of sampler.readings(at(ms))) return target;
  return undefined;
}

function harness(policy: SamplingPolicy | null = POLICY) {
  const headers = new FakeHeaderSamples();
  const sampler = new AttackSampler(headers, policy);
  const begin = (changes: Partial<Attack> = {}, ms = 0) => {
    const of = attack({ id: `of ${changes.target ?? VICTIM}`, target: VICTIM, ...changes });
    sampler.begin(of, at(ms));
    return of;
  };
  const readings = (ms: number) => [...sampler.readings(at(ms))];
  const read = (ms: number) =>
    readings(ms).map(({ target, sample, isComplete }) => `${target} ${sample?.totalPackets} ${isComplete}`);
  /** The kind of the attack after each reading, and whether it was reported. */
  const kinds = (ms: number) => readings(ms).map((reading) => `${reading.classification?.type} ${reading.isNewKind}`);
  return { headers, sampler, begin, readings, read, kinds };
}

describe("the sample of an attack", () => {
  test("is complete with the first reading that has enough packets", () => {
    const { headers, begin, read } = harness();
    headers.frames = frames(COMPLETE_PACKETS);
    begin();
    expect(read(20)).toEqual([`${VICTIM} ${COMPLETE_PACKETS} true`]);
    expect(read(40)).toEqual([]);
    expect(headers.asked).toEqual([VICTIM]);
    // The readings after it classify.
    expect(read(20 + JUDGE_AGAIN_MS)).toEqual([`${VICTIM} undefined false`]);
  });

  test("has the interfaces by which its packets came in", () => {
    const { headers, begin, readings } = harness();
    headers.frames = [
      ...frames(COMPLETE_PACKETS),
      { frame: frame("198.51.100.2"), ingress: { exporter: 2, input: 70_000 } },
    ];
    begin();
    expect(readings(20)[0]?.sample?.topInterfaces).toEqual([
      {
        exporter: "exporter 2",
        interface: 70_000,
        name: null,
        packets: 1,
        bytes: headers.frames[0]?.frame.length,
        share: 1,
      } as never,
    ]);
  });

  test("is read again while it has one packet too few, from the start each time", () => {
    const { headers, begin, read } = harness();
    headers.frames = frames(COMPLETE_PACKETS - 1);
    begin();
    expect(read(20)).toEqual([`${VICTIM} ${COMPLETE_PACKETS - 1} false`]);
    headers.frames = frames(COMPLETE_PACKETS);
    expect(read(120)).toEqual([`${VICTIM} ${COMPLETE_PACKETS} true`]);
  });

  test("stays as it is when the time for it is over, even without a packet", () => {
    const { begin, read } = harness();
    begin();
    expect(read(COMPLETION_MS - 1)).toEqual([`${VICTIM} 0 false`]);
    expect(read(COMPLETION_MS)).toEqual([`${VICTIM} 0 true`]);
    expect(read(COMPLETION_MS + 1)).toEqual([]);
  });

  test("has packets from the window at detection on, and none before", () => {
    const { headers, begin, read } = harness();
    headers.frames = [1101, 1100, 0].flatMap((ageMs) => frames(1, ageMs));
    begin({}, 500);
    expect(read(600)).toEqual([`${VICTIM} 2 false`]);
  });

  test("has packets to the target when it is incoming, from it when it is outgoing, whatever else is sampled", () => {
    const { headers, begin, readings } = harness();
    headers.frames = [
      frame("198.51.100.1"),
      frame(VICTIM, "198.51.100.2"),
      frame(VICTIM, VICTIM),
      frame("198.51.100.3", OTHER),
      new Uint8Array(20),
    ].map((bytes) => ({ frame: bytes }));
    const sources = (direction: "incoming" | "outgoing") => {
      begin({ direction });
      return readings(0)[0]?.sample?.flows.map(({ source, destination }) => `${source} > ${destination}`);
    };
    expect(sources("incoming")).toEqual([`${VICTIM} > ${VICTIM}`, `198.51.100.1 > ${VICTIM}`]);
    expect(sources("outgoing")).toEqual([`${VICTIM} > ${VICTIM}`, `${VICTIM} > 198.51.100.2`]);
  });

  test("counts bytes on the wire, not those that were kept", () => {
    const { headers, begin, readings } = harness();
    headers.frames = [{ frame: frame("198.51.100.1"), wireBytes: 1500 }];
    begin();
    expect(readings(0)[0]?.sample?.protocols).toEqual([{ key: "udp", packets: 1, bytes: 1500 }]);
  });

  test.each([
    [0, PACKETS_KEPT],
    [PACKETS_KEPT + 1, PACKETS_KEPT + 1],
  ])("that is to list %d packets has up to %d", (flows, total) => {
    const { headers, begin, read } = harness({ ...POLICY, flows });
    headers.frames = frames(2000);
    begin();
    expect(read(0)).toEqual([`${VICTIM} ${total} true`]);
  });

  test("is drawn from all that was read, not the newest alone", () => {
    const { headers, begin, readings } = harness();
    headers.frames = [...new Array(2000).fill({ frame: frame("198.51.100.9") }), ...frames(2000)];
    begin();
    const [old] = readings(0)[0]?.sample?.topSources.filter(({ key }) => key === "198.51.100.9") ?? [];
    expect(old?.packets).toBeWithin(PACKETS_KEPT / 4, (PACKETS_KEPT * 3) / 4);
  });

  test("is not taken again of an attack that an earlier process left with one", () => {
    const { headers, begin, read } = harness();
    begin({ sample: sampleOf([], { top: 1, flows: 0 }) });
    expect(read(JUDGE_AGAIN_MS - 1)).toEqual([]);
    expect(read(JUDGE_AGAIN_MS)).toEqual([`${VICTIM} undefined false`]);
    expect(headers.asked).toEqual([VICTIM]);
  });
});

describe("the kind of an attack", () => {
  const many = (count: number, of: { frame: Uint8Array; ageMs?: number }) => new Array(count).fill(of);

  test("is classified by the first reading with enough packets", () => {
    const { headers, begin, kinds } = harness();
    begin();
    headers.frames = many(PACKETS_MIN - 1, syn);
    expect(kinds(20)).toEqual(["undefined false"]);
    headers.frames = many(PACKETS_MIN, syn);
    expect(kinds(120)).toEqual(["syn_flood true"]);
    expect(kinds(220)).toEqual(["syn_flood false"]);
  });

  test("is classified from fewer packets when no more arrive", () => {
    const { headers, begin, kinds } = harness();
    begin();
    headers.frames = [syn];
    expect(kinds(COMPLETION_MS - 1)).toEqual(["undefined false"]);
    expect(kinds(COMPLETION_MS)).toEqual(["syn_flood true"]);
  });

  test("is of the packets that its metrics count, which come with it", () => {
    const { headers, sampler, begin, readings } = harness();
    const rates = thresholds({ pps: 900, tcp_syn_pps: 200 });
    const limits = thresholds({ pps: 1000, tcp_syn_pps: 100 });
    const begun = begin({ metric: "tcp_syn_pps", rates, thresholds: limits });
    headers.frames = [...frames(100), ...many(20, syn)];
    const [reading] = readings(0);
    expect(reading?.sample?.totalPackets).toBe(120);
    expect(reading?.classification).toMatchObject({ type: "syn_flood", confidence: 1 });
    expect(sampler.observed(begun)?.packets).toHaveLength(20);
  });

  test("follows the packets that a worker with more traffic keeps one in more of", () => {
    const { headers, begin, kinds } = harness();
    begin();
    headers.frames = [...frames(100), ...many(40, { ...syn, standsFor: 100 } as typeof syn)];
    expect(kinds(0)).toEqual(["syn_flood true"]);
  });

  test("changes when two judgements in a row say so, on packets that came since", () => {
    const { headers, begin, kinds } = harness();
    begin();
    headers.frames = frames(COMPLETE_PACKETS);
    expect(kinds(0)).toEqual(["udp_flood true"]);
    // Those of the first second are still there, but are not read again.
    headers.frames = [...frames(1000, JUDGE_AGAIN_MS), ...many(1000, { ...syn, ageMs: 900 })];
    expect(kinds(JUDGE_AGAIN_MS)).toEqual(["udp_flood false"]);
    expect(kinds(2 * JUDGE_AGAIN_MS)).toEqual(["syn_flood true"]);
    expect(kinds(3 * JUDGE_AGAIN_MS)).toEqual(["syn_flood false"]);
  });

  test("that an earlier process classified is not reported again", () => {
    const { headers, begin, kinds } = harness();
    const sample = sampleOf([], { top: 1, flows: 0 });
    const parts = [{ type: "udp_flood", share: 1, sourcePort: null }] as const;
    begin({ sample, classification: classification({ type: "udp_flood", sourcePort: null, parts }) });
    headers.frames = frames(100);
    expect(kinds(JUDGE_AGAIN_MS)).toEqual(["udp_flood false"]);
  });

  test("is not classified during a calm, which has only other traffic", () => {
    const { headers, sampler, begin, kinds } = harness();
    begin();
    headers.frames = frames(COMPLETE_PACKETS);
    kinds(0);
    const lasts = (calmSinceMs: number | null) => {
      const calm = attack({ id: `of ${VICTIM}`, target: VICTIM, calmSinceMs });
      sampler.attacksChanged([{ kind: "lasts", attack: calm }], at(0));
    };
    lasts(500);
    expect(sampler.isDue(at(5000))).toBe(false);
    expect(kinds(5000)).toEqual([]);
    lasts(null);
    expect(kinds(6000)).toEqual(["udp_flood false"]);
  });
});

describe("sampled attacks", () => {
  test("come with their start and leave with their end", () => {
    const { sampler } = harness();
    const changes = (kind: "started" | "lasts" | "ended") => [{ kind, attack: attack({ target: VICTIM }) }];
    sampler.attacksChanged(changes("lasts"), at(0));
    expect(sampler.isWatching).toBe(false);
    sampler.attacksChanged(changes("started"), at(0));
    sampler.attacksChanged(changes("lasts"), at(100));
    expect(sampler.isWatching).toBe(true);
    sampler.attacksChanged(changes("ended"), at(200));
    expect(sampler.isWatching).toBe(false);
  });

  test("are those on a prefix, with the packets to all of its hosts", () => {
    const { headers, begin, readings } = harness();
    begin({ target: null, scope: "group", carpet: { prefix: "203.0.113.0/29", hosts: 2 } });
    headers.frames = ["203.0.113.1", "203.0.113.7", "203.0.113.8"].map((dst) => ({
      frame: frame("198.51.100.1", dst),
    }));
    const [reading] = readings(0);
    expect([headers.asked, headers.lengths]).toEqual([["203.0.113.0"], [96 + 29]]);
    expect(reading).toMatchObject({ target: "203.0.113.0/29", sample: { totalPackets: 2 } });
  });

  test("are those on a hostgroup, with the packets to all of its hosts and to none that another group has", () => {
    const { headers, begin, readings } = harness();
    begin({ target: null, scope: "group", group: "web" });
    headers.frames = ["203.0.112.1", "203.0.113.5", "203.0.113.6"].map((dst) => ({
      frame: frame("198.51.100.1", dst),
    }));
    headers.groupOf = (ip) => (ip === "203.0.113.6" ? 0 : 1);
    const [reading] = readings(0);
    expect(reading).toMatchObject({ target: "hostgroup web", sample: { totalPackets: 2 } });
  });

  test("have no packets on a hostgroup that a reload took away", () => {
    const { headers, begin, readings } = harness();
    begin({ target: null, scope: "group", group: "gone" });
    headers.frames = frames(100);
    expect(readings(0)).toMatchObject([{ target: "hostgroup gone", sample: { totalPackets: 0 } }]);
  });

  test("take turns when a caller stops early", () => {
    const { sampler, begin } = harness();
    for (const target of [VICTIM, OTHER]) begin({ target });
    expect([0, 1, 2].map(() => firstOf(sampler))).toEqual([VICTIM, OTHER, VICTIM]);
  });

  test("are read in the order of their size at first, so that many small ones do not delay a large one", () => {
    const { headers, sampler, begin } = harness();
    begin({ target: OTHER, rates: thresholds({ pps: 2000 }) });
    begin({ target: VICTIM, rates: thresholds({ pps: 9e6 }) });
    expect(firstOf(sampler)).toBe(VICTIM);
    expect(headers.asked).toEqual([VICTIM, OTHER]);
    begin({ id: "later", target: address("203.0.113.6"), rates: thresholds({ pps: 1000 }) });
    expect([0, 1].map(() => firstOf(sampler))).toEqual([OTHER, "203.0.113.6"]);
  });

  test("come before those whose kind is known", () => {
    const { headers, sampler, begin, kinds } = harness();
    begin({ target: VICTIM });
    headers.frames = frames(PACKETS_MIN);
    kinds(0);
    begin({ target: OTHER }, 100);
    expect(firstOf(sampler, 100)).toBe(OTHER);
  });

  test("still have a reading when their first turn comes late", () => {
    const { headers, begin, read } = harness();
    begin();
    headers.frames = frames(5);
    expect(read(COMPLETION_MS * 7)).toEqual([`${VICTIM} 5 true`]);
  });

  test("do not wait behind one that cannot be judged", () => {
    const { headers, sampler, begin, readings } = harness({
      ...POLICY,
      originOf: (ip) => {
        if (ip === "198.51.100.1") throw new Error("damaged");
        return null;
      },
    });
    for (const target of [VICTIM, OTHER]) begin({ target });
    headers.frames = [{ frame: frame("198.51.100.1") }, { frame: frame("198.51.100.2", OTHER) }];
    expect(() => readings(0)).toThrow("damaged");
    expect(firstOf(sampler)).toBe(OTHER);
  });

  test("of one moment are all taken in one crossing", () => {
    const { headers, begin, readings } = harness();
    const targets = Array.from({ length: 300 }, (_, i) => address(`203.0.${112 + (i >> 8)}.${i & 255}`));
    for (const target of targets) begin({ target });
    headers.frames = targets.map((target) => ({ frame: frame("198.51.100.1", target) }));
    const all = readings(0);
    expect(all.map(({ target }) => target)).toEqual(targets);
    expect(all.every(({ columns }) => columns.length === 1)).toBe(true);
  });

  test("of very many the kinds come first, and the samples with the next reading", () => {
    const { headers, begin, readings } = harness();
    const targets = Array.from({ length: 129 }, (_, i) => address(`203.0.113.${i}`));
    for (const target of targets) begin({ target });
    headers.frames = targets.flatMap((target) => {
      const own = { frame: frame("198.51.100.1", target) };
      return new Array<typeof own>(PACKETS_MIN).fill(own);
    });
    const counted = (ms: number) => {
      const all = readings(ms);
      const kinds = all.filter(({ isNewKind }) => isNewKind).length;
      return [kinds, all.filter(({ sample }) => sample !== null).length];
    };
    expect(counted(20)).toEqual([129, 0]);
    expect(counted(120)).toEqual([0, 129]);
  });

  test("that end while they are read have no reading", async () => {
    const { sampler, begin } = harness();
    for (const target of [VICTIM, OTHER]) begin({ target });
    const taken = sampler.taken(at(0));
    const ended = attack({ id: `of ${VICTIM}`, target: VICTIM, endedAt: 1 });
    sampler.attacksChanged([{ kind: "ended", attack: ended }], at(10));
    expect([...((await taken) ?? [])].map(({ target }) => target)).toEqual([OTHER]);
  });

  test("keep the same packets whatever their identifiers, and others with another seed", () => {
    const keptWith = (id: string, seed: number) => {
      const headers = new FakeHeaderSamples();
      const sampler = new AttackSampler(headers, POLICY, { seed });
      headers.frames = Array.from({ length: 3000 }, (_, i) => ({ frame: frame(`198.51.${i >> 8}.${i & 255}`) }));
      const of = attack({ id, target: VICTIM });
      sampler.begin(of, at(0));
      for (const _ of sampler.readings(at(0)));
      return sampler.observed(of)?.packets.map(({ header }) => header.source);
    };
    expect(keptWith("a", 0)).toEqual(keptWith("b", 0));
    expect(keptWith("a", 1)).not.toEqual(keptWith("a", 0));
  });

  test("keep a bounded number of packets together", () => {
    const { headers, sampler, begin } = harness();
    headers.frames = frames(2 * PACKETS_KEPT);
    const attacks = Math.ceil(SAMPLED_PACKETS_MAX / PACKETS_KEPT) + 1;
    for (let i = 0; i < attacks; i++) begin({ id: `a${i}` });
    const [first] = sampler.readings(at(0));
    expect(first?.columns.length).toBe(Math.floor(SAMPLED_PACKETS_MAX / attacks));
  });

  test("are none when sampling is off, from the start or by a reload", () => {
    const off = harness(null);
    off.begin();
    expect(off.sampler.isWatching).toBe(false);
    const { headers, sampler, begin, read } = harness();
    begin();
    sampler.reconfigure(null);
    expect(read(0)).toEqual([]);
    sampler.reconfigure(POLICY);
    begin({ target: OTHER });
    expect(read(0)).toEqual([`${OTHER} 0 false`]);
    expect(headers.asked).toEqual([OTHER]);
  });
});
