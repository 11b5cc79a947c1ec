import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples, SAMPLER_OPTIONS } from "../../../test/fixtures/packets/header-samples.ts";
import { attack } from "../../../test/fixtures/views.ts";
import { ACTIVE_ATTACKS_MAX, CARPETS_MAX } from "../../limits.ts";
import type { PacketOutcome } from "../../traffic/packet-outcome.ts";
import { COMPLETE_PACKETS, JUDGE_AGAIN_MS } from "./attack-reading.ts";
import { AttackSampler } from "./attack-sampler.ts";
import {
  RECENT_PACKETS_ENDED_ATTACKS,
  RECENT_PACKETS_MAX,
  RECENT_PACKETS_PER_ATTACK,
  RecentPackets,
} from "./recent-packets.ts";

const packets = (count: number, fromMs = 0, outcome: PacketOutcome | null = null) =>
  Array.from({ length: count }, (_, i) => ({ atMs: fromMs + i, wireBytes: 60, frame: new Uint8Array(60), outcome }));
const timesOf = (recent: RecentPackets, id: string) => recent.of(id).map(({ atMs }) => atMs);

describe("the newest packets of an attack #pcap-bounds", () => {
  test("are kept up to the bound, the oldest go first", () => {
    const recent = new RecentPackets();
    recent.add("a", packets(RECENT_PACKETS_PER_ATTACK));
    expect(recent.of("a")).toHaveLength(RECENT_PACKETS_PER_ATTACK);
    recent.add("a", packets(1, RECENT_PACKETS_PER_ATTACK));
    expect(timesOf(recent, "a")).toEqual(packets(RECENT_PACKETS_PER_ATTACK, 1).map(({ atMs }) => atMs));
  });

  test("stay after its end, of the last that ended", () => {
    const recent = new RecentPackets();
    for (let i = 0; i <= RECENT_PACKETS_ENDED_ATTACKS; i++) {
      recent.add(`a${i}`, packets(1));
      recent.end(`a${i}`);
    }
    expect(recent.of("a0")).toEqual([]);
    expect(recent.of("a1")).toHaveLength(1);
    expect(recent.of(`a${RECENT_PACKETS_ENDED_ATTACKS}`)).toHaveLength(1);
  });

  test("of one hostgroup drop none of another's, however many end", () => {
    const recent = new RecentPackets();
    for (let i = 0; i < 5 * RECENT_PACKETS_ENDED_ATTACKS; i++) {
      const [id, group] = i === 0 ? ["other", "mail"] : [`a${i}`, "web"];
      recent.add(id, packets(1));
      recent.end(id, group);
    }
    expect(recent.of("other")).toHaveLength(1);
    expect(recent.of("a1")).toEqual([]);
    expect(recent.of(`a${5 * RECENT_PACKETS_ENDED_ATTACKS - 1}`)).toHaveLength(1);
  });

  test("an end without packets takes no place of another", () => {
    const recent = new RecentPackets();
    recent.add("kept", packets(1));
    recent.end("kept");
    for (let i = 0; i <= RECENT_PACKETS_ENDED_ATTACKS; i++) recent.end(`none${i}`);
    expect(recent.of("kept")).toHaveLength(1);
  });

  test("are bounded over all attacks, also of those that get no more", () => {
    const recent = new RecentPackets();
    const ids = Array.from({ length: ACTIVE_ATTACKS_MAX + CARPETS_MAX }, (_, i) => `a${i}`);
    for (let i = 0; i < RECENT_PACKETS_ENDED_ATTACKS; i++) {
      recent.add(`e${i}`, packets(RECENT_PACKETS_PER_ATTACK));
      recent.end(`e${i}`);
    }
    for (const id of ids) recent.add(id, packets(RECENT_PACKETS_PER_ATTACK));
    const ended = Array.from({ length: RECENT_PACKETS_ENDED_ATTACKS }, (_, i) => `e${i}`);
    const all = [...ids, ...ended].reduce((sum, id) => sum + recent.of(id).length, 0);
    expect(all).toBeLessThanOrEqual(RECENT_PACKETS_MAX);
    expect(recent.of("a0").length).toBeGreaterThan(16);
  });

  test("are copies, also when memory grows and shrinks", () => {
    const recent = new RecentPackets();
    const frame = new Uint8Array(200).fill(1);
    for (let i = 0; i < 20; i++) {
      frame[0] = i;
      recent.add("a", [{ atMs: i, wireBytes: 200, frame, outcome: null }]);
    }
    frame.fill(9);
    recent.end("a");
    const kept = recent.of("a");
    expect(kept.map((packet) => [packet.atMs, packet.frame[0]])).toEqual(Array.from({ length: 20 }, (_, i) => [i, i]));
    expect(kept.every((packet) => packet.frame.length === 128 && packet.frame[127] === 1)).toBe(true);
  });

  test("begin again when the first readings do", () => {
    const recent = new RecentPackets();
    recent.add("a", packets(3));
    recent.clear("a");
    recent.add("a", packets(2, 10));
    expect(timesOf(recent, "a")).toEqual([10, 11]);
  });
});

describe("packets of an attack, by what became of them #pcap-bounds", () => {
  const timesOf = (recent: RecentPackets, outcome: PacketOutcome) => recent.of("a", outcome).map(({ atMs }) => atMs);

  test("a flood that is dropped leaves the few that passed, and all count for one bound", () => {
    const recent = new RecentPackets();
    recent.add("a", packets(3, 0, "passed"));
    recent.add("a", packets(2, 10, "answered"));
    recent.add("a", packets(2 * RECENT_PACKETS_PER_ATTACK, 100, "dropped"));
    const dropped = RECENT_PACKETS_PER_ATTACK - 5;
    expect(recent.countsOf("a")).toEqual({ total: RECENT_PACKETS_PER_ATTACK, passed: 3, dropped, answered: 2 });
    expect(timesOf(recent, "passed")).toEqual([0, 1, 2]);
    expect(timesOf(recent, "answered")).toEqual([10, 11]);
    expect(timesOf(recent, "dropped").at(-1)).toBe(100 + 2 * RECENT_PACKETS_PER_ATTACK - 1);
    expect(timesOf(recent, "dropped")).toHaveLength(dropped);
  });

  test("two that are frequent share the bound evenly, whichever comes first", () => {
    for (const [first, second] of [
      ["passed", "dropped"],
      ["dropped", "passed"],
    ] as const) {
      const recent = new RecentPackets();
      recent.add("a", packets(RECENT_PACKETS_PER_ATTACK, 0, first));
      recent.add("a", packets(RECENT_PACKETS_PER_ATTACK, 0, second));
      const { total, passed, dropped } = recent.countsOf("a");
      expect(total).toBe(RECENT_PACKETS_PER_ATTACK);
      expect(Math.abs(passed - dropped)).toBeLessThanOrEqual(2);
    }
  });

  test("all are in the order of time, and stay after the end", () => {
    const recent = new RecentPackets();
    recent.add("a", packets(2, 5, "dropped"));
    recent.add("a", packets(3, 4, "passed"));
    recent.end("a");
    expect(recent.of("a").map(({ atMs }) => atMs)).toEqual([4, 5, 5, 6, 6]);
    expect(timesOf(recent, "passed")).toEqual([4, 5, 6]);
    expect(recent.countsOf("a")).toEqual({ total: 5, passed: 3, dropped: 2, answered: 0 });
    expect(recent.countsOf("b")).toEqual({ total: 0, passed: 0, dropped: 0, answered: 0 });
  });
});

describe("the sampler keeps the newest packets of an attack", () => {
  const [VICTIM, OTHER] = [address("203.0.113.7"), address("203.0.113.8")];
  const frame = (src: string, dst: string = VICTIM) => ethernet(ip({ src, dst }, udp()));
  const kept = frame("198.51.100.1");
  const frames = (count: number, ageMs = 0) => new Array(count).fill({ frame: kept, ageMs });

  function sampled() {
    const headers = new FakeHeaderSamples();
    const sampler = new AttackSampler(headers, SAMPLER_OPTIONS);
    sampler.begin(attack({ id: "a", target: VICTIM }), { wallMs: 0, monotonicMs: 0 });
    const read = (monotonicMs: number, wallMs = 0) => void [...sampler.readings({ wallMs, monotonicMs })];
    return { headers, sampler, read, packets: () => sampler.recentPacketsOf({ id: "a" }) };
  }

  test("those to its target as they came, with their lengths and the times of their ticks", () => {
    const { headers, read, packets: recent } = sampled();
    headers.frames = [
      { frame: kept, ageMs: 40, wireBytes: 1400 },
      { frame: frame(VICTIM, OTHER), ageMs: 20 },
      { frame: kept, ageMs: 20 },
    ];
    read(60, 5000);
    expect(recent()).toEqual([
      { atMs: 4960, wireBytes: 1400, frame: kept },
      { atMs: 4980, wireBytes: kept.length, frame: kept },
    ]);
  });

  test("by what became of them, also those that passed long before the newest that was dropped", () => {
    const { headers, sampler, read } = sampled();
    const flood = new Array(2000).fill({ frame: kept, verdict: "drop_rule" });
    const passed = { frame: frame("198.51.100.2"), ageMs: 20, verdict: "pass_default" } as const;
    headers.frames = [passed, ...flood, { frame: kept, verdict: "answer_ack" }];
    read(20);
    expect(sampler.recentPacketsOf({ id: "a" }, "passed")).toMatchObject([{ frame: passed.frame }]);
    expect(sampler.recentCountsOf({ id: "a" })).toEqual({ total: 258, passed: 1, dropped: 256, answered: 1 });
  });

  test("again until the sample is complete, then the newer ones follow, and they stay after the end", () => {
    const { headers, sampler, read, packets: recent } = sampled();
    headers.frames = frames(3);
    read(0);
    read(20);
    expect(recent()).toHaveLength(3);
    headers.frames = frames(COMPLETE_PACKETS);
    read(40);
    headers.frames = [...frames(1, 2 * JUDGE_AGAIN_MS), ...frames(2)];
    read(40 + JUDGE_AGAIN_MS);
    expect(recent()).toHaveLength(COMPLETE_PACKETS + 2);
    const ended = attack({ id: "a", target: VICTIM, endedAt: 1 });
    sampler.attacksChanged([{ kind: "ended", attack: ended }], { wallMs: 0, monotonicMs: 5000 });
    expect(recent()).toHaveLength(COMPLETE_PACKETS + 2);
  });
});
