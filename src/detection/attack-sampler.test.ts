import { describe, expect, test } from "bun:test";
import { ethernet, ip, udp } from "../../test/fixtures/frames.ts";
import { FakeHeaderSamples } from "../../test/fixtures/header-samples.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { attack } from "../../test/fixtures/views.ts";
import { AttackSampler, COMPLETION_MS, ENOUGH_PACKETS, HEADERS_READ, type SampledAttack } from "./attack-sampler.ts";

const VICTIM = address("203.0.113.7");
const OTHER = address("203.0.113.8");
const POLICY = { windowMs: 1000, top: 10, flows: 20 };

const frame = (src: string, dst: string = VICTIM) => ethernet(ip({ src, dst }, udp()));
const frames = (count: number, ageMs = 0) => new Array(count).fill({ frame: frame("198.51.100.1"), ageMs });
const at = (monotonicMs: number) => ({ wallMs: 0, monotonicMs });

function harness(policy: typeof POLICY | null = POLICY) {
  const headers = new FakeHeaderSamples();
  const sampler = new AttackSampler(headers, policy);
  const read = (ms: number) =>
    [...sampler.readings(at(ms))].map(
      ({ target, sample, isComplete }) => `${target} ${sample.totalPackets} ${isComplete}`,
    );
  return { headers, sampler, read };
}

describe("the sample of an attack", () => {
  test("is complete with the first reading that has enough packets", () => {
    const { headers, sampler, read } = harness();
    headers.frames = frames(ENOUGH_PACKETS);
    sampler.begin(attack({ target: VICTIM }), at(0));
    expect(read(20)).toEqual([`${VICTIM} ${ENOUGH_PACKETS} true`]);
    expect(sampler.waiting).toBe(0);
    expect(read(40)).toEqual([]);
    expect(headers.asked).toEqual([VICTIM]);
  });

  test("is read again while it has one packet too few, from the start each time", () => {
    const { headers, sampler, read } = harness();
    headers.frames = frames(ENOUGH_PACKETS - 1);
    sampler.begin(attack({ target: VICTIM }), at(0));
    expect(read(20)).toEqual([`${VICTIM} ${ENOUGH_PACKETS - 1} false`]);
    headers.frames = frames(ENOUGH_PACKETS);
    expect(read(120)).toEqual([`${VICTIM} ${ENOUGH_PACKETS} true`]);
  });

  test("stays as it is when the time for it is over, even without a packet", () => {
    const { sampler, read } = harness();
    sampler.begin(attack({ target: VICTIM }), at(0));
    expect(read(COMPLETION_MS - 1)).toEqual([`${VICTIM} 0 false`]);
    expect(read(COMPLETION_MS)).toEqual([`${VICTIM} 0 true`]);
    expect(read(COMPLETION_MS + 1)).toEqual([]);
  });

  test("has packets from the window at detection on, and none before", () => {
    const { headers, sampler, read } = harness();
    headers.frames = [1101, 1100, 0].flatMap((ageMs) => frames(1, ageMs));
    sampler.begin(attack({ target: VICTIM }), at(500));
    expect(read(600)).toEqual([`${VICTIM} 2 false`]);
  });

  test("has packets to the target when it is incoming, from it when it is outgoing, whatever else is sampled", () => {
    const { headers, sampler } = harness();
    headers.frames = [
      frame("198.51.100.1"),
      frame(VICTIM, "198.51.100.2"),
      frame(VICTIM, VICTIM),
      frame("198.51.100.3", OTHER),
      new Uint8Array(20),
    ].map((bytes) => ({ frame: bytes }));
    const sources = (direction: "incoming" | "outgoing") => {
      sampler.begin(attack({ target: VICTIM, direction }), at(0));
      const [taken] = [...sampler.readings(at(0))] as [SampledAttack];
      return taken.sample.flows.map(({ source, destination }) => `${source} > ${destination}`);
    };
    expect(sources("incoming")).toEqual([`${VICTIM} > ${VICTIM}`, `198.51.100.1 > ${VICTIM}`]);
    expect(sources("outgoing")).toEqual([`${VICTIM} > ${VICTIM}`, `${VICTIM} > 198.51.100.2`]);
  });

  test("counts bytes on the wire, not those that were kept", () => {
    const { headers, sampler } = harness();
    headers.frames = [{ frame: frame("198.51.100.1"), wireBytes: 1500 }];
    sampler.begin(attack({ target: VICTIM }), at(0));
    const [taken] = [...sampler.readings(at(0))];
    expect(taken?.sample.protocols).toEqual([{ key: "udp", packets: 1, bytes: 1500 }]);
  });

  test.each([
    [0, HEADERS_READ],
    [HEADERS_READ + 1, HEADERS_READ + 1],
  ])("that is to list %d packets looks at %d", (flows, total) => {
    const { headers, sampler, read } = harness({ ...POLICY, flows });
    headers.frames = frames(2000);
    sampler.begin(attack({ target: VICTIM }), at(0));
    expect(read(0)).toEqual([`${VICTIM} ${total} true`]);
  });
});

describe("attacks that wait for a sample", () => {
  test("come with their start and leave with their end", () => {
    const { sampler } = harness();
    const changes = (kind: "started" | "lasts" | "ended") => [{ kind, attack: attack({ target: VICTIM }) }];
    sampler.attacksChanged(changes("lasts"), at(0));
    expect(sampler.waiting).toBe(0);
    sampler.attacksChanged(changes("started"), at(0));
    sampler.attacksChanged(changes("lasts"), at(100));
    expect(sampler.waiting).toBe(1);
    sampler.attacksChanged(changes("ended"), at(200));
    expect(sampler.waiting).toBe(0);
  });

  test("have their turns one after the other when a caller leaves off", () => {
    const { headers, sampler } = harness();
    for (const target of [VICTIM, OTHER]) sampler.begin(attack({ id: target, target }), at(0));
    for (let turn = 0; turn < 3; turn++) for (const _ of sampler.readings(at(0))) break;
    expect(headers.asked).toEqual([VICTIM, OTHER, VICTIM]);
  });

  test("still have a reading when their first turn comes late", () => {
    const { headers, sampler, read } = harness();
    sampler.begin(attack({ target: VICTIM }), at(0));
    headers.frames = frames(5);
    expect(read(COMPLETION_MS * 7)).toEqual([`${VICTIM} 5 true`]);
  });

  test("do not wait behind one that cannot be read", () => {
    const { headers, sampler } = harness();
    for (const target of [VICTIM, OTHER]) sampler.begin(attack({ id: target, target }), at(0));
    headers.fault = new Error("closed");
    expect(() => [...sampler.readings(at(0))]).toThrow("closed");
    expect(() => [...sampler.readings(at(0))]).toThrow("closed");
    expect(headers.asked).toEqual([VICTIM, OTHER]);
    expect(sampler.waiting).toBe(2);
  });

  test("are none when sampling is off, from the start or by a reload", () => {
    const off = harness(null);
    off.sampler.begin(attack({ target: VICTIM }), at(0));
    expect(off.sampler.waiting).toBe(0);
    const { headers, sampler, read } = harness();
    sampler.begin(attack({ target: VICTIM }), at(0));
    sampler.reconfigure(null);
    expect(read(0)).toEqual([]);
    sampler.reconfigure(POLICY);
    sampler.begin(attack({ id: OTHER, target: OTHER }), at(0));
    expect(read(0)).toEqual([`${OTHER} 0 false`]);
    expect(headers.asked).toEqual([OTHER]);
  });
});
