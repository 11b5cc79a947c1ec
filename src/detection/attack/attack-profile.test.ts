/** What the sampler knows of a host from before its attack. */
import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { userPacket } from "../../../test/fixtures/packets/user-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { attack } from "../../../test/fixtures/views.ts";
import { numberedIngress } from "../../traffic/ingress.ts";
import { JUDGE_AGAIN_MS } from "./attack-reading.ts";
import { AttackSampler, type AttackSamplerOptions } from "./attack-sampler.ts";

const VICTIM = address("203.0.113.7");
const OTHER = address("203.0.113.8");
const POLICY = { windowMs: 1000, top: 10, flows: 20, originOf: null, ingressOf: numberedIngress, numberOf: () => null };
const at = (monotonicMs: number) => ({ wallMs: 0, monotonicMs });
const flood = { frame: ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, udp())), ageMs: 0 };
const frames = (count: number) => new Array(count).fill(flood);

function harness(options: AttackSamplerOptions = {}) {
  const headers = new FakeHeaderSamples();
  const sampler = new AttackSampler(headers, POLICY, options);
  const begin = () => sampler.begin(attack({ id: `of ${VICTIM}`, target: VICTIM }), at(0));
  const read = (ms: number) => {
    for (const _ of sampler.readings(at(ms)));
  };
  return { headers, sampler, begin, read };
}

describe("the profile of an attack", () => {
  const users = () => {
    const dice = new Dice(seededRandom(1));
    return Array.from({ length: 300 }, () => ({
      frame: ethernet(userPacket({ dice, family: 4, victim: VICTIM }, [OTHER])),
    }));
  };

  test("is what was known of the host before, and not for what the host sends", () => {
    const known = { packets: [], packetsPerSecond: 40 };
    const { sampler } = harness({ profiles: { of: () => known } });
    for (const direction of ["incoming", "outgoing"] as const) {
      sampler.begin(attack({ id: direction, target: VICTIM, direction }), at(0));
    }
    expect(sampler.profileOf({ id: "incoming" })).toEqual({ packets: [], packetsPerSecond: 0 });
    expect(sampler.profileOf({ id: "outgoing" })).toBeNull();
  });

  test("is the attack while it shows nothing but what users send, and stays so", () => {
    const { headers, sampler, begin, read } = harness();
    begin();
    headers.frames = users();
    read(20);
    const { length } = sampler.profileOf({ id: `of ${VICTIM}` })?.packets ?? [];
    expect(length).toBe(300);
    headers.frames = frames(900);
    read(20 + JUDGE_AGAIN_MS);
    expect(sampler.profileOf({ id: `of ${VICTIM}` })?.packets).toHaveLength(length);
  });

  test("is not known where the attack is all there is", () => {
    const { headers, sampler, begin, read } = harness();
    begin();
    headers.frames = frames(900);
    read(20);
    expect(sampler.profileOf({ id: `of ${VICTIM}` })).toBeNull();
  });

  test("is there also of an attack that was restored before the profiles were", () => {
    const known = { packets: [], packetsPerSecond: 40 };
    const restored: (typeof known)[] = [];
    const { sampler, begin } = harness({ profiles: { of: () => restored[0] ?? null } });
    begin();
    restored.push(known);
    expect(sampler.profileOf({ id: `of ${VICTIM}` })).toBeNull();
    sampler.profilesRestored();
    expect(sampler.profileOf({ id: `of ${VICTIM}` })).toEqual({ packets: [], packetsPerSecond: 0 });
  });
});
